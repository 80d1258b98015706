"""Fixtures on candidates: bytes in, bytes out, a digest, and what is shown of a miss."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fence_tasks.rules import RULES
from fence_tasks.score import shown
from fence_tasks.score.suite import run_fixtures
from tests.evidence import CANDIDATES, Bench

if TYPE_CHECKING:
    from pathlib import Path

HONEST = CANDIDATES / "honest"
TURN = "def flip(data):\n    return {body}\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty oracle."""
    return Bench(tmp_path)


def test_an_output_is_compared_by_its_digest(bench: Bench) -> None:
    name = bench.fixture(b"abc", b"cba")
    evidence = run_fixtures(bench.job(HONEST, HONEST))
    (result,) = evidence.fixtures
    assert (result.id, result.function, result.status, result.diff) == (name, "flip", "met", ())
    assert result.actual == result.expected == hashlib.sha256(b"cba").hexdigest()
    assert evidence.findings == ()
    assert evidence.versions["candidate"].startswith("Python 3.")


def test_a_miss_shows_digests_and_the_lines_that_differ(bench: Bench) -> None:
    text = b"".join(b"line %d\n" % n for n in range(1000))
    bench.fixture(text, text)
    bench.candidate("base", TURN.format(body="data"))
    bench.candidate("head", TURN.format(body="data.replace(b'line 500\\n', b'line 5oo\\x1b[31m\\n')"))
    evidence = run_fixtures(bench.job())
    assert [(f.rule, f.path) for f in evidence.findings] == [
        ("fixture-mismatch", f"oracle/{evidence.fixtures[0].id}.in")]  # fmt: skip
    assert evidence.fixtures[0].actual not in {"", evidence.fixtures[0].expected}
    assert "-line 500" in evidence.fixtures[0].diff or any("1b" in line for line in evidence.fixtures[0].diff)


def test_where_base_misses_too_no_output_is_shown(bench: Bench) -> None:
    bench.fixture(b"abc", b"something else")
    evidence = run_fixtures(bench.job(HONEST, HONEST))
    assert [f.rule for f in evidence.findings] == ["base-misses"]
    assert evidence.fixtures[0].diff == ()


def test_a_folder_names_its_function_and_an_adapter_stands_in_for_it(bench: Bench) -> None:
    bench.fixture(b"abc", b"cba", "flip")
    bench.fixture(b"abc", b"CBA", "loud")
    bench.oracle("fixtures/loud/run.py", "def run(api, data):\n    return api.flip(data).upper()\n")
    evidence = run_fixtures(bench.job(HONEST, HONEST, function=""))
    assert [(f.function, f.status) for f in evidence.fixtures] == [("flip", "met"), ("loud", "met")]


ADAPTERS = {
    "syntax": ("def run(api", "property-malformed"),
    "no run": ("x = 1\n", "property-malformed"),
    "exit": ("raise SystemExit(0)\n", "property-malformed"),
    "a handle as a value": ("def run(api, data):\n    return bytes(api.flip)\n", "property-malformed"),
    "raises": ("def run(api, data):\n    return nothing\n", "base-misses"),
    "exits": ("def run(api, data):\n    raise SystemExit(0)\n", "base-misses"),
    "text": ("def run(api, data):\n    return 'cba'\n", "base-misses"),
    "two answers": ("N = []\ndef run(api, data):\n    N.append(1)\n    return bytes(len(N))\n", "base-misses"),
}


@pytest.mark.parametrize("what", ADAPTERS)
def test_an_adapter_that_does_not_work_is_never_a_pass(bench: Bench, what: str) -> None:
    bench.fixture(b"abc", b"cba", "turn")
    bench.oracle("fixtures/turn/run.py", ADAPTERS[what][0])
    evidence = run_fixtures(bench.job(HONEST, HONEST))
    assert [f.rule for f in evidence.findings] == [ADAPTERS[what][1]]
    assert not any(f.status == "met" for f in evidence.fixtures)
    assert str(bench.root) not in str(evidence)


NOT_BYTES = ("'cba'", "bytearray(b'cba')", "memoryview(b'cba')", "None", "[99, 98, 97]", "type('B', (bytes,), {})(b'cba')")


@pytest.mark.parametrize("value", NOT_BYTES)
def test_only_exactly_bytes_are_an_output(bench: Bench, value: str) -> None:
    bench.fixture(b"abc", b"cba")
    bench.candidate("head", TURN.format(body=value))
    evidence = run_fixtures(bench.job(base=HONEST))
    assert [f.rule for f in evidence.findings] == ["candidate-no-bytes"]
    assert evidence.fixtures[0].actual == ""


def test_a_missing_function_is_heads_fault_only_if_base_has_it(bench: Bench) -> None:
    bench.fixture(b"abc", b"cba")
    bench.candidate("head", "def flop(data):\n    return data\n")
    assert [f.rule for f in run_fixtures(bench.job(base=HONEST)).findings] == ["candidate-raised"]
    assert [f.rule for f in run_fixtures(bench.job(base=bench.root / "head")).findings] == ["base-misses"]


