"""`oracle/frozen/manifest.json`: the cases that people have taken out of the proposer's tree."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fence_tasks.model import Finding, RefusedError
from fence_tasks.oracle import freezes
from fence_tasks.oracle.freezes import Case

LEAST: dict[str, Any] = {
    "id": "slow", "retired_src_path": "src/tests/test_slow.py", "owner": "net", "reason": "fails now and then",
    "repro_cmd": "python -m pytest", "expires_unix": 4_000_000_000,
}  # fmt: skip
COMMIT = "0123456789abcdef0123456789abcdef01234567"
AFTER: dict[str, Any] = {
    **{k: v for k, v in LEAST.items() if k != "expires_unix"}, "ticket": "NET-7",
    "expires_after": {"commit": COMMIT, "first_parent_commits": 200},
}  # fmt: skip
FULL: dict[str, Any] = {
    **LEAST, "frozen_path": "oracle/frozen/slow/test_slow.py", "content_sha256": "0" * 64,
    "retired_names": ["test_slow", "TestNet.test_slow"], "observed_runs": 200, "observed_failures": 3, "seed": 0,
    "machine": "ci-3",
}  # fmt: skip
GONE = object()

#: One key of FULL put to another value (or taken out), the key named in the fault.
FAULTS: tuple[tuple[str, Any, str], ...] = (
    *((key, bad, key) for key in ("id", "retired_src_path", "owner", "reason", "repro_cmd") for bad in (GONE, "", 1, None)),
    ("owner", " \t", "owner"), ("id", "a/b", "id"), ("id", "-rf", "id"), ("id", "..", "id"), ("id", "a b", "id"),
    ("id", "x" * 129, "id"), ("id", "slow\n", "id"),
    ("retired_src_path", "/src/x", "retired_src_path"), ("retired_src_path", "src/../x", "retired_src_path"),
    ("retired_src_path", "src//x", "retired_src_path"), ("retired_src_path", "src/x/", "retired_src_path"),
    ("expires_unix", GONE, "exactly one"), ("expires_unix", -1, "expires_unix"), ("expires_unix", True, "expires_unix"),
    ("expires_unix", 4e9, "expires_unix"), ("expires_unix", "2096", "expires_unix"),
    ("expires_after", {"commit": COMMIT, "first_parent_commits": 1}, "exactly one"),
    ("frozen_path", "oracle/frozen/other/test_slow.py", "frozen_path"),
    ("frozen_path", "src/tests/test_slow.py", "frozen_path"), ("frozen_path", "oracle/frozen/slow/", "frozen_path"),
    ("frozen_path", "oracle/frozen/slow/../x", "frozen_path"),
    ("frozen_path", 1, "frozen_path"), ("content_sha256", "0" * 63, "content_sha256"),
    ("content_sha256", "G" * 64, "content_sha256"), ("content_sha256", "0" * 64 + "\n", "content_sha256"),
    ("retired_names", "test_slow", "retired_names"), ("retired_names", [""], "retired_names"),
    ("retired_names", [1], "retired_names"), ("retired_names", None, "retired_names"),
    ("retired_names", ["test_\ud800"], "retired_names"), ("observed_runs", -1, "observed_runs"),
    ("observed_failures", "3", "observed_failures"), ("seed", 1.5, "seed"), ("machine", [], "machine"),
    ("ticket", 7, "ticket"), ("note", "x", "unknown key"), ("expires", 1, "unknown key"),
)  # fmt: skip
AFTER_FAULTS: tuple[tuple[str, Any, str], ...] = (
    ("ticket", GONE, "ticket"), ("ticket", "", "ticket"), ("expires_after", {}, "expires_after"),
    ("expires_after", {"commit": "main", "first_parent_commits": 1}, "expires_after"),
    ("expires_after", {"commit": COMMIT[:12], "first_parent_commits": 1}, "expires_after"),
    ("expires_after", {"commit": COMMIT, "first_parent_commits": 0}, "expires_after"),
    ("expires_after", {"commit": COMMIT, "first_parent_commits": True}, "expires_after"),
    ("expires_after", {"commit": COMMIT, "first_parent_commits": 1, "x": 1}, "expires_after"),
    ("expires_after", 200, "expires_after"), ("expires_after", None, "expires_after"),
)  # fmt: skip
HOSTILE = (
    "", "{", "[]", "null", '"cases"', "{}", '{"cases": {}}', '{"cases": [], "cases": []}', '{"cases": [], "x": 1}',
    '{"cases": [1]}', '{"cases": [null]}', '{"cases": [[]]}', "[" * 100_000, '{"cases": ' + "9" * 5000 + "}",
    '{"cases": [{"id": {}}]}', '{"cases": [{"id": NaN}]}', "\ufeff{}",
)  # fmt: skip

NAME = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,12}", fullmatch=True)
WORDS = st.text(min_size=1, max_size=12).filter(str.strip)
PART = st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters="/"), min_size=1, max_size=6).filter(
    lambda part: part not in {".", ".."}
)
COUNT = st.integers(0, 10**12)
CASE = st.builds(
    Case, NAME, st.lists(PART, min_size=1, max_size=3).map("/".join), WORDS, WORDS, WORDS,
    expires_after=st.builds(lambda n: {"commit": COMMIT, "first_parent_commits": n}, st.integers(1, 10**6)),
    ticket=WORDS, retired_names=st.none() | st.lists(PART, max_size=3).map(tuple),
    observed_runs=st.none() | COUNT, observed_failures=st.none() | COUNT, seed=st.none() | COUNT,
    machine=st.none() | WORDS,
)  # fmt: skip


def manifest(*rows: dict[str, Any]) -> bytes:
    """The bytes of a manifest of these rows."""
    return json.dumps({"cases": list(rows)}, indent=1).encode()


def faults(raw: bytes) -> list[Finding]:
    """The findings of a manifest that must not be accepted."""
    with pytest.raises(RefusedError) as refused:
        freezes.parse(raw)
    found = list(refused.value.findings)
    assert {(f.rule, f.path) for f in found} == {("manifest-malformed", "oracle/frozen/manifest.json")}
    return found


def changed(row: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The row with one key put to a value or taken out."""
    return {k: v for k, v in {**row, key: value}.items() if v is not GONE}


