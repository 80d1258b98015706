"""Evidence on candidates: what each kind of candidate gets, on head and on base."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fence_tasks.model import RefusedError
from fence_tasks.properties import at_most, cover
from fence_tasks.rules import RULES, Code, code_of
from fence_tasks.score.job import Job
from fence_tasks.score.suite import evidence_from_json, run_fixtures, run_properties
from fence_tasks.score.supervise import supervise
from tests.evidence import CANDIDATES, FLIP, Bench

if TYPE_CHECKING:
    from fence_tasks.model import Evidence, Finding

HONEST = CANDIDATES / "honest"
ROOT = Path(__file__).resolve().parents[1]

#: Candidate → the rule for a property that it misses and for a fixture that it misses ("" is met).
HOSTILE = {
    "exits_on_import": ("candidate-import", "candidate-import"),
    "leaves_on_import": ("candidate-import", "candidate-import"),
    "loops_on_import": ("candidate-import", "candidate-import"),
    "forges_on_import": ("candidate-import", "candidate-import"),
    "misses_a_module": ("candidate-import", "candidate-import"),
    "needs_a_package": ("candidate-needs-package", "candidate-needs-package"),
    "exits_in_call": ("property-raised", "candidate-raised"),
    "leaves_in_call": ("candidate-died", "candidate-died"),
    "raises_odd_exceptions": ("property-raised", "candidate-raised"),
    "fakes_unsatisfied": ("property-raised", "candidate-raised"),
    "raises_what_cannot_be_shown": ("property-raised", "candidate-raised"),
    "loops": ("candidate-hung", "candidate-hung"),
    "sleeps": ("candidate-hung", "candidate-hung"),
    "stops": ("candidate-hung", "candidate-hung"),
    "drips": ("candidate-hung", "candidate-hung"),
    "floods": ("property-raised", "candidate-raised"),
    "forges_frames": ("candidate-protocol", "candidate-protocol"),
    "writes_junk": ("candidate-protocol", "candidate-protocol"),
    "closes_descriptors": ("candidate-died", "candidate-died"),
    "forks_and_leaves": ("candidate-died", "candidate-died"),
    "forks_and_answers_twice": ("candidate-protocol", "candidate-protocol"),
    "huge_header": ("candidate-too-big", "candidate-too-big"),
    "huge_answer": ("candidate-too-big", "candidate-too-big"),
    "endless_list": ("candidate-too-big", "candidate-too-big"),
    "many_parts": ("candidate-too-big", "candidate-too-big"),
    "deep_frame": ("candidate-protocol", "candidate-protocol"),
    "allocates": ("property-raised", "candidate-raised"),
    "recurses": ("property-raised", "candidate-raised"),
    "crashes": ("candidate-died", "candidate-died"),
    "collides": ("candidate-protocol", "candidate-protocol"),
    "odd_bytes": ("property-raised", "candidate-no-bytes"),
    "always_equal": ("property-raised", "candidate-no-bytes"),
    "mutable_answer": ("property-raised", "candidate-no-bytes"),
    "replaces_builtins": ("property-falsified", "fixture-mismatch"),
    "wrong_sometimes": ("candidate-two-answers", ""),
    "two_answers": ("property-falsified", "candidate-two-answers"),
    "special_cases": ("property-falsified", ""),
    "removes_its_folder": ("candidate-died", "candidate-died"),
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An oracle with one property and one fixture about `flip`, which nobody has run yet."""
    made = Bench(tmp_path)
    made.oracle("properties/flip.py", FLIP)
    made.fixture(b"hello world", b"dlrow olleh")
    return made


def rules(evidence: Evidence) -> set[str]:
    """The rules of the findings, all of which the table must know."""
    assert all(finding.rule in RULES for finding in evidence.findings)
    return {finding.rule for finding in evidence.findings}


