"""Honest patches, one row each: all must be accepted, with all the evidence run."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING

from tests.host import API, FIXTURES, PROPERTIES, TEXT, build, policy

from . import histories, jobs
from .attempt import Attempt, Row
from .edits import BETTER, appended, better, moved, patch, propose, removed, wrote
from .histories import FLAKY, PROPERTY, STRICTER

if TYPE_CHECKING:
    from tests.host import Host

    from .edits import Builder, Change

OWN_TEST = "\n\ndef test_one_field() -> None:\n    assert api.parse(b'a', 1)['value'] == [b'a']\n"
FLAT = {"src/parsekit/__init__.py": "pkg/__init__.py", "src/parsekit/api.py": "pkg/api.py",
        "src/parsekit/_text.py": "pkg/_text.py"}  # fmt: skip


def on_main(*changes: Change, then: Builder) -> Builder:
    """A person changes main first; the patch comes after."""

    def build(host: Host) -> Attempt:
        for change in changes:
            change(host)
        host.people("a person's change")
        return then(host)

    return build


def merged_main_after_its_oracle_changed(host: Host) -> Attempt:
    """The branch merges main, whose oracle is stricter by then."""
    propose(host, better)
    host.checkout("main")
    host.people("a stricter property", {PROPERTY: STRICTER})
    host.checkout("agent")
    host.merge("main")
    return Attempt()


def crisscross(host: Host) -> Attempt:
    """Branch and main merge each other's earlier commits, each keeping what the other did."""
    propose(host, better)
    mine = host.id()
    host.checkout("main")
    theirs = host.people("a stricter property", {PROPERTY: STRICTER})
    host.merge(mine)
    host.checkout("agent")
    host.merge(theirs)
    host.write("src/parsekit/legacy.py", "OLD = False\n")
    host.commit("more work")
    assert len(host.git("merge-base", "--all", "main", "agent").splitlines()) == 2
    return Attempt()


def edited_what_main_froze_then_took_mains(host: Host) -> Attempt:
    """The branch edits a test; main freezes it; the branch merges main and keeps main's oracle."""
    histories.edit_of_what_main_froze(host)
    host.checkout("agent")
    host.tick += 1
    host.git("merge", "--quiet", "--no-commit", "--no-ff", "main")
    host.git("checkout", "main", "--", "oracle")
    host.commit("merge main, with its oracle")
    assert host.id("agent:oracle") == host.id("main:oracle")
    assert FLAKY not in host.git("ls-tree", "-r", "--name-only", "agent")
    return Attempt()


def two_oracle_branches(host: Host) -> Attempt:
    """Two people add evidence side by side; both are merged, then comes a patch."""
    host.branch("one")
    host.fixture(b" One\n", b"one\n")
    host.people("a fixture")
    host.branch("two")
    host.people("a property", {"oracle/properties/counts.py": STRICTER})
    host.checkout("main")
    host.merge("one")
    host.tick += 1
    host.git("merge", "--quiet", "--no-commit", "--no-ff", "two")
    merged = host.path("oracle/LOCK").read_bytes()
    host.lock()
    assert host.path("oracle/LOCK").read_bytes() == merged, "git merged LOCK into something else"
    host.commit("merge two")
    return propose(host, better)


def flat_layout(host: Host) -> Attempt:
    """The package lies at the top: `pkg/`, imported from the root."""
    for old, new in FLAT.items():
        moved(old, new)(host)
    host.people("a flat layout", {
        "oracle/policy.toml": policy(root="pkg/", imports="./", api="pkg.api"),
    })  # fmt: skip
    return propose(host, lambda h: h.write("pkg/api.py", BETTER))


def dirty_work_tree(host: Host) -> Attempt:
    """Nothing in the work tree or the index is what was committed."""
    propose(host, better)
    host.write(PROPERTY, "raise SystemExit(3)\n")
    host.remove("oracle/LOCK")
    host.write("src/parsekit/api.py", "raise SystemExit(4)\n")
    host.git("add", PROPERTY, "src/parsekit/api.py")
    host.write("scratch.py", "print('hello')\n")
    return Attempt()


def stale(host: Host) -> Attempt:
    """Main has gone on, in other files, code and oracle."""
    propose(host, better)
    host.checkout("main")
    host.write("src/parsekit/legacy.py", "OLD = False\n")
    host.fixture(b"Later", b"later")
    host.people("main goes on")
    host.checkout("agent")
    return Attempt()


def rebased(host: Host) -> Attempt:
    """The branch was rebased on a newer main, and is judged against its tip."""
    stale(host)
    host.git("rebase", "--quiet", "main")
    return Attempt(opts=("--onto", "main"))


