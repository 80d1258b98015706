"""`judge`: everything a patch may not do, in one answer."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fence_tasks.fence import judge
from fence_tasks.fence.frozen import Frozen, Text
from fence_tasks.fence.judge import Patch
from fence_tasks.model import ABSENT, Change
from fence_tasks.oracle.audit import OracleFile
from fence_tasks.oracle.freezes import Case
from fence_tasks.oracle.policy import Candidate, Gate, History, People, Policy, Production
from fence_tasks.rules import Code, code_of

ZEROS, OLD, NEW = "0" * 40, "1" * 40, "2" * 40
COMMIT = "5d21e0f" + "0" * 33
POLICY = Policy(Production(("src/",), ("tests/",)), Gate(("gate/",)), People("refuse", ("uv.lock",)),
                Candidate(path=("src/",)))  # fmt: skip
BANS = replace(POLICY, history=History("ban"))
CONTENT = b"def test_slow():\n    assert receive(timeout=0.05, size=1472), 'the datagram came late'\n"
CASE = Frozen(
    Case("net", "tests/test_net.py", "net", "late", "pytest", expires_unix=1, retired_names=("test_slow",)), CONTENT,
    stays=False,
)  # fmt: skip


def added(path: str, oid: str = NEW) -> Change:
    """A file that base lacks."""
    return Change(path, ABSENT, "100644", ZEROS, oid)


def edited(path: str) -> Change:
    """A file with other content."""
    return Change(path, "100644", "100644", OLD, NEW)


def deleted(path: str, oid: str = OLD) -> Change:
    """A file that the merge result lacks."""
    return Change(path, "100644", ABSENT, oid, ZEROS)


def patch(*changes: Change, **more: Any) -> Patch:
    """A patch of these changes, with the folders that they leave."""
    folders: dict[str, list[str]] = {}
    for change in changes:
        parts = change.path.split("/")
        for n in range(len(parts)):
            here, below = "/".join(parts[:n]), "/".join(parts[: n + 1])
            if not change.deleted and below not in folders.setdefault(here, []):
                folders[here].append(below)
    return Patch(changes, **{"folders": folders, **more})


def found(it: Patch, policy: Policy = POLICY) -> list[tuple[str, str]]:
    """(rule, path) of each finding."""
    return [(f.rule, f.path) for f in judge.judge(it, policy)]


def message(it: Patch, rule: str) -> str:
    """The message of the one finding of a rule."""
    (text,) = [f.message for f in judge.judge(it, POLICY) if f.rule == rule]
    return text


def test_an_honest_patch_has_no_findings() -> None:
    assert found(patch(added("src/a.py"), edited("src/b.py"), deleted("tests/c.py"))) == []


def test_nothing_at_all_has_no_findings() -> None:
    assert found(Patch(())) == []


def test_every_path_is_judged_and_every_fault_is_reported() -> None:
    it = patch(edited("oracle/LOCK"), edited("gate/x"), edited("uv.lock"), added("repro.py"), edited("README.md"),
               added("src/sitecustomize.py"), added("src/ok.py"))  # fmt: skip
    assert found(it) == [
        ("oracle-touched", "oracle/LOCK"), ("gate-touched", "gate/x"), ("people-touched", "uv.lock"),
        ("stray-file", "repro.py"), ("outside-roots", "README.md"), ("reserved-name", "src/sitecustomize.py"),
    ]  # fmt: skip


def test_one_oracle_file_among_thousands_is_found() -> None:
    many = [added(f"src/f{n}.py") for n in range(3000)]
    assert found(patch(*many, edited("oracle/policy.toml"))) == [("oracle-touched", "oracle/policy.toml")]


DONE = (
    (edited("oracle/x"), "changed"), (added("oracle/x"), "added"), (deleted("oracle/x"), "deleted"),
    (Change("oracle/x", "100644", "100755", OLD, OLD), "mode changed from 100644 to 100755"),
    (Change("oracle/x", "100644", "120000", OLD, NEW), "changed"),
)  # fmt: skip


@pytest.mark.parametrize(("change", "says"), DONE, ids=[says for _, says in DONE])
def test_a_protected_path_says_what_was_done_to_it(change: Change, says: str) -> None:
    assert message(patch(change), "oracle-touched") == says


def test_the_commit_that_did_it_is_named_with_the_commands_to_type() -> None:
    base = "1f3c9a2" + "0" * 33
    touched = ((COMMIT, "oracle/it's x"), ("f" * 40, "oracle/it's x"))
    (older,) = judge.judge(patch(deleted("oracle/it's x"), touched=touched, base=base, head="f" * 40), POLICY)
    assert older.message == f"deleted by {COMMIT[:12]}"
    assert f"git rebase -i {COMMIT[:12]}~1" in older.remedy
    assert f"git checkout {base[:12]} -- {shlex.quote(older.path)}" in older.remedy
    (last,) = judge.judge(patch(added("oracle/it's x"), touched=touched, base=base, head=COMMIT), POLICY)
    assert last.remedy.startswith(f"git rm {shlex.quote(last.path)} && git commit --amend")


def test_a_rename_out_of_the_oracle_says_where_the_content_went() -> None:
    it = patch(deleted("oracle/properties/rt.py"), added("src/rt.py", OLD))
    assert message(it, "oracle-touched") == "deleted (the same content is src/rt.py there)"


def test_what_only_the_merge_puts_there_is_moved_and_not_touched() -> None:
    it = patch(edited("oracle/frozen/x.py"), edited("gate/x"), moved=frozenset({"oracle/frozen/x.py"}))
    assert found(it) == [("protected-moved", "oracle/frozen/x.py"), ("gate-touched", "gate/x")]
    assert code_of(judge.judge(it, POLICY)) is Code.TOUCHED
    alone = patch(edited("oracle/frozen/x.py"), moved=frozenset({"oracle/frozen/x.py"}))
    assert code_of(judge.judge(alone, POLICY)) is Code.NOT_JUDGEABLE


@pytest.mark.parametrize("path", ["oracle/x", "gate/x", "uv.lock"])
def test_every_protected_path_may_be_moved_by_a_merge(path: str) -> None:
    assert found(patch(edited(path), moved=frozenset({path}))) == [("protected-moved", path)]


def test_a_merge_that_moves_an_edit_of_production_is_no_fault() -> None:
    assert found(patch(edited("src/new.py"), moved=frozenset({"src/new.py"}))) == []


@pytest.mark.parametrize(("policy", "rule"), [(POLICY, "history-note"), (BANS, "history-touched")])
def test_what_was_touched_and_restored_is_reported_or_banned_as_the_policy_says(policy: Policy, rule: str) -> None:
    it = patch(edited("src/a.py"), touched=((COMMIT, "oracle/x"), ("f" * 40, "oracle/x"), ("f" * 40, "gate/y")))
    assert found(it, policy) == [(rule, "oracle/x"), (rule, "gate/y")]


@pytest.mark.parametrize("policy", [POLICY, BANS], ids=["report", "ban"])
def test_what_is_still_touched_is_reported_once(policy: Policy) -> None:
    assert found(patch(edited("oracle/x"), touched=((COMMIT, "oracle/x"),)), policy) == [("oracle-touched", "oracle/x")]


def test_a_malformed_tree_is_the_patchs_fault() -> None:
    it = patch(edited("src/a.py"), malformed=(("src/a.py", "the name stands twice in its folder"),))
    assert found(it) == [("tree-malformed", "src/a.py")]


def test_a_name_clash_with_a_sibling_that_base_has_is_found() -> None:
    it = patch(added("src/API.py"))
    it.folders["src"].append("src/api.py")
    assert found(it) == [("name-clash", "src/API.py")]


def test_two_names_of_base_that_clash_are_not_the_patchs_fault() -> None:
    it = patch(edited("src/API.py"))
    it.folders["src"].append("src/api.py")
    assert found(it) == []


def test_a_new_file_in_a_folder_of_bases_odd_name_is_not_the_patchs_fault() -> None:
    it = patch(added("src/aux/new.py"))
    it.folders["src/aux"].append("src/aux/old.py")
    assert found(it) == []


def test_a_bare_repository_in_the_roots_is_found() -> None:
    assert ("git-name", "src/v") in found(patch(added("src/v/HEAD"), added("src/v/objects/x"), added("src/v/refs/x")))


def test_a_case_that_comes_back_is_found_by_path_content_and_name() -> None:
    text = Text("tests/test_net.py", CONTENT)
    rules = [rule for rule, _ in found(patch(added("tests/test_net.py"), cases=(CASE,), texts=(text,)))]
    assert rules == ["frozen-path", "frozen-content", "frozen-name"]


def test_a_frozen_case_in_the_oracle_itself_is_touched_and_frozen() -> None:
    text = Text("oracle/x.py", CONTENT)
    it = patch(added("oracle/x.py"), cases=(CASE,), texts=(text,))
    assert code_of(judge.judge(it, POLICY)) is Code.TOUCHED


BLOB = "a" * 40
ORACLE = (
    OracleFile("oracle/properties/rt.py", "100644", BLOB, 64), OracleFile("oracle/short", "100644", "b" * 40, 63),
    OracleFile("oracle/frozen/net/test_net.py", "100644", "c" * 40, 200),
)  # fmt: skip
COPIES: tuple[tuple[tuple[Change, ...], list[str], str], ...] = (
    ((added("src/rt.py", BLOB),), ["src/rt.py"], "a new file of production"),
    ((Change("src/a.py", "100644", "100644", OLD, BLOB),), ["src/a.py"], "an edited file of production"),
    ((added("src/rt.py", BLOB), deleted("oracle/properties/rt.py", BLOB)), ["src/rt.py"], "moved out of the oracle"),
    ((Change("src/rt.py", "100644", "100755", BLOB, BLOB),), [], "it was there already"),
    ((added("src/rt.py", BLOB), deleted("src/old.py", BLOB)), [], "it was elsewhere in production"),
    ((added("tests/rt.py", BLOB),), [], "also is never loaded"),
    ((added("src/s", "b" * 40),), [], "63 bytes prove nothing"),
    ((added("src/f.py", "c" * 40),), [], "a frozen case has its own code"),
    ((added("src/new.py"),), [], "another content"),
    ((Change("src/l", ABSENT, "120000", ZEROS, BLOB),), [], "a link has its own rule"),
)


@pytest.mark.parametrize(("changes", "wanted", "why"), COPIES, ids=[why for _, _, why in COPIES])
def test_an_oracle_files_bytes_may_not_appear_in_production(
    changes: tuple[Change, ...], wanted: list[str], why: str
) -> None:
    copies = judge.suspected_copies(changes, ORACLE, POLICY)
    assert list(copies) == wanted, why
    assert set(copies.values()) <= {"oracle/properties/rt.py"}


def test_a_copy_is_named_with_the_oracle_file_it_is() -> None:
    it = patch(added("src/rt.py"), copies=(("src/rt.py", "oracle/properties/rt.py"),))
    assert message(it, "oracle-copied") == "the same bytes as oracle/properties/rt.py"


PATH = st.lists(st.sampled_from(["src", "oracle", "a", "B", "gate", ".git", "x.py", "\u202e", ""]), min_size=1, max_size=4)
MODE = st.sampled_from([ABSENT, "100644", "100755", "120000", "160000", "040000"])


@settings(deadline=None)
@given(st.lists(st.builds(Change, PATH.map("/".join), MODE, MODE, st.just(OLD), st.just(NEW)), max_size=6))
def test_the_order_of_the_changes_changes_no_answer(changes: list[Change]) -> None:
    both = [judge.judge(Patch(tuple(order)), BANS) for order in (changes, changes[::-1])]
    assert {(f.rule, f.path) for f in both[0]} == {(f.rule, f.path) for f in both[1]}
    assert code_of(both[0]) == code_of(both[1])
    protected = [c.path for c in changes if c.path.startswith(("oracle/", "gate/"))]
    assert (code_of(both[0]) is Code.TOUCHED) >= bool(protected)