def words(evidence: Evidence) -> list[str]:
    """The status of each piece of evidence."""
    return [p.status for p in evidence.properties] + [f.status for f in evidence.fixtures]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_candidate_gets_its_rule_and_never_a_pass(bench: Bench, name: str) -> None:
    job, start = bench.job(CANDIDATES / name, HONEST), time.monotonic()
    properties = run_properties(job)
    Path(job.head.scratch).mkdir(exist_ok=True)
    fixtures = run_fixtures(job)
    assert time.monotonic() - start < 20
    for evidence, rule in ((properties, HOSTILE[name][0]), (fixtures, HOSTILE[name][1])):
        assert rules(evidence) == ({rule} if rule else set())
        assert words(evidence) == ["missed" if rule else "held" if evidence.properties else "met"]
    assert code_of([*properties.findings, *fixtures.findings]) is not Code.PASS


@pytest.mark.parametrize("name", ["honest", "chatty", "leaves_children"])
def test_an_honest_candidate_passes(bench: Bench, name: str) -> None:
    job = bench.job(CANDIDATES / name, HONEST)
    properties, fixtures = run_properties(job), run_fixtures(job)
    assert properties.findings == fixtures.findings == ()
    assert [(p.status, p.examples, p.effective, p.calls) for p in properties.properties] == [("held", 40, 40, 120)]
    assert [f.status for f in fixtures.fixtures] == ["met"]
    assert properties.repeatable
    if name == "leaves_children":
        os.kill(int(Path(job.head.scratch, "child").read_text()), 9)


PRINTS = """
import dataclasses, json, sys
from fence_tasks.score import suite
from fence_tasks.score.job import Job
evidence = suite.run_properties(Job.from_json(sys.stdin.read()))
print(json.dumps(dataclasses.asdict(evidence)))
"""


@pytest.mark.parametrize("name", ["honest", "special_cases", "always_equal", "exits_on_import"])
def test_two_runs_give_the_same_evidence_byte_for_byte(bench: Bench, tmp_path: Path, name: str) -> None:
    bench.oracle("properties/more.py", "def prop_sets(api, xs: set[bytes], n: int) -> bool:\n    return n < 9\n")
    seen = []
    for place in ("one", "another/tests"):
        other = Bench(tmp_path / place)
        other.root.mkdir(parents=True)
        (other.root / "oracle").symlink_to(bench.root / "oracle")
        job = other.job(CANDIDATES / name, HONEST)
        done = subprocess.run([sys.executable, "-c", PRINTS], input=job.to_json(), cwd=ROOT, text=True,
                              capture_output=True, check=True)  # fmt: skip
        evidence = evidence_from_json(done.stdout)
        assert str(tmp_path) not in str(evidence)
        seen.append(replace(evidence, timings={}))
    assert seen[0] == seen[1]


def test_a_counterexample_is_shrunk_and_readable(bench: Bench) -> None:
    bench.candidate("head", "def flip(data):\n    return data[::-1] if len(data) < 3 else data\n")
    evidence = run_properties(bench.job(base=HONEST))
    assert rules(evidence) == {"property-falsified"}
    assert evidence.properties[0].counterexample == r"data=b'\x00\x00'"
    assert evidence.findings[0].path == "oracle/properties/flip.py"
    assert evidence.findings[0].line == 5


def test_a_fault_while_shrinking_does_not_hide_the_counterexample(bench: Bench) -> None:
    bench.candidate("head", "def flip(data):\n    while len(data) == 5: pass\n    return data[::-1] if len(data) < 5 else data\n")
    evidence = run_properties(bench.job(base=HONEST))
    assert rules(evidence) == {"property-falsified"}
    assert evidence.properties[0].counterexample.startswith("data=b'")
    assert not evidence.repeatable


def test_what_a_property_draws_and_notes_is_part_of_its_counterexample(bench: Bench) -> None:
    bench.oracle("properties/flip.py", """
from fence_tasks.properties import given, note, st
@given(st.data())
def prop_drawn(api, data):
    n = data.draw(st.integers(0, 100))
    note(f"n is {n}")
    return len(api.flip(bytes(n))) < 10
""")  # fmt: skip
    evidence = run_properties(bench.job(HONEST, HONEST))
    assert evidence.properties[0].counterexample == "data=data(...); Draw 1: 10; n is 10"
    assert rules(evidence) == {"base-misses"}


