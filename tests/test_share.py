"""What share of a repository's own past changes a choice of roots and also would have let through."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fence_tasks import checkout
from fence_tasks.maintain import init_split, share
from fence_tasks.model import ABSENT, Change
from fence_tasks.oracle import policy
from fence_tasks.oracle.policy import Policy, Production
from tests.people import invoke, state

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.host import Host

RULES = Policy(production=Production(roots=("src/",), also=("tests/",)))
ALONE = share.Choice(("src/",), ())


@pytest.fixture
def legacy(host: Host) -> Host:
    """A host that nobody has fenced yet, with one commit."""
    host.checkout("legacy")
    return host


def edit(path: str) -> Change:
    return Change(path, "100644", "100644", "1" * 40, "2" * 40)


def added(path: str) -> Change:
    return Change(path, ABSENT, "100644", "0" * 40, "2" * 40)


def paths(host: Host, most: int = 500) -> list[list[str]]:
    return [[c.path for c in changes] for changes in checkout.history(str(host.repo), most)]


# --- the history ---------------------------------------------------------------------------------------------------


def test_a_repository_with_its_first_commit_alone_has_no_history(legacy: Host) -> None:
    assert paths(legacy) == []


def test_a_commit_is_its_difference_to_its_parent_newest_first(legacy: Host) -> None:
    legacy.write("src/parsekit/new.py", "x = 1\n")
    legacy.commit("add")
    legacy.remove("README.md")
    legacy.path("src/bin/parsekit").chmod(0o644)
    legacy.commit("delete, and change a mode")
    legacy.commit("nothing")
    rows = [[(c.path, c.old_mode, c.new_mode) for c in changes] for changes in checkout.history(str(legacy.repo), 9)]
    assert rows == [
        [("README.md", "100644", ABSENT), ("src/bin/parsekit", "100755", "100644")],
        [("src/parsekit/new.py", ABSENT, "100644")],
    ]


def test_a_merge_is_one_change_and_what_it_brought_in_is_not_counted_again(legacy: Host) -> None:
    legacy.branch("topic", "legacy")
    for name in ("one", "two"):
        legacy.write(f"src/{name}.py", "")
        legacy.commit(name)
    legacy.checkout("legacy")
    legacy.write("README.md", "# other\n")
    legacy.commit("meanwhile")
    legacy.merge("topic")
    assert paths(legacy) == [["src/one.py", "src/two.py"], ["README.md"]]


def test_a_rename_is_a_deletion_and_an_addition(legacy: Host) -> None:
    legacy.git("mv", "src/parsekit/legacy.py", "attic.py")
    legacy.commit("move")
    assert paths(legacy) == [["attic.py", "src/parsekit/legacy.py"]]


ODD = [
    b"src/a\nb", b"src/:100644 100644 x", b"\x01src", b":top", b"src/\xff\xfe", "src/ä".encode(), b"src/ blank ", b'src/"q"',
    b"src/tab\there", b"src/\n:000000 100644",
]  # fmt: skip


def test_odd_names_come_through_byte_for_byte(legacy: Host) -> None:
    for name in ODD:
        legacy.write(os.fsdecode(name), "x")
    legacy.commit("odd names")
    legacy.write("README.md", "and one more\n")
    legacy.commit("a plain one after them")
    assert [[os.fsencode(p) for p in row] for row in paths(legacy)] == [[b"README.md"], sorted(ODD)]


def test_links_and_submodules_are_changes_too(legacy: Host) -> None:
    legacy.link("src/link", "parsekit")
    legacy.commit("a link")
    legacy.git("update-index", "--add", "--cacheinfo", f"160000,{legacy.id()},src/module")
    legacy.commit("a submodule", everything=False)
    assert [[(c.path, c.new_mode) for c in row] for row in checkout.history(str(legacy.repo), 9)] == [
        [("src/module", "160000")], [("src/link", "120000")],
    ]  # fmt: skip


SETTINGS = {
    "diff.renames": "copies", "diff.relative": "true", "diff.noprefix": "true", "diff.ignoreSubmodules": "all",
    "diff.mnemonicPrefix": "true", "log.showSignature": "true", "log.diffMerges": "off", "log.showRoot": "true",
    "log.decorate": "full", "log.follow": "true", "color.ui": "always", "core.quotePath": "true", "core.abbrev": "7",
    "format.pretty": "fuller", "format.notes": "true", "core.commentChar": "x", "diff.orderFile": "order",
}  # fmt: skip


def test_a_persons_settings_do_not_change_the_history(legacy: Host) -> None:
    legacy.branch("topic", "legacy")
    legacy.git("mv", "src/parsekit/legacy.py", "attic.py")
    legacy.commit("move")
    legacy.git("notes", "add", "--message", "a note")
    legacy.checkout("legacy")
    legacy.merge("topic")
    before = checkout.history(str(legacy.repo), 9)
    (legacy.repo / "order").write_text("*\n")
    for key, value in SETTINGS.items():
        legacy.git("config", key, value)
    assert checkout.history(str(legacy.repo), 9) == before
    assert [len(row) for row in before] == [2]


def test_a_file_named_like_a_revision_is_no_matter(legacy: Host) -> None:
    legacy.write("HEAD", "x")
    legacy.commit("a file named HEAD")
    assert paths(legacy) == [["HEAD"]]


def test_no_more_than_asked_for(legacy: Host) -> None:
    for n in range(4):
        legacy.write("README.md", f"{n}\n")
        legacy.commit(f"edit {n}")
    assert len(paths(legacy, 3)) == 3


BRANCHES: dict[str, tuple[Callable[[Host], object], str]] = {
    "main is there": (lambda h: h.checkout("legacy"), "main"),
    "only master is": (lambda h: h.git("branch", "-m", "main", "master"), "master"),
    "neither is": (lambda h: h.git("branch", "-D", "main"), "legacy"),
    "neither is, and no branch is checked out": (
        lambda h: (h.git("branch", "-D", "main"), h.git("checkout", "--quiet", "--detach")), "main"),
    "origin says another": (
        lambda h: (h.git("update-ref", "refs/remotes/origin/release/1.x", "HEAD"),
                   h.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/release/1.x")), "release/1.x"),
}  # fmt: skip


@pytest.mark.parametrize("case", BRANCHES)
def test_the_branch_that_changes_are_merged_into(legacy: Host, case: str) -> None:
    BRANCHES[case][0](legacy)
    assert checkout.main_branch(str(legacy.repo)) == BRANCHES[case][1]


# --- the shares ----------------------------------------------------------------------------------------------------


def test_a_share_counts_changes_those_that_touch_the_roots_and_what_stops_the_rest() -> None:
    history = [
        [edit("src/a.py")],
        [edit("src/a.py"), edit("tests/test_a.py")],
        [edit("tests/test_a.py")],
        [edit("README.md"), edit("src/a.py")],
        [edit("README.md"), added("repro.py"), edit("pyproject.toml")],
        [edit(".github/workflows/ci.yml"), edit("README.md")],
        [edit("src/tasks.py")],  # a note is no refusal
    ]
    found = share.of(history, RULES, share.Choice(("src/",), ("tests/",)))
    assert (found.changes, found.passed, found.code, found.code_passed) == (7, 4, 4, 3)
    assert found.stops == (
        share.Stop("outside-roots", 3, "README.md"), share.Stop("gate-touched", 1, ".github/workflows/ci.yml"),
        share.Stop("stray-file", 1, "repro.py"),
    )  # fmt: skip
    alone = share.of(history, RULES, ALONE)
    assert (alone.passed, alone.code, alone.code_passed) == (2, 4, 2)
    assert alone.stops[0] == share.Stop("outside-roots", 5, "README.md")


def test_one_path_may_be_stopped_by_two_rules_at_two_times() -> None:
    found = share.of([[edit("run.py")], [added("run.py")]], RULES, ALONE)
    assert found.stops == (share.Stop("outside-roots", 1, "run.py"), share.Stop("stray-file", 1, "run.py"))


def test_the_rest_of_the_policy_counts_too() -> None:
    rules = replace(RULES, gate=policy.Gate(("ci/",)), people=policy.People(paths=("src/vendored/",)))
    history = [[edit("ci/run")], [edit("src/vendored/x.py")], [edit("src/x.py")]]
    found = share.of(history, rules, ALONE)
    assert found.passed == 1
    assert {s.rule for s in found.stops} == {"gate-touched", "people-touched"}


def test_a_share_is_what_the_gate_itself_would_have_said(host: Host) -> None:
    host.branch("work", "main")
    base = host.id()
    files = [
        ("src/parsekit/new.py", ""), ("README.md", "# x\n"), ("src/conftest.py", ""), ("src/tests/test_new.py", ""),
        ("oracle/LOCK", ""), ("src/tasks.py", ""), ("src/aux.py", ""), ("scratch.py", ""), ("lib/x.py", ""),
    ]  # fmt: skip
    expected = []
    for name, text in files:
        host.git("reset", "--quiet", "--hard", base)
        host.write(name, text)
        host.commit(name)
        result = host.fence(base, host.id())
        [change] = checkout.history(str(host.repo), 1)
        rules = policy.parse(host.path("oracle/policy.toml").read_bytes())
        found = share.of([change], rules, share.Choice(rules.production.roots, ()))
        expected.append((name, result.code == 0, result.rules))
        assert (bool(found.passed), {s.rule for s in found.stops}) == (result.code == 0, set(result.rules)), result
    assert [name for name, passed, _ in expected if passed] == ["src/parsekit/new.py", "src/tests/test_new.py", "src/tasks.py"]


def test_candidates_are_built_from_what_the_repository_has() -> None:
    tracked = ["src/a.py", "tests/t.py", "doc/x.rst", "CHANGES.rst", "README.md", "newsfragments/1.misc", "setup.py",
               "src/tests/t.py", "examples/e.py", ".github/docs/x", "history/x.py"]  # fmt: skip
    rules = replace(RULES, production=Production(roots=("src/",), also=("docs/",)))
    assert share.choices(tracked, rules) == [
        share.Choice(("src/",), ()),
        share.Choice(("src/",), ("docs/",), asked=True),
        share.Choice(("src/",), ("tests/",)),
        share.Choice(("src/",), ("tests/", "CHANGES.rst", "README.md", "doc/", "newsfragments/")),
    ]


def test_the_choice_asked_for_is_not_listed_twice() -> None:
    for also in ((), ("tests/",), ("README.md", "tests/")):
        rules = replace(RULES, production=Production(roots=("src/",), also=also))
        listed = share.choices(["src/a.py", "tests/t.py", "README.md"], rules)
        assert len(listed) == 3
        assert [set(c.also) for c in listed if c.asked] == [set(also)]


def test_what_is_writable_or_protected_already_is_no_candidate() -> None:
    rules = replace(RULES, production=Production(roots=("lib/kit/", "docs/")), gate=policy.Gate(("tests/",)),
                    people=policy.People(paths=("README.md",)))  # fmt: skip
    listed = share.choices(["lib/kit/a.py", "lib/tests/t.py", "docs/x", "tests/t.py", "README.md"], rules)
    assert [c.also for c in listed] == [(), ("lib/tests/",)]


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 0, "     -"), (0, 9, "   0 %"), (1, 999, "   1 %"), (998, 999, "  99 %"), (9, 9, " 100 %"), (2, 3, "  67 %")],
)
def test_a_percentage_never_rounds_to_all_or_none(part: int, whole: int, said: str) -> None:
    found = share.Share(ALONE, whole or 1, 0, whole, part, ())
    assert share.as_lines([found])[2].split(" %", 1)[1].startswith(" " + said)


def test_only_the_first_rules_are_named() -> None:
    stops = tuple(share.Stop(f"rule-{n}", 9 - n, f"path-{n}") for n in range(6))
    lines = "\n".join(share.as_lines([share.Share(ALONE, 9, 0, 0, 0, stops)]))
    assert "9 rule-0 (path-0)" in lines
    assert "rule-4" not in lines
    assert "and 2 more rules" in lines


# --- what init-split prints ----------------------------------------------------------------------------------------


def table(host: Host, *args: str) -> list[str]:
    done = invoke(host, "init-split", "--into", ".", "--production", "src/", "--api", "parsekit.api", *args)
    assert done.code == 0, done
    return done.out.splitlines()


@pytest.fixture
def worked(legacy: Host) -> Host:
    """A host with a little history."""
    for n, names in enumerate((["src/parsekit/a.py"], ["src/parsekit/a.py", "CHANGELOG.md"], ["src/parsekit/a.py", "tests/t.py"],
                               ["CHANGELOG.md", "tests/\x1b[31m.py"])):  # fmt: skip
        for name in names:
            legacy.write(name, f"# {n}\n")
        legacy.commit(f"change {n}")
    return legacy


def test_init_split_shows_the_table_and_what_to_do_next_stands_last(worked: Host) -> None:
    lines = table(worked, "--also", "tests/")
    at = lines.index("of the last 4 changes on HEAD's main line the path rules would have let through:")
    assert lines[at + 1 : at + 8] == [
        "   all   code  roots + also",
        "  25 %   33 %  src/",
        "               stopped: 2 outside-roots (CHANGELOG.md), 1 name-control (tests/\\x1b[31m.py), 1 stray-file (tests/t.py)",
        "  50 %   67 %  src/ + tests/   <- asked for",
        "               stopped: 2 outside-roots (CHANGELOG.md), 1 name-control (tests/\\x1b[31m.py)",
        "  75 %  100 %  src/ + tests/ CHANGELOG.md README.md",
        "               stopped: 1 name-control (tests/\\x1b[31m.py)",
    ]
    assert lines[at + 8].startswith("(code: the 3 that touch the roots; a merge counts as the one change")
    assert at + 8 < next(n for n, line in enumerate(lines) if line.startswith("next:"))


def test_a_dry_run_shows_plan_and_table_and_writes_nothing(worked: Host) -> None:
    before = state(worked)
    lines = table(worked, "--dry-run")
    assert any(line.startswith("of the last 4 changes") for line in lines)
    assert "  oracle/policy.toml" in lines
    assert state(worked) == before


def test_a_repository_without_a_past_says_so(legacy: Host) -> None:
    assert "shares: HEAD has no earlier change to try the choice on" in table(legacy, "--dry-run")


def test_a_shallow_clone_says_so(worked: Host) -> None:
    worked.git("branch", "shallow-tip")
    other = worked.clone("shallow", "--depth", "3", "--branch", "legacy")
    lines = table(other, "--dry-run")
    assert "of the last 2 changes on HEAD's main line the path rules would have let through:" in lines
    assert any("git fetch --unshallow" in line for line in lines)


def test_a_history_that_cannot_be_read_does_not_stop_the_bootstrap(worked: Host) -> None:
    tree = worked.id("HEAD~2^{tree}")
    worked.path(f".git/objects/{tree[:2]}/{tree[2:]}").unlink()
    ask = init_split.Ask("repo", ("src/",), (), "parsekit.api")
    said = init_split.run(str(worked.root), ask)
    assert said[0].startswith("shares: the history could not be read: ")
    assert worked.git("diff", "--cached", "--name-only", "--", "oracle/LOCK") == "oracle/LOCK"


def test_five_hundred_changes_and_four_choices_take_well_under_two_seconds(legacy: Host) -> None:
    commits = [b"reset refs/heads/long\nfrom refs/heads/legacy\n\n"]
    for n in range(600):
        body = b"".join(b"M 100644 inline %s/module_%d.py\ndata 1\n%d\n" % (folder, (n * k) % 97, n % 10)
                        for folder, k in ((b"src", 7), (b"src/deep/er", 11), (b"tests/unit", 13), (b"docs/pages", 17)))  # fmt: skip
        commits.append(b"commit refs/heads/long\ncommitter A <a@example.org> %d +0000\ndata 1\nx\n%s\n" % (1_700_000_000 + n, body))
    legacy.git("fast-import", "--quiet", stdin=b"".join(commits))
    legacy.git("checkout", "--quiet", "long")
    started = time.perf_counter()
    history = checkout.history(str(legacy.repo), share.LAST)
    tracked = [e.path for e in checkout.index(str(legacy.repo))]
    rules = replace(RULES, production=Production(roots=("src/",), also=("tests/unit/",)))
    shares = [share.of(history, rules, choice) for choice in share.choices(tracked, rules)]
    took = time.perf_counter() - started
    assert (len(history), len(shares)) == (500, 4)
    assert [s.code for s in shares] == [500] * 4
    assert took < 1.5, took