def test_all_fixtures_of_a_function_share_one_budget(bench: Bench) -> None:
    for n in range(6):
        bench.fixture(bytes([n]), bytes([n]))
    bench.fixture(b"abc", b"cba", "quick")
    bench.candidate("head", "import time\ndef flip(data):\n    time.sleep(0.15)\n    return data\n"
                            "def quick(data):\n    return data[::-1]\n")  # fmt: skip
    bench.candidate("base", "def flip(data):\n    return data\ndef quick(data):\n    return data[::-1]\n")
    evidence = run_fixtures(bench.job(budget_seconds=0.8))
    words = [f.status for f in evidence.fixtures]
    assert words.count("missed") >= 3
    assert evidence.fixtures[-1].status == "met"
    assert {f.rule for f in evidence.findings} == {"candidate-hung"}
    assert not evidence.repeatable


def test_one_fixture_can_be_run_alone(bench: Bench) -> None:
    names = sorted(bench.fixture(data, data[::-1]) for data in (b"a", b"bc"))
    job = bench.job(HONEST, HONEST)
    assert [f.id for f in run_fixtures(job).fixtures] == names
    assert [f.id for f in run_fixtures(replace(job, only=names[1])).fixtures] == names[1:]
    assert [f.rule for f in run_fixtures(replace(job, only="fixtures/nothing")).findings] == ["usage"]


ODD_STORES = {
    "half": ({"{digest}.in": "abc"}, "expected-malformed"),
    "short digest": ({"{digest}.in": "abc", "{digest}.expected": "ab\n"}, "expected-malformed"),
    "no newline": ({"{digest}.in": "abc", "{digest}.expected": "0" * 64}, "expected-malformed"),
    "odd name": ({"abc.in": "abc", "abc.expected": "0" * 64 + "\n"}, "fixture-name"),
    "no function": ({"{digest}.in": "abc", "{digest}.expected": "0" * 64 + "\n"}, "policy-malformed"),
}


@pytest.mark.parametrize("what", ODD_STORES)
def test_an_odd_store_is_never_a_pass(bench: Bench, what: str) -> None:
    files, rule = ODD_STORES[what]
    for name, text in files.items():
        bench.oracle(f"fixtures/{name.format(digest=hashlib.sha256(b'abc').hexdigest())}", text)
    evidence = run_fixtures(bench.job(HONEST, HONEST, function="" if what == "no function" else "flip"))
    assert [f.rule for f in evidence.findings] == [rule]
    assert rule in RULES


def test_progress_names_each_fixture(bench: Bench) -> None:
    name, seen = bench.fixture(b"abc", b"cba"), list[tuple[str, str]]()
    run_fixtures(bench.job(HONEST, HONEST), lambda fixture, word: seen.append((fixture, word)))
    assert seen == [(name, "met")]


DIFFS = {
    "text": (b"a\nb\nc\n", b"a\nB\nc\n", ["-b", "+B"]),
    "added": (b"a\n", b"a\nb\n", ["+b"]),
    "nothing": (b"a", b"", ["-a"]),
    "binary": (bytes(100), bytes(60) + b"\xff" + bytes(39), ["+00000030  00 00 00 00 00 00 00 00 00 00 00 00 ff 00 00 00"]),
    "shorter binary": (bytes(40), bytes(20), ["+00000010  00 00 00 00"]),
    "one long line": (b"a" * 100_000, b"a" * 99_999 + b"b", ["base gives 100000 bytes, head 100000; the first difference is at byte 99999 (line 1)"]),
    "line ends only": (b"a\r\nb", b"a\nb", ["base gives 4 bytes, head 3; the first difference is at byte 1 (line 1)"]),
}  # fmt: skip


@pytest.mark.parametrize("what", DIFFS)
def test_a_difference_is_shown_where_it_is(what: str) -> None:
    base, head, wanted = DIFFS[what]
    lines = shown.diff(base, head)
    assert all(line in lines for line in wanted)
    assert len(lines) < 50
    assert all(len(line) < 300 for line in lines)
    assert shown.diff(base, base) == ()


def test_a_difference_of_large_outputs_is_found_quickly() -> None:
    base = b"".join(b"%d\n" % (n % 7) for n in range(2_000_000))
    lines = shown.diff(base, base[:3_000_000] + b"x" + base[3_000_001:])
    assert "the first difference is at byte 3000000" in lines[0]
    assert len(lines) < 50


def test_shown_values_are_the_same_in_every_run() -> None:
    assert shown.value({"b", "a"}) == "{'a', 'b'}"
    assert shown.value(frozenset({(1, 2)})) == "frozenset({(1, 2)})"
    assert shown.value([set(), frozenset(), (1,), {1: {2}}]) == "[set(), frozenset(), (1,), {1: {2}}]"
    assert shown.value(object()) == "<object object at 0x…>"
    assert shown.value(10**5000).startswith("0x")
    assert shown.scrubbed("in /run/stage/head/src/api.py", ["/run/stage/head/src"]) == "in …/src/api.py"