def test_evidence_that_base_misses_too_is_not_blamed_on_head(bench: Bench) -> None:
    for side in ("head", "base"):
        bench.candidate(side, "def flip(data):\n    return data\n")
    job = bench.job()
    for evidence in (run_properties(job), run_fixtures(job)):
        assert rules(evidence) == {"base-misses"}
    assert code_of(run_properties(job).findings) is Code.NOT_JUDGEABLE


def test_heads_own_counterexample_is_tried_on_base(bench: Bench) -> None:
    bench.oracle("properties/flip.py", FLIP.replace("@given", "@example(b'rare')\n@given").replace("given,", "given, example,"))
    for side, wrong in (("head", "len(data) == 4"), ("base", "data == b'\\x00\\x00\\x00\\x01'")):
        bench.candidate(side, f"def flip(data):\n    return b'?' if {wrong} else data[::-1]\n")
    assert rules(run_properties(bench.job())) == {"property-falsified"}
    bench.candidate("base", "def flip(data):\n    return b'?' if data == b'rare' else data[::-1]\n")
    bench.oracle("properties/flip.py", FLIP)
    bench.candidate("head", "def flip(data):\n    return b'?' if data[:1] == b'\\x00' else data[::-1]\n")
    assert rules(run_properties(bench.job())) == {"property-falsified"}
    bench.candidate("base", "def flip(data):\n    return b'?' if data == b'\\x00' else data[::-1]\n")
    evidence = run_properties(bench.job(examples=3, seed=3))
    assert rules(evidence) <= {"base-misses"}


def test_a_broken_base_is_the_owners_matter(bench: Bench) -> None:
    bench.candidate("base", "import no_such_module_anywhere\n")
    bench.candidate("head", "def flip(data):\n    return data\n")
    job = bench.job()
    for evidence in (run_properties(job), run_fixtures(job), run_properties(replace(job, head=job.base))):
        assert rules(evidence) == {"base-candidate"}
        assert len(evidence.findings) == 1


def test_an_interpreter_that_is_not_there_is_refused(bench: Bench) -> None:
    job = bench.job(HONEST, HONEST)
    for python in ("/no/such/python", "/bin/true"):
        with pytest.raises(RefusedError) as refusal:
            run_properties(replace(job, head=replace(job.head, python=python)))
        assert [f.rule for f in refusal.value.findings] == ["environment"]


def test_pending_evidence_does_not_count_and_is_reported_when_it_is_met(bench: Bench) -> None:
    ids = ("properties/flip.py::prop_flip", run_fixtures(bench.job(HONEST, HONEST)).fixtures[0].id)
    wrong = CANDIDATES / "replaces_builtins"
    for head, pending, retiring, expected in (
        (wrong, ids, (), ["pending", "pending"]),
        (HONEST, ids, (), ["fixed", "fixed"]),
        (wrong, (), ids, ["retiring", "retiring"]),
        (HONEST, (), ids, ["retiring", "retiring"]),
        (CANDIDATES / "leaves_in_call", ids, (), ["pending", "pending"]),
    ):
        job = bench.job(head, HONEST, pending=pending, retiring=retiring)
        properties, fixtures = run_properties(job), run_fixtures(job)
        assert properties.findings == fixtures.findings == ()
        assert [*words(properties), *words(fixtures)] == expected


def test_the_remaining_evidence_runs_after_a_fault(bench: Bench) -> None:
    bench.candidate("head", "import os\ndef flip(data):\n    os._exit(0)\ndef other(data):\n    return data\n")
    bench.candidate("base", "def flip(data):\n    return data[::-1]\ndef other(data):\n    return data\n")
    bench.oracle("properties/other.py", "def prop_other(api, x: bytes):\n    return api.other(x) == x\n")
    evidence = run_properties(bench.job())
    assert [(p.id, p.status) for p in evidence.properties] == [
        ("properties/flip.py::prop_flip", "missed"), ("properties/other.py::prop_other", "held")]  # fmt: skip