@pytest.mark.parametrize("row", [LEAST, AFTER, FULL], ids=["least", "after", "full"])
def test_a_good_case_means_what_it_says(row: dict[str, Any]) -> None:
    (case,) = freezes.parse(manifest(row))
    for key, value in row.items():
        found = getattr(case, key)
        assert (list(found) if isinstance(found, tuple) else found) == value


@pytest.mark.parametrize(("key", "value", "says"), FAULTS)
def test_a_fault_names_the_case_and_the_key(key: str, value: Any, says: str) -> None:
    found = faults(manifest(changed(FULL, key, value)))
    who = "cases[0]" if key == "id" and not isinstance(value, str) else repr(value if key == "id" else "slow")
    assert any(says in f.message and f.message.startswith(f"{who}: ") for f in found), [f.message for f in found]


@pytest.mark.parametrize(("key", "value", "says"), AFTER_FAULTS)
def test_an_expiry_by_commits_is_whole_and_has_a_ticket(key: str, value: Any, says: str) -> None:
    found = faults(manifest(changed(AFTER, key, value)))
    assert any(says in f.message for f in found), [f.message for f in found]


@pytest.mark.parametrize("text", HOSTILE, ids=[ascii(text[:30]) for text in HOSTILE])
def test_hostile_json_is_malformed_and_never_a_fault_of_the_gate(text: str) -> None:
    assert all(f.message for f in faults(text.encode()))


def test_json_that_cannot_be_read_is_reported_with_its_line() -> None:
    assert [f.line for f in faults(b'{"cases": [\n  {"id": 1,\n  }\n]}')] == [3]


def test_bytes_that_are_not_utf8_are_malformed() -> None:
    faults(b'{"cases": ["\xff"]}')


def test_a_key_that_stands_twice_in_a_case_is_malformed() -> None:
    raw = manifest(LEAST).replace(b'"owner": "net"', b'"owner": "net", "owner": "other"')
    assert "twice" in faults(raw)[0].message


def test_no_two_cases_share_an_id() -> None:
    found = faults(manifest(FULL, {**FULL, "frozen_path": "oracle/frozen/slow/other.py"}))
    assert [f.message for f in found] == ["id 'slow' stands twice"]


def test_no_two_cases_share_a_frozen_file() -> None:
    assert faults(manifest(FULL, {**FULL, "id": "other"}))


def test_two_cases_may_retire_tests_of_one_file() -> None:
    assert len(freezes.parse(manifest(FULL, {**LEAST, "id": "other"}))) == 2


def test_all_faults_of_all_cases_are_reported_with_their_lines() -> None:
    raw = manifest({**LEAST, "owner": ""}, {**LEAST, "id": "other", "seed": -1, "color": 1})
    lines = raw.decode().splitlines()
    seen = {(key, lines[f.line - 1].strip()) for f in faults(raw) for key in ("owner", "seed", "color") if key in f.message}
    assert seen == {("owner", '"id": "slow",'), ("seed", '"id": "other",'), ("color", '"id": "other",')}


@settings(deadline=None)
@given(st.lists(CASE, max_size=4, unique_by=lambda case: case.id))
def test_what_is_rendered_is_read_back(cases: list[Case]) -> None:
    raw = freezes.render(tuple(cases))
    assert freezes.parse(raw) == tuple(cases)
    assert freezes.render(freezes.parse(raw)) == raw


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(sorted(FULL)),
        st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                     lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    )
)  # fmt: skip
def test_any_values_are_cases_or_faults_of_the_manifest(values: dict[str, Any]) -> None:
    assert rules_of(manifest({**FULL, **values})) <= {"manifest-malformed"}


def rules_of(raw: bytes) -> set[str]:
    """The rules of a manifest's faults; empty if it has none."""
    try:
        freezes.parse(raw)
    except RefusedError as refused:
        return {f.rule for f in refused.findings}
    return set()


def test_an_owner_over_the_cap_is_named() -> None:
    rows = [{**LEAST, "id": f"{owner}{n}", "owner": owner} for owner, many in (("a", 3), ("b", 2)) for n in range(many)]
    cases = freezes.parse(manifest(*rows))
    assert [freezes.caps(cases, cap) for cap in (3, 2, 0)] == [[], ["a"], ["a", "b"]]
