"""`invoke check` on real repositories: clean is clean, and every fault comes with what mends it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from fence_tasks.maintain import check as checking
from tests.people import invoke, state

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.host import Host

MANIFEST = "oracle/frozen/manifest.json"
DAY = 86400


def expire(host: Host, **fields: Any) -> None:
    """Give the frozen case another expiry (None takes a field away), lock and commit."""
    document = json.loads(host.path(MANIFEST).read_bytes())
    document["cases"][0] = {k: v for k, v in {**document["cases"][0], **fields}.items() if v is not None}
    host.people("expiry", {MANIFEST: json.dumps(document)})


@pytest.fixture
def clean(host: Host) -> Host:
    """A host whose frozen case expires within the policy's limit."""
    expire(host, expires_unix=int(time.time()) + 60 * DAY)
    return host


def check(host: Host, *, staged: bool = False) -> tuple[int, dict[str, Any]]:
    """Whether there is something to mend, and the answer for machines; called here, which is quicker than Invoke."""
    checked = checking.run(str(host.repo), staged_only=staged)
    return int(checked.faults > 0), checking.as_json(checked)


def found(answer: dict[str, Any], level: str = "error") -> set[tuple[str, str]]:
    rows = [row for row in answer["findings"] if row["level"] == level]
    assert all(row["remedy"] and row["message"] for row in rows)
    return {(row["rule"], row["path"]) for row in rows}


def test_a_clean_host_is_well(clean: Host) -> None:
    done = invoke(clean, "check", cwd=clean.path("src/tests"))
    assert (done.code, done.err) == (0, ""), done
    assert done.out == ("all is well: 1 property files, 2 fixtures, 1 frozen cases; "
                        "policy, LOCK, store, manifest and kit agree\n")  # fmt: skip
    done = invoke(clean, "check", "--staged", "--format", "json")
    wanted = {"format": 1, "ok": True, "findings": [], "properties": 1, "fixtures": 2, "cases": 1}
    assert (done.code, json.loads(done.out)) == (0, wanted)


def drop_half(host: Host) -> None:
    name = next(p.name for p in host.path("oracle/fixtures").glob("*.in"))
    host.git("rm", "-q", f"oracle/fixtures/{name}")


def append(name: str, text: str, *, locked: bool = False) -> Callable[[Host], None]:
    def spoil(host: Host) -> None:
        host.write(name, host.path(name).read_bytes() + text.encode())
        stage(host, locked=locked)

    return spoil


def removed(*names: str, locked: bool = False) -> Callable[[Host], None]:
    def spoil(host: Host) -> None:
        host.git("rm", "-rq", *names)
        stage(host, locked=locked)

    return spoil


def replaced(old: str, new: str) -> Callable[[Host], None]:
    def spoil(host: Host) -> None:
        host.replace(POLICY, old, new)
        stage(host, locked=True)

    return spoil


def stage(host: Host, *, locked: bool) -> None:
    if locked:
        host.lock()
    host.git("add", "--all")


def executable(host: Host) -> None:
    host.git("update-index", "--chmod=+x", ROUNDTRIP)


def back_again(host: Host) -> None:
    host.write(RETIRED, host.path(FROZEN).read_bytes())
    host.git("add", RETIRED)