def test_restarts_are_bounded_and_what_then_cannot_run_is_missed(bench: Bench) -> None:
    bench.oracle("properties/flip.py", "".join(
        f"def prop_{n:02}(api):\n    return api.flip(b'') == b''\n" for n in range(25)))  # fmt: skip
    evidence = run_properties(bench.job(CANDIDATES / "leaves_in_call", HONEST))
    assert [p.status for p in evidence.properties] == ["missed"] * 25
    assert len(evidence.findings) == 25
    assert rules(evidence) == {"candidate-died"}


SWALLOWS = """
def prop_bare(api):
    try:
        return api.flip(b"a") == b"a"
    except:
        return True

def prop_finally(api):
    try:
        return api.flip(b"a") == b"a"
    finally:
        return True

def prop_again(api):
    for _ in range(3):
        try:
            api.flip(b"a")
        except BaseException:
            pass
    return True
"""


@pytest.mark.parametrize("name", ["leaves_in_call", "sleeps", "forges_frames", "huge_answer"])
def test_no_property_can_swallow_a_fault(bench: Bench, name: str) -> None:
    bench.oracle("properties/flip.py", SWALLOWS)
    bench.oracle("fixtures/tame/run.py", "def run(api, data):\n    try:\n        return api.flip(data)\n    except:\n        return b'x'\n")
    bench.fixture(b"a", b"x", "tame")
    job = bench.job(CANDIDATES / name, HONEST)
    assert [p.status for p in run_properties(job).properties] == ["missed"] * 3
    assert [f.status for f in run_fixtures(job).fixtures] == ["missed"] * 2


def test_an_exception_that_a_property_expects_can_be_caught(bench: Bench) -> None:
    bench.oracle("properties/flip.py", """
def prop_refuses(api, x: int):
    try:
        api.flip(x)
    except TypeError as error:
        return error.name == "OddError" and "LookupError" not in error.names
    return False
""")  # fmt: skip
    for side in ("head", "base"):
        bench.candidate(side, "class OddError(TypeError): pass\ndef flip(data):\n    raise OddError(data)\n")
    assert run_properties(bench.job()).findings == ()


BAD_FILES = {
    "syntax": "def prop_x(api:\n",
    "import": "import parsekit\ndef prop_x(api): return True\n",
    "exit": "raise SystemExit(0)\n",
    "nothing": "def property_x(api): return True\n",
    "no api": "def prop_x(): return True\n",
    "not a function": "prop_x = 1\n",
    "unannotated": "def prop_x(api, n): return True\n",
    "settings": "from hypothesis import *\nfrom fence_tasks.properties import st\n@settings(max_examples=1)\n@given(st.binary())\n"
                "def prop_x(api, n): return True\n",
    "settings below": "import hypothesis as h\n@h.given(h.strategies.binary())\n@h.settings(max_examples=1)\n"
                      "def prop_x(api, n): return True\n",
    "seed": "from hypothesis import given, seed, strategies as st\n@seed(0)\n@given(st.binary())\ndef prop_x(api, n): return True\n",
    "default": "from fence_tasks.properties import given, st\n@given(st.binary())\ndef prop_x(api, n=b''): return True\n",
    "handle as a value": "def prop_x(api): return api.flip == 1\n",
    "object as an argument": "def prop_x(api): return api.flip(object()) == 1\n",
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_FILES)
def test_a_property_that_cannot_be_run_is_malformed(bench: Bench, what: str) -> None:
    bench.oracle("properties/flip.py", BAD_FILES[what])
    evidence = run_properties(bench.job(HONEST, HONEST))
    assert rules(evidence) == {"property-malformed"}
    assert str(bench.root) not in str(evidence)
    assert all(p.status == "missed" for p in evidence.properties)


