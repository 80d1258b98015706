"""Histories that hide what lands: merges, stale branches, conflicts, and odd ranges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.host import FAR, FROZEN, PROPERTIES, TEST, policy

from .attempt import Attempt
from .edits import BETTER, CUTTING, better, propose

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.host import Host

    from .edits import Builder, Change

PROPERTY = "oracle/properties/roundtrip.py"
FLAKY = "src/tests/test_flaky.py"
FLAKY_TEXT = '''"""A test that needs a quiet machine."""

import time


def test_a_short_nap_is_short() -> None:
    start = time.monotonic()
    time.sleep(0.001)
    assert time.monotonic() - start < 0.002, "the machine was busy"
'''
WEAK = "def prop_roundtrip_under_cap(api):\n    return api.parse(b'', 1)['ok']\n"
STRICTER = (
    PROPERTIES
    + """

@given(data=st.binary(max_size=8))
def prop_counts_what_it_wrote(api, data):
    return api.parse(data, 8)["written"] == len(data)
"""
)
#: Main's property before it was tightened: without what sees `CUTTING`.
LOOSE = PROPERTIES.partition("\n\n@given(data=st.binary(min_size=1")[0]


def stale_property(host: Host) -> Attempt:
    """Main tightened a property after the branch point; the patch holds only what the older one asked for."""
    host.people("a loose property", {PROPERTY: LOOSE})
    propose(host, lambda h: h.write("src/parsekit/api.py", CUTTING))
    host.checkout("main")
    host.people("tighten it", {PROPERTY: PROPERTIES})
    return Attempt()


def tampered_merge_base(host: Host) -> Attempt:
    """A weakened property landed on main and was taken back; the branch still carries it, LOCK and all."""
    tampered = host.people("weaken it", {PROPERTY: WEAK})
    propose(host, lambda h: h.write("src/parsekit/api.py", CUTTING))
    host.checkout("main")
    host.people("take it back", {PROPERTY: PROPERTIES})
    assert host.git("merge-base", "main", "agent") == tampered
    return Attempt()


def crisscross(*, adds_file: bool) -> Builder:
    """The branch merges main with `-s ours`, main merges the commit before: landing rolls the oracle back."""

    def build(host: Host) -> Attempt:
        propose(host, better)
        before = host.id("agent")
        host.checkout("main")
        name = "oracle/properties/counts.py" if adds_file else PROPERTY
        host.people("a stricter property", {name: STRICTER})
        tightened = host.id("main")
        host.merge(before)
        host.checkout("agent")
        host.merge("--strategy=ours", tightened)
        assert len(host.git("merge-base", "--all", "main", "agent").splitlines()) == 2
        landed = host.git("merge-tree", "--write-tree", "main", "agent")
        assert "prop_counts_what_it_wrote" not in host.git("ls-tree", "-r", landed, "oracle/properties/counts.py")
        assert host.id(f"{landed}:oracle") != host.id("main:oracle"), "the roll-back no longer lands"
        return Attempt()

    return build


def evil_merge(host: Host) -> Attempt:
    """The oracle is edited inside a merge commit, which `git log --name-only` does not show."""
    propose(host, better)
    host.checkout("main")
    host.write("src/parsekit/legacy.py", "OLD = False\n")
    host.commit("main goes on")
    host.checkout("agent")
    host.tick += 1
    host.git("merge", "--quiet", "--no-commit", "--no-ff", "main")
    host.write(PROPERTY, WEAK)
    host.lock()
    host.commit("merge main")
    assert PROPERTY not in host.git("log", "--format=", "--name-only", "main..agent")
    return Attempt()


def touched_and_restored(*, ban: bool = False, more: bool = True) -> Builder:
    """One commit edits the oracle, the next takes it back; with `more`, production changes too."""

    def build(host: Host) -> Attempt:
        if ban:
            host.people("be strict", {"oracle/policy.toml": policy(history="ban")})
        changes: list[Change] = [better] if more else []
        propose(host, *changes, lambda h: h.write(PROPERTY, WEAK))
        host.write(PROPERTY, PROPERTIES)
        host.commit("restore it")
        return Attempt()

    return build


def frozen_after_the_branch_point(host: Host) -> Attempt:
    """Main adds a test and freezes it; the older branch, with the older manifest, adds that path."""
    propose(host, lambda h: h.write(FLAKY, "def test_mine() -> None:\n    assert True\n"))
    host.checkout("main")
    host.write(FLAKY, FLAKY_TEXT)
    host.commit("a test")
    host.freeze("nap", FLAKY, "test_a_short_nap_is_short")
    host.people("freeze it")
    host.checkout("agent")
    return Attempt()


def flaky_on_main(host: Host) -> None:
    """Main has a test that nobody has frozen yet."""
    host.write(FLAKY, FLAKY_TEXT)
    host.commit("a test")


def edit_of_what_main_froze(host: Host) -> Attempt:
    """The branch edits a test, main moves it into the oracle: a merge puts the edit into the oracle."""
    flaky_on_main(host)
    propose(host, better, lambda h: h.replace(FLAKY, "< 0.002", "< 9.999"))
    host.checkout("main")
    host.freeze("nap", FLAKY, "test_a_short_nap_is_short")
    host.people("freeze it")
    landed = host.git("merge-tree", "--write-tree", "main", "agent")
    assert "< 9.999" in host.git("cat-file", "blob", f"{landed}:oracle/frozen/nap/test_flaky.py")
    return Attempt()


def edit_of_what_joined_the_gate(host: Host) -> Attempt:
    """The branch edits a file, main moves it into the gate: a merge puts the edit into the gate."""
    host.write("src/parsekit/ci.py", "".join(f"STEP_{n} = {n}\n" for n in range(20)))
    host.commit("a helper")
    propose(host, better, lambda h: h.replace("src/parsekit/ci.py", "STEP_9 = 9", "STEP_9 = 0"))
    host.checkout("main")
    host.write(".github/ci.py", host.path("src/parsekit/ci.py").read_bytes())
    host.remove("src/parsekit/ci.py")
    host.commit("it is part of the gate")
    landed = host.git("merge-tree", "--write-tree", "main", "agent")
    assert "STEP_9 = 0" in host.git("cat-file", "blob", f"{landed}:.github/ci.py")
    return Attempt()


def test_in_a_moved_folder(host: Host) -> Attempt:
    """The branch adds a test; main moves all of its folder into the oracle, so that git would move the test too."""
    propose(host, lambda h: h.write("src/tests/test_new.py", "def test_new() -> None:\n    assert True\n"))
    host.checkout("main")
    host.path("oracle/frozen/all").mkdir()
    host.path("src/tests").rename(host.path("oracle/frozen/all/tests"))
    host.people("freeze them all")
    return Attempt()


def conflict(*changes: Change) -> Builder:
    """Branch and main edit the same line of production code; the branch makes more changes besides."""

    def build(host: Host) -> Attempt:
        propose(host, lambda h: h.replace("src/parsekit/api.py", "a parser with a bound", "a branch's"), *changes)
        host.checkout("main")
        host.replace("src/parsekit/api.py", "a parser with a bound", "main's")
        host.commit("main goes on")
        return Attempt()

    return build


def conflict_inside_the_oracle(host: Host) -> Attempt:
    """Branch and main edit the same line of a property."""
    propose(host, better, lambda h: h.write(PROPERTY, WEAK))
    host.checkout("main")
    host.people("reword it", {PROPERTY: PROPERTIES.replace("max_size=48", "max_size=40")})
    return Attempt()


def conflict_made_clean_by_union(host: Host) -> Attempt:
    """Attributes that no commit holds tell git to settle every conflict by keeping both sides."""
    attempt = conflict()(host)
    host.write(".gitattributes", "* merge=union\n")
    host.write(".git/info/attributes", "* merge=union\n")
    host.git("merge-tree", "--write-tree", "main", "agent")  # fails unless the attributes steer it
    return attempt


def unrelated(host: Host) -> Attempt:
    """The branch shares no commit with main."""
    host.git("checkout", "--quiet", "--orphan", "agent", "main")
    better(host)
    host.commit("out of nowhere")
    return Attempt()


def nothing_new(host: Host) -> Attempt:
    """Base and head are one commit."""
    host.branch("agent")
    return Attempt()


def same_tree(host: Host) -> Attempt:
    """Head is a commit more, with the tree of base."""
    host.branch("agent")
    host.commit("nothing")
    return Attempt()


def swapped(host: Host) -> Attempt:
    """Base and head are given the wrong way round."""
    propose(host, better)
    return Attempt(base="agent", head="main")


def not_adopted(host: Host) -> Attempt:
    """Base is from before the fence; the patch brings no oracle either."""
    propose(host, better, at="legacy")
    return Attempt(base="legacy")


def adoption_as_a_patch(host: Host) -> Attempt:
    """Base is from before the fence, and the patch brings an oracle of its own."""
    host.branch("agent")
    return Attempt(base="legacy", head="agent")


def newer_main_than_base(host: Host) -> Attempt:
    """An honest branch merged a main that is newer than the base it is judged against."""
    old = host.id("main")
    propose(host, better)
    host.checkout("main")
    host.people("a stricter property", {PROPERTY: STRICTER})
    host.checkout("agent")
    host.merge("main")
    return Attempt(base=old, opts=("--onto", "main"))


def old_base(host: Host) -> Attempt:
    """Base is an ancestor of the branch it should be the tip of."""
    old = host.id("main")
    propose(host, better)
    host.checkout("main")
    host.people("a stricter property", {PROPERTY: STRICTER})
    return Attempt(base=old, opts=("--onto", "main"))


def broken_oracle(change: Change, *, lock: bool = True) -> Builder:
    """Main's own oracle is broken by a person's commit; the patch is honest."""

    def build(host: Host) -> Attempt:
        change(host)
        if lock:
            host.lock()
        host.commit("a person's mistake")
        return propose(host, better)

    return build


def frozen_copy(name: str, edit: Callable[[str], str]) -> Builder:
    """The frozen case comes back in a file of another name, or pasted into one that is there."""

    def build(host: Host) -> Attempt:
        text = edit(host.path(FROZEN).read_text())
        old = host.path(name).read_text() if host.path(name).exists() else ""
        return propose(host, lambda h: h.write(name, old + text))

    return build


def expired_freeze(host: Host) -> Attempt:
    """A freeze on main has run out; the patch has nothing to do with it."""
    flaky_on_main(host)
    host.freeze("nap", FLAKY, "test_a_short_nap_is_short", expires=1_600_000_000)
    host.people("freeze it")
    return propose(host, lambda h: h.write("src/parsekit/api.py", BETTER))


def retired_name(host: Host) -> Attempt:
    """Main froze one test of a file that stays; the branch defines that test again, with another body."""
    host.people("freeze one test", {"oracle/frozen/manifest.json": json.dumps({"cases": [{
        "expires_unix": FAR, "id": "comes_back", "owner": "protocols", "reason": "now and then", "repro_cmd": "pytest",
        "retired_names": ["test_a_record_comes_back"], "retired_src_path": "src/tests/test_parse.py",
    }]}), "src/tests/test_parse.py": TEST.replace("test_a_record_comes_back", "test_a_record_goes_there")})  # fmt: skip
    again = "\n\ndef test_a_record_comes_back() -> None:\n    assert True\n"
    return propose(host, better, lambda h: h.write("src/tests/test_parse.py", TEST.replace("comes_back", "x") + again))