POLICY = "oracle/policy.toml"
ROUNDTRIP = "oracle/properties/roundtrip.py"
FROZEN = "oracle/frozen/parse_timeout_udp_1472/test_parse_timeout.py"
RETIRED = "src/tests/test_parse_timeout.py"
FAULTS: dict[str, tuple[Callable[[Host], None], str, str]] = {
    # what is wrong → how it came to be, the rule, the path
    "a property that LOCK does not know": (append(ROUNDTRIP, "#"), "lock-mismatch", ROUNDTRIP),
    "no LOCK": (removed("oracle/LOCK"), "lock-missing", "oracle/LOCK"),
    "an executable property": (executable, "oracle-entry", ROUNDTRIP),
    "a key that no policy has": (replaced("format = 1", "format = 1\nsead = 3"), "policy-malformed", POLICY),
    "a ban that this version lacks": (replaced('"report"\n[his', '"ban"\n[his'), "feature-missing", POLICY),
    "fixtures without a function": (replaced('"normalise"', '""'), "policy-malformed", POLICY),
    "a frozen case that is not there": (removed(FROZEN, locked=True), "manifest-malformed", MANIFEST),
    "a frozen case that was edited": (append(FROZEN, "#\n", locked=True), "frozen-content", FROZEN),
    "a retired test that is back": (back_again, "frozen-name", RETIRED),
    "no evidence": (removed("oracle/properties", "oracle/fixtures", locked=True), "no-evidence", "oracle"),
    "an expiry that is too late": (lambda h: expire(h, expires_unix=4_000_000_000), "over-cap", MANIFEST),
    "more cases than one owner may have": (
        replaced("[his", "[freezes]\ncap_per_owner = 0\n[his"),
        "over-cap",
        MANIFEST,
    ),
    "no oracle": (removed("oracle"), "not-adopted", "oracle"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_in_the_index_is_found(clean: Host, what: str) -> None:
    spoil, rule, path = FAULTS[what]
    spoil(clean)
    before = state(clean)
    code, answer = check(clean, staged=True)
    assert (code, answer["ok"], found(answer)) == (1, False, {(rule, path)}), answer
    assert state(clean) == before


def test_a_missing_half_is_found_with_what_lock_says_about_it(clean: Host) -> None:
    drop_half(clean)
    code, answer = check(clean, staged=True)
    assert (code, {rule for rule, _ in found(answer)}) == (1, {"fixture-half", "lock-mismatch"}), answer


def test_what_is_not_staged_is_found_unless_only_the_index_is_asked_for(clean: Host) -> None:
    clean.write("oracle/properties/loose.py", "x = 1\n")
    clean.write(ROUNDTRIP, "x = 1\n")
    clean.write("oracle/LOCK", "x\n")
    code, answer = check(clean)
    paths = {"oracle/properties/loose.py", ROUNDTRIP, "oracle/LOCK"}
    assert (code, found(answer)) == (1, {("not-staged", p) for p in paths}), answer
    assert check(clean, staged=True) == (0, {**answer, "ok": True, "findings": []})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"expires_unix": 1_000_000_000}, "expired"),
        ({"expires_unix": int(time.time()) + 3 * DAY + 3600}, "expires in 3 days"),
        ({"expires_unix": None, "ticket": "P-1", "expires_after": 1}, "expired 1 commits ago (P-1)"),
        ({"expires_unix": None, "ticket": "P-1", "expires_after": 50}, ""),
        ({"expires_unix": None, "ticket": "P-1", "expires_after": 0}, "which is not here"),
    ],
    ids=["past", "soon", "past by commits", "not yet by commits", "counted from a commit that is not here"],
)  # fmt: skip
def test_an_expiry_is_a_note_that_names_the_owner(host: Host, fields: dict[str, Any], said: str) -> None:
    if count := fields.get("expires_after"):
        fields = {**fields, "expires_after": {"commit": host.id("legacy"), "first_parent_commits": count}}
    elif count == 0:
        fields = {**fields, "expires_after": {"commit": "0" * 40, "first_parent_commits": 1}}
    expire(host, **fields)
    code, answer = check(host)
    notes = [row for row in answer["findings"] if row["level"] == "note"]
    assert code == 0, answer
    assert [said in row["message"] for row in notes] == ([True] if said else []), notes
    assert all("protocols" in row["remedy"] or "fetch" in row["remedy"] for row in notes)


def test_a_gate_that_differs_from_head_is_a_note(clean: Host) -> None:
    clean.write("fence_tasks/model.py", "x = 1\n")
    clean.write("noxfile.py", "x = 1\n")
    code, answer = check(clean)
    assert (code, found(answer, "note")) == (0, {("gate-note", "fence_tasks/model.py")}), answer


def test_a_vendored_kit_that_somebody_edited_is_found(clean: Host) -> None:
    clean.checkout("legacy")
    assert invoke(clean, "init-split", "--into", ".", "--production", "src/").code == 0
    assert found(check(clean)[1]) == {("no-evidence", "oracle")}
    append("fence_tasks/rules.py", "# edited\n")(clean)
    assert ("kit-edited", "fence_tasks/") in found(check(clean)[1])


def test_a_conflict_in_the_oracle_is_a_finding(clean: Host) -> None:
    for branch in ("one", "two"):
        clean.branch(branch)
        clean.people(branch, {"oracle/properties/same.py": f"NAME = {branch!r}\n"})
    with pytest.raises(AssertionError, match="merge"):
        clean.git("merge", "--quiet", "--no-edit", "one")
    code, answer = check(clean)
    assert (code, {rule for rule, _ in found(answer)}) == (1, {"merge-conflict"}), answer


def test_hostile_names_reach_neither_terminal_nor_json_raw(clean: Host) -> None:
    clean.write("oracle/properties/\x1b[31m\u202e\n::error::.py", "x = 1\n")
    clean.git("add", "--all")
    for args in ([], ["--format", "json"]):
        done = invoke(clean, "check", *args)
        assert done.code == 1
        assert not {"\x1b", "\u202e"} & {*done.out}
        assert not any(line.lstrip().startswith("::") for line in done.out.splitlines())


def test_bad_input_and_no_repository(host: Host) -> None:
    assert invoke(host, "check", "--format", "xml").code == 64
    host.write(ROUNDTRIP, "x = 1\n")
    assert invoke(host, "check").code == 1
    (host.root / "plain").mkdir()
    assert invoke(host, "check", cwd=host.root / "plain").code == 69