def test_helpers_are_importable_and_no_property_files(bench: Bench) -> None:
    bench.oracle("properties/flip.py", "import helper\n" + FLIP.replace("data and", "data and helper.YES and"))
    bench.oracle("properties/helper.py", "YES = True\n")
    bench.oracle("properties/_notes.py", "")
    before, path = sorted(sys.modules), list(sys.path)
    evidence = run_properties(bench.job(HONEST, HONEST))
    assert evidence.findings == ()
    assert "helper" not in set(sys.modules) - set(before)
    assert sys.path == path
    assert not list((bench.root / "oracle").rglob("__pycache__"))


def test_state_of_a_property_file_does_not_cross_from_head_to_base(bench: Bench) -> None:
    bench.oracle("properties/flip.py", "import helper\ndef prop_x(api):\n    helper.SEEN.append(api.flip(b'ab'))\n"
                 "    return helper.SEEN == [b'ba']\n")  # fmt: skip
    bench.oracle("properties/helper.py", "SEEN = []\n")
    assert rules(run_properties(bench.job(CANDIDATES / "replaces_builtins", HONEST))) == {"property-falsified"}


NOT_BOOLEANS = ("None", "1", "'True'", "[True]", "api.flip")


@pytest.mark.parametrize("value", NOT_BOOLEANS)
def test_a_property_must_return_exactly_a_boolean(bench: Bench, value: str) -> None:
    bench.oracle("properties/flip.py", f"def prop_x(api):\n    return api.flip(b'') == b'' and {value}\n")
    assert rules(run_properties(bench.job(HONEST, HONEST))) == {"property-not-boolean"}
    bench.oracle("properties/flip.py", "def prop_x(api):\n    return api.odd() or True\n")
    bench.candidate("head", "def odd(): return 5\n")
    bench.candidate("base", "def odd(): return False\n")
    assert rules(run_properties(bench.job())) == {"property-raised"}


OVERSIZE = """
from fence_tasks.properties import assume, cover, given, st

@given(st.binary(max_size=20))
def prop_accepts(api, data):
    {body}
"""
SHARES = {
    "starved": ("assume(api.ok(data))\n    return True", "property-starved"),
    "cover": ("cover('accepted', api.ok(data), at_least=0.5)\n    return True", "property-cover"),
    "cover after a return": (
        "if not api.ok(data):\n        return True\n    cover('accepted', True, at_least=0.5)\n    return True",
        "property-cover"),
}  # fmt: skip


@pytest.mark.parametrize("what", SHARES)
def test_a_candidate_that_refuses_everything_is_found_out(bench: Bench, what: str) -> None:
    body, rule = SHARES[what]
    bench.oracle("properties/flip.py", OVERSIZE.format(body=body))
    bench.candidate("base", "def ok(data): return True\n")
    bench.candidate("head", "def ok(data): return False\n")
    assert rules(run_properties(bench.job())) == {rule}
    evidence = run_properties(bench.job(bench.root / "base"))
    assert evidence.findings == ()
    assert evidence.properties[0].cover in ({}, {"accepted": 1.0})
    assert rules(run_properties(bench.job(base=bench.root / "head"))) == {"property-vacuous"}


def test_a_property_that_hardly_reaches_base_is_vacuous(bench: Bench) -> None:
    bench.oracle("properties/flip.py", OVERSIZE.format(body="return len(data) < 99 or api.flip(data) == data"))
    evidence = run_properties(bench.job(HONEST, HONEST))
    assert rules(evidence) == {"property-vacuous"}
    assert (evidence.properties[0].examples, evidence.properties[0].effective) == (40, 0)


COMPARES = """
from fence_tasks.properties import given, st

@given(st.binary())
def prop_same(api, base_api, data):
    return api.flip(data) == base_api.flip(data)
"""