def many_commits(host: Host) -> Attempt:
    """Twenty commits, some of which take others back."""
    host.branch("agent")
    for number in range(20):
        host.write(f"src/parsekit/step{number % 7}.py", f"STEP = {number}\n")
        host.commit(f"step {number}")
    return Attempt()


def by_ids(host: Host) -> Attempt:
    """Both revisions are given as full ids."""
    propose(host, better)
    return Attempt(base=host.id("main"), head=host.id("agent"))


def octopus(host: Host) -> Attempt:
    """A merge with three parents."""
    propose(host, better)
    for name in ("one", "two"):
        host.branch(name)
        host.write(f"src/parsekit/{name}.py", "X = 1\n")
        host.commit(name)
    host.checkout("agent")
    host.merge("one", "two")
    return Attempt()


def annotated_tag(host: Host) -> Attempt:
    """Head is a tag object."""
    propose(host, better)
    host.git("tag", "--annotate", "--message", "a release", "v1", "agent")
    return Attempt(head="v1")


def cloned(name: str, *opts: str) -> Builder:
    """The same patch, in a clone."""

    def build(host: Host) -> Attempt:
        propose(host, better)
        return Attempt(base="origin/main", head="origin/agent", host=host.clone(name, *opts))

    return build


def with_sha256(host: Host) -> Attempt:
    """A host of its own whose ids have 64 digits."""
    root = host.root / "sha256"
    root.mkdir()
    other = build(root, "--object-format=sha256")
    propose(other, better)
    return Attempt(host=other)


def in_a_bare_repository(host: Host) -> Attempt:
    """The repository has no work tree, as in a server's hook."""
    propose(host, better)
    return Attempt(host=host.clone("bare", "--bare"))


def owned_by_somebody_else(host: Host) -> Attempt:
    """The repository belongs to another user, as in a container (only where the tests may give files away)."""
    propose(host, better)
    if os.geteuid() == 0:
        for file in (host.repo, *host.repo.rglob("*")):
            os.chown(file, 12345, 12345, follow_symlinks=False)
    return Attempt()


def in_a_linked_work_tree(host: Host) -> Attempt:
    """The repository is a second work tree of another."""
    propose(host, better)
    host.checkout("main")
    other = host.clone("linked")
    other.remove(".")
    host.git("worktree", "add", "--quiet", other.repo, "agent")
    return Attempt(host=other)


ALSO = wrote("oracle/policy.toml", policy(also=["tests/", "CHANGELOG.md"]))

NAMES = (
    Row("accents", "adds non-ASCII names", patch(better, wrote("src/parsekit/données.txt", "été\n"),
        wrote("src/parsekit/größe_测试.py", "X = 1\n"), wrote("src/tests/test_ナ.py", OWN_TEST))),
    Row("nfd", "edits a file whose name base has in the other Unicode form",
        on_main(wrote(unicodedata.normalize("NFD", "src/parsekit/données.txt"), "été\n"),
                then=patch(appended(unicodedata.normalize("NFD", "src/parsekit/données.txt"), "hiver\n")))),
    Row("blanks", "adds a name with blanks", patch(better, wrote("src/parsekit/release notes.txt", "none\n"))),
    Row("odd-name-kept", "edits a file whose odd name base has",
        on_main(wrote("src/parsekit/what?.txt", "a\n"), then=patch(appended("src/parsekit/what?.txt", "b\n")))),
    Row("like-git", "adds names that look like a repository's and are none", patch(
        better, wrote("src/.gitignore", "*.o\n"), wrote("src/parsekit/objects/one.py", "X = 1\n"),
        wrote("src/parsekit/refs/two.py", "X = 1\n"), wrote("src/parsekit/digit.py", "X = 1\n"))),
    Row("like-oracle", "adds names that look like the oracle's and are none", patch(
        better, wrote("src/oracle/LOCK", "none\n"), wrote("src/parsekit/oracle.py", "X = 1\n"),
        wrote("src/fence_tasks.py", "X = 1\n"), wrote("src/Jenkinsfile", "none\n"))),
    Row("tasks", "adds src/app/tasks.py", patch(better, wrote("src/app/tasks.py", "def task() -> None: ...\n")),
        notes="reserved-note"),
)  # fmt: skip

