"""`audit`: whatever changes in an oracle is seen, whoever asks."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from fence_tasks.oracle import lock
from fence_tasks.oracle.audit import Audit, OracleFile, audit, wants_content

INPUT = b"  Alpha "
STEM = f"oracle/fixtures/{hashlib.sha256(INPUT).hexdigest()}"
CASE = {
    "id": "slow", "retired_src_path": "src/tests/test_slow.py", "owner": "net", "reason": "late", "repro_cmd": "pytest",
    "expires_unix": 4_000_000_000, "frozen_path": "oracle/frozen/slow/test_slow.py",
}  # fmt: skip
POLICY = b"""format = 1
[production]
roots = ["src/"]
[candidate]
path = ["src/"]
api = "parsekit.api"
[properties]
seed = 1
"""
#: A sound oracle: path → content.
FILES = {
    "oracle/policy.toml": POLICY,
    "oracle/properties/roundtrip.py": b"def prop_roundtrip(api):\n    return True\n",
    "oracle/properties/data/LOCK": b"a file of that name in a subfolder counts\n",
    f"{STEM}.in": INPUT,
    f"{STEM}.expected": hashlib.sha256(b"alpha").hexdigest().encode() + b"\n",
    "oracle/frozen/slow/test_slow.py": b"def test_slow():\n    assert False\n",
    "oracle/frozen/manifest.json": json.dumps({"cases": [CASE]}).encode(),
    "oracle/canaries/é ü.patch": b"\0\xff",
}
PATHS = sorted(FILES)
COUNTED = [*PATHS, "oracle/LOCK"]


def entry(path: str, data: bytes, mode: str = "100644") -> OracleFile:
    """One file as the store would give it to the audit."""
    return OracleFile(
        path, mode, hashlib.sha1(b"blob %d\0%s" % (len(data), data)).hexdigest(), len(data), blake3(data).hexdigest(),
        hashlib.sha256(data).hexdigest() if path.endswith(".in") else "", data if wants_content(path) else b"",
    )  # fmt: skip


def locked(files: dict[str, bytes]) -> list[OracleFile]:
    """An oracle of these files, with the LOCK that fits them."""
    digests = {path.removeprefix("oracle/"): blake3(data).hexdigest() for path, data in files.items()}
    return [entry(path, data) for path, data in {**files, "oracle/LOCK": lock.render(digests)}.items()]


def found(files: list[OracleFile]) -> set[tuple[str, str]]:
    """(rule, path) of every finding."""
    return {(f.rule, f.path) for f in audit(files).findings}


def relocked(files: dict[str, bytes]) -> set[tuple[str, str]]:
    """What is found in an oracle whose LOCK a person has made to fit."""
    return found(locked(files))


def test_a_sound_oracle_has_no_findings_and_says_what_it_holds() -> None:
    answer = audit(locked(FILES))
    assert answer.findings == ()
    assert answer.policy
    assert answer.policy.production.roots == ("src/",)
    assert [case.id for case in answer.cases] == ["slow"]
    assert answer.properties == ("oracle/properties/roundtrip.py",)
    assert answer.fixtures == (f"{STEM}.in",)
    assert answer.lock_digest == next(f.blake3 for f in locked(FILES) if f.path == "oracle/LOCK")


def test_the_order_of_the_files_changes_nothing() -> None:
    files = locked(FILES)
    broken = [replace(f, blake3="0" * 64) for f in files]
    assert set(audit(broken).findings) == set(audit(broken[::-1]).findings)


@pytest.mark.parametrize("path", PATHS)
def test_a_changed_byte_of_any_file_is_seen(path: str) -> None:
    files = [entry(f.path, FILES[path] + b"\n") if f.path == path else f for f in locked(FILES)]
    assert ("lock-mismatch", path) in found(files)


@pytest.mark.parametrize("mode", ["100755", "120000", "160000", "100664"])
@pytest.mark.parametrize("path", COUNTED)
def test_a_changed_mode_of_any_file_is_seen(path: str, mode: str) -> None:
    files = [replace(f, mode=mode) if f.path == path else f for f in locked(FILES)]
    assert ("oracle-entry", path) in found(files)


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_is_taken_out_is_seen(path: str) -> None:
    files = [f for f in locked(FILES) if f.path != path]
    assert ("lock-mismatch", path) in found(files)


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_is_renamed_is_seen_at_both_names(path: str) -> None:
    files = [replace(f, path=f"{path}.bak") if f.path == path else f for f in locked(FILES)]
    assert {("lock-mismatch", path), ("lock-mismatch", f"{path}.bak")} <= found(files)


@pytest.mark.parametrize(
    "path", ["oracle/x", "oracle/properties/new.py", "oracle/properties/LOCK", "oracle/LOCK.old", "oracle/.hidden"]
)
def test_a_file_that_is_added_is_seen(path: str) -> None:
    assert ("lock-mismatch", path) in found([*locked(FILES), entry(path, b"")])


@pytest.mark.parametrize(
    "name", ["lock", "Lock", "LOCK.", "LOCK ", "LO\u200dCK", "LOCK::$DATA", "LOC\u212a", "lock/x"], ids=ascii
)
def test_no_other_name_may_stand_for_lock(name: str) -> None:
    rules = {rule for rule, path in relocked({**FILES, f"oracle/{name}": b""}) if path == f"oracle/{name}"}
    assert "oracle-entry" in rules


@pytest.mark.parametrize(
    "name", ["a\\b", "a\nb", "a\u202eb", "-rf", "nul.py", "caf\udce9.py", ".git/config", "..", "x" * 256, "a:b"], ids=ascii
)
def test_an_odd_name_is_malformed_even_where_lock_fits(name: str) -> None:
    path = f"oracle/properties/{name}"
    assert ("oracle-entry", path) in found([*locked(FILES), entry(path, b"")])


def test_two_entries_of_one_name_are_seen() -> None:
    files = locked(FILES)
    twin = entry("oracle/properties/roundtrip.py", b"def prop_roundtrip(api):\n    return None\n")
    for both in ([twin, *files], [*files, twin]):
        assert found(both), "only one of both was looked at"


MISSING = {
    "oracle/LOCK": ("lock-missing", "oracle/LOCK"),
    "oracle/policy.toml": ("policy-malformed", "oracle/policy.toml"),
    "oracle/frozen/manifest.json": ("manifest-malformed", "oracle/frozen/manifest.json"),
    "oracle/frozen/slow/test_slow.py": ("manifest-malformed", "oracle/frozen/manifest.json"),
    f"{STEM}.in": ("fixture-half", f"{STEM}.expected"),
    f"{STEM}.expected": ("fixture-half", f"{STEM}.in"),
}


@pytest.mark.parametrize(("path", "finding"), MISSING.items(), ids=[f"{p[:30]}" for p in MISSING])
def test_a_file_that_the_oracle_needs_has_its_own_finding_even_where_lock_fits(
    path: str, finding: tuple[str, str]
) -> None:
    files = [f for f in locked({p: d for p, d in FILES.items() if p != path}) if f.path != path]
    assert found(files) == {finding}


BROKEN = {
    "a policy": ("oracle/policy.toml", b"", "policy-malformed"),
    "a manifest": ("oracle/frozen/manifest.json", b"{}", "manifest-malformed"),
    "an expectation": (f"{STEM}.expected", b"alpha\n", "expected-malformed"),
    "a fixture": (f"{STEM}.in", b"other", "fixture-name"),
    "pending evidence": ("oracle/pending.toml", b"x = 1\n", "pending-malformed"),
}


@pytest.mark.parametrize(("path", "data", "rule"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_found_even_where_lock_fits(path: str, data: bytes, rule: str) -> None:
    assert {rule for rule, _ in relocked({**FILES, path: data})} == {rule}


def test_a_policy_that_cannot_be_read_is_none_and_the_rest_is_judged_all_the_same() -> None:
    answer: Audit = audit(locked({**FILES, "oracle/policy.toml": b"", f"{STEM}.in": b"other"}))
    assert answer.policy is None
    assert {f.rule for f in answer.findings} == {"policy-malformed", "fixture-name"}


def test_a_lock_that_cannot_be_read_is_malformed_and_not_a_mismatch_of_every_file() -> None:
    files = [entry(f.path, b"<<<<<<< ours\n") if f.path == "oracle/LOCK" else f for f in locked(FILES)]
    assert found(files) == {("lock-malformed", "oracle/LOCK")}


def test_an_empty_oracle_lacks_everything() -> None:
    assert {rule for rule, _ in found([])} == {"policy-malformed", "lock-missing", "manifest-malformed"}


ENTRY = '[[pending]]\nid = "%s"\nowner = "net"\nticket = "NET-7"\nexpires_unix = 4000000000\n'
PENDING = (("properties/roundtrip.py::prop_roundtrip", True), ("properties/gone.py::prop_x", False),
           (f"fixtures/{STEM[-64:]}", True), ("fixtures/" + "0" * 64, False))  # fmt: skip


@pytest.mark.parametrize(("evidence", "there"), PENDING)
def test_pending_evidence_must_be_there(evidence: str, *, there: bool) -> None:
    answer = audit(locked({**FILES, "oracle/pending.toml": (ENTRY % evidence).encode()}))
    assert {f.rule for f in answer.findings} == (set() if there else {"pending-malformed"})
    assert [e.id for e in answer.pending.pending] == [evidence]


def test_only_what_the_audit_reads_is_asked_for_with_content() -> None:
    read = {path for path in COUNTED if wants_content(path)}
    assert read == {"oracle/policy.toml", "oracle/LOCK", "oracle/frozen/manifest.json", f"{STEM}.expected"}
    assert wants_content("oracle/pending.toml")
    assert not wants_content("oracle/properties/x.expected")


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(PATHS), st.data())
def test_any_other_content_of_any_file_is_a_mismatch(path: str, data: st.DataObject) -> None:
    other = data.draw(st.binary(max_size=60).filter(lambda content: content != FILES[path]))
    files = [entry(path, other) if f.path == path else f for f in locked(FILES)]
    assert ("lock-mismatch", path) in found(files)