def test_a_property_can_compare_head_with_base(bench: Bench) -> None:
    bench.oracle("properties/flip.py", COMPARES)
    assert run_properties(bench.job(HONEST, HONEST)).findings == ()
    assert rules(run_properties(bench.job(CANDIDATES / "replaces_builtins", HONEST))) == {"property-falsified"}
    assert rules(run_properties(bench.job(HONEST, CANDIDATES / "leaves_in_call"))) == {"base-misses"}
    assert rules(run_properties(bench.job(HONEST, CANDIDATES / "exits_on_import"))) == {"base-candidate"}


def test_what_head_makes_base_do_is_heads_fault(bench: Bench) -> None:
    bench.oracle("properties/flip.py", "def prop_x(api, base_api):\n    return base_api.flip(api.flip(b'ab')) == b'ab'\n")
    bench.candidate("base", "def flip(data):\n    while data == b'loop': pass\n    return data[::-1]\n")
    bench.candidate("head", "def flip(data):\n    return b'loop'\n")
    assert rules(run_properties(bench.job())) == {"property-raised"}


def test_the_time_of_a_property_is_bounded(bench: Bench) -> None:
    bench.candidate("head", "import time\ndef flip(data):\n    time.sleep(0.2)\n    return data[::-1]\n")
    start = time.monotonic()
    evidence = run_properties(bench.job(base=HONEST, budget_seconds=0.5))
    assert time.monotonic() - start < 5
    assert rules(evidence) == {"candidate-hung"}
    assert not evidence.repeatable
    bench.oracle("properties/flip.py", "import time\n" + FLIP.replace("    return", "    time.sleep(0.1)\n    return"))
    assert rules(run_properties(bench.job(HONEST, HONEST, budget_seconds=0.5))) == {"base-misses"}


def test_one_piece_of_evidence_can_be_run_alone_and_draws_the_same(bench: Bench) -> None:
    bench.oracle("properties/a.py", "SIZE = 123457\ndef prop_a(api, n: int):\n    return api.flip(str(n)) != ''\n")
    job = bench.job(HONEST, HONEST)
    both, one = run_properties(job), run_properties(replace(job, only="properties/flip.py::prop_flip"))
    assert [p.id for p in both.properties] == ["properties/a.py::prop_a", "properties/flip.py::prop_flip"]
    assert one.properties == both.properties[1:]
    assert rules(run_properties(replace(job, only="properties/flip.py::prop_other"))) == {"usage"}
    assert rules(run_properties(replace(job, only="properties/flop.py::prop_other"))) == {"usage"}
    assert run_properties(replace(job, only="fixtures/x")) == replace(both, properties=(), versions=run_properties(
        replace(job, only="fixtures/x")).versions, timings={})  # fmt: skip


def test_progress_names_each_piece_of_evidence(bench: Bench) -> None:
    seen: list[tuple[str, str]] = []
    evidence = run_properties(bench.job(HONEST, HONEST), lambda name, word: seen.append((name, word)))
    assert seen == [(p.id, p.status) for p in evidence.properties]
    assert evidence.timings.keys() == {p.id for p in evidence.properties}
    assert evidence.versions.keys() == {"python", "hypothesis", "msgspec", "candidate"}


def test_a_property_may_ask_for_fewer_examples(bench: Bench) -> None:
    bench.oracle("properties/flip.py", FLIP.replace("given,", "at_most, given,").replace("@given", "@at_most(5)\n@given"))
    assert [p.examples for p in run_properties(bench.job(HONEST, HONEST)).properties] == [5]
    bench.oracle("properties/flip.py", FLIP.replace("given,", "at_most, given,").replace("@given", "@at_most(500)\n@given"))
    assert [p.examples for p in run_properties(bench.job(HONEST, HONEST)).properties] == [40]


def test_cover_and_at_most_refuse_what_means_nothing() -> None:
    for arguments in ((1, True, 0.5), ("x", 1, 0.5), ("x", None, 0.5)):
        with pytest.raises(TypeError):
            cover(*arguments)
    for share in (0, -1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="share"):
            cover("x", True, share)
    for number in (0, -1, True, 1.0):
        with pytest.raises(ValueError, match="at_most"):
            at_most(number)  # type: ignore[arg-type]
    cover("outside a run", False, 1)