FILES = (
    Row("edit", "edits production code", patch(better)),
    Row("deletion", "deletes a file", patch(removed("src/parsekit/legacy.py"))),
    Row("rename", "renames a module and its import", patch(moved("src/parsekit/_text.py", "src/parsekit/_line.py"),
        wrote("src/parsekit/api.py", API.replace("._text", "._line")))),
    Row("case", "renames a file to another case", patch(
        moved("src/parsekit/legacy.py", "src/parsekit/Legacy.py"))),
    Row("empty", "adds an empty file", patch(better, wrote("src/parsekit/py.typed", ""))),
    Row("no-newline", "adds a file that does not end in a newline", patch(wrote("src/parsekit/version.txt", "0.2"))),
    Row("executable", "edits an executable file", patch(appended("src/bin/parsekit", "# end\n"))),
    Row("mode", "makes a file executable", patch(jobs.executable("src/parsekit/legacy.py"))),
    Row("binary", "adds a binary file", patch(better, wrote("src/parsekit/table.bin", bytes(range(256)) * 8))),
    Row("large", "adds a large file", patch(better, wrote("src/parsekit/words.txt", "word\n" * 400_000))),
    Row("folder-to-file", "turns a folder into a file",
        on_main(wrote("src/data/one.txt", "1\n"), then=patch(removed("src/data"), wrote("src/data", "1\n")))),
    Row("link", "edits a file beside a link that base has",
        on_main(lambda h: h.link("src/latest", "parsekit"), then=patch(better))),
    Row("link-removed", "removes a link that base has",
        on_main(lambda h: h.link("src/latest", "parsekit"), then=patch(removed("src/latest")))),
    Row("also", "changes code, its own tests and the changelog",
        on_main(ALSO, wrote("tests/test_api.py", "def test_nothing() -> None: ...\n"), then=patch(
            better, appended("tests/test_api.py", "\n# more\n"), wrote("tests/conftest.py", "import pytest\n"),
            appended("src/tests/test_parse.py", OWN_TEST), appended("CHANGELOG.md", "\n- fields\n")))),
    Row("text", "rewrites a helper without changing what it does",
        patch(wrote("src/parsekit/_text.py", TEXT.replace('line.strip(b" \\t\\r").lower()',
                                                          'line.lower().strip(b"\\r\\t ")')))),
    Row("boilerplate", "copies a short oracle file's content", on_main(
        wrote("oracle/NOTES.md", "# none\n"), then=patch(wrote("src/parsekit/none.py", "# none\n")))),
)  # fmt: skip

HISTORIES = (
    Row("merged-main", "merged main after main changed the oracle", merged_main_after_its_oracle_changed),
    Row("criss-cross", "merged main crosswise", crisscross),
    Row("took-mains", "edited a test that main froze, merged main and took main's version",
        edited_what_main_froze_then_took_mains),
    Row("two-oracles", "comes after two branches of evidence were merged", two_oracle_branches),
    Row("stale", "is behind main without a conflict", stale),
    Row("rebased", "was rebased on main", rebased),
    Row("octopus", "merges two branches of its own at once", octopus),
    Row("tag", "is named by an annotated tag", annotated_tag),
    Row("many-commits", "has twenty commits", many_commits),
    Row("new-evidence", "comes after a person added evidence",
        on_main(lambda h: h.fixture(b"X\n", b"x\n"), wrote("oracle/properties/more.py", STRICTER), then=patch(better))),
    Row("touched-main", "touches nothing that a person's property names",
        on_main(wrote(PROPERTY, PROPERTIES + "\n# reviewed\n"), then=patch(removed("src/parsekit/legacy.py")))),
)  # fmt: skip

PLACES = (
    Row("autocrlf", "is judged in a clone with other line ends", jobs.autocrlf),
    Row("autocrlf-gate", "is judged by a gate with other line ends", jobs.autocrlf_gate),
    Row("bytecode", "is judged beside bytecode in the oracle's work tree", jobs.bytecode_in_the_oracle),
    Row("sparse", "is judged in a sparse checkout", jobs.sparse),
    Row("dirty", "is judged in a dirty work tree", dirty_work_tree),
    Row("hooks", "is judged in a repository with hooks", jobs.hooks(better)),
    Row("configured", "is judged in a repository with odd settings", jobs.configured(
        patch(better), diff__noprefix="true", diff__renames="copies", core__quotePath="false", merge__renames="false",
        status__showUntrackedFiles="all", color__ui="always", core__abbrev="4", log__showSignature="true")),
    Row("flat", "belongs to a flat layout", flat_layout),
    Row("ids", "is named by full ids", by_ids),
    Row("bare", "is judged in a bare repository", in_a_bare_repository),
    Row("shared", "is judged in a clone that borrows its objects", cloned("shared", "--shared")),
    Row("odd-folder", "is judged in a folder of an odd name", cloned("it's a \"nä\" me")),
    Row("sha256", "is judged in a repository of SHA-256 ids", with_sha256),
    Row("foreign", "is judged in a repository of another user", owned_by_somebody_else),
    Row("linked", "is judged in a linked work tree", in_a_linked_work_tree),
)  # fmt: skip

ROWS = (*NAMES, *FILES, *HISTORIES, *PLACES)
#: How many fixtures every host has at least.
FIXTURE_COUNT = len(FIXTURES)