def test_a_job_and_its_evidence_survive_json(bench: Bench) -> None:
    job = bench.job(CANDIDATES / "replaces_builtins", HONEST, pending=("a", "b"))
    assert Job.from_json(job.to_json()) == job
    for evidence in (run_properties(job), run_fixtures(job)):
        assert evidence_from_json(json.dumps(asdict(evidence))) == evidence
    good = json.loads(job.to_json())
    bad: Any
    for bad in ({**good, "seed": "7"}, {**good, "seed": True}, {**good, "more": 1}, {**good, "pending": [1]}, [], None,
                {**good, "head": {}}, {k: v for k, v in good.items() if k != "seed"}):  # fmt: skip
        with pytest.raises(ValueError, match=r"^(job|head)"):
            Job.from_json(json.dumps(bad))


SCORER = "import sys;from fence_tasks.score import job,suite;suite.run_properties(job.Job.from_json(sys.argv[1]))"


def scored(job: Job, tmp_path: Path, seconds: float, script: str = SCORER) -> str | None:
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return supervise([sys.executable, "-c", script, job.to_json()], seconds=seconds, cwd=str(tmp_path), env=env,
                     log=str(tmp_path / "scorer.log"))[0]  # fmt: skip


def test_a_candidate_that_kills_its_judge_gets_no_verdict(bench: Bench, tmp_path: Path) -> None:
    assert scored(bench.job(CANDIDATES / "kills_its_parent", HONEST), tmp_path, 20) == "scorer-died"
    assert not [line for line in workers() if str(tmp_path) in line]  # other tests run workers too


def test_a_scorer_has_a_deadline_of_its_own(bench: Bench, tmp_path: Path) -> None:
    bench.oracle("properties/flip.py", "def prop_x(api):\n    api.flip(b'')\n    while True: pass\n")
    assert scored(bench.job(HONEST, HONEST), tmp_path, 3) == "scorer-hung"
    assert not [line for line in workers() if str(tmp_path) in line]  # other tests run workers too


def test_nothing_of_a_candidate_outlives_its_scorer(bench: Bench, tmp_path: Path) -> None:
    job = bench.job(CANDIDATES / "leaves_children", HONEST)
    assert scored(job, tmp_path, 20) is None
    child = int(Path(job.head.scratch, "child").read_text())
    assert not Path(f"/proc/{child}").exists()
    assert not [line for line in workers() if str(tmp_path) in line]  # other tests run workers too


def workers() -> list[str]:
    """The command lines of workers that run."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_text(errors="replace")
        except OSError:
            continue
        found += [line] if "candidate/worker.py" in line and f"{os.sep}test_" in line else []
    return found


def test_findings_hold_no_input_of_the_evidence(bench: Bench) -> None:
    bench.candidate("head", "def flip(data):\n    raise ValueError(f'cannot flip {data!r}')\n")
    job = bench.job(base=HONEST)
    findings: list[Finding] = [*run_properties(job).findings, *run_fixtures(job).findings]
    assert len(findings) == 2
    assert not any("cannot flip" in finding.message for finding in findings)


@pytest.mark.parametrize(
    "body",
    ["try:\n        return api.points(1)[0] == 'x'\n    except TypeError:\n        return True",
     "try:\n        return str(api.points(1)[0]) != ''\n    except:\n        return True",
     "try:\n        return api.echo(object())\n    except BaseException:\n        return True\n    finally:\n        pass"],
)  # fmt: skip
def test_a_misuse_that_a_property_swallows_is_no_pass(bench: Bench, body: str) -> None:
    bench.oracle("properties/misuse.py", f"def prop_x(api):\n    {body}\n")
    evidence = run_properties(bench.job(CANDIDATES / "objects", CANDIDATES / "objects"))
    assert "oracle/properties/misuse.py" in [f.path for f in evidence.findings if f.rule == "property-malformed"], evidence
