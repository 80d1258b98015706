"""The store: what git said, byte for byte, whatever the judged repository's configuration, refs or disk hold."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fence_tasks import answers, git, trees
from fence_tasks.model import ABSENT, Change, Entry, RefusedError, bytes_of, text_of
from tests.host import Host, policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
GONE = "1" * 40


def fresh(root: Path, *options: str) -> Host:
    """An empty repository in `root/repo`."""
    root.mkdir(exist_ok=True)
    host = Host(root, root)
    host.repo.mkdir()
    host.git("init", "--quiet", "--template=", "--initial-branch=main", *options)
    return host


@pytest.fixture
def repo(tmp_path: Path) -> Host:
    """A repository of one's own."""
    return fresh(tmp_path / "here")


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """Makes stores and closes them."""
    with ExitStack() as stack:
        yield Stores(tmp_path, stack)


class Stores:
    """Opens each repository's store in a private GIT_DIR of its own."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root, self.stack, self.count = root, stack, 0

    def __call__(self, folder: Path) -> git.Store:
        """The store of the repository that `folder` is in."""
        self.count += 1
        return self.stack.enter_context(git.Store(git.locate(str(folder)), self.root / f"private-{self.count}"))


def rules(error: pytest.ExceptionInfo[RefusedError]) -> list[str]:
    """The rules of a refusal."""
    return [f.rule for f in error.value.findings]


def loosen(host: Host) -> None:
    """Turn packs into loose objects, so that one of them can be taken away."""
    for pack in list(host.path(".git/objects/pack").glob("*.pack")):
        moved = host.root / pack.name
        pack.rename(moved)
        host.git("unpack-objects", "-q", stdin=moved.read_bytes())


def lose(host: Host, oid: str) -> None:
    """Take a loose object away."""
    host.path(f".git/objects/{oid[:2]}/{oid[2:]}").unlink()


def written(host: Host, files: Mapping[str, tuple[str, str]]) -> str:
    """The tree of path → (mode, content or commit id), written without a work tree."""
    host.git("read-tree", "--empty")
    blobs = {c: host.blob(c) for c in {c for mode, c in files.values() if mode != "160000"}}
    lines = [f"{mode} {blobs.get(c, c)}\t".encode() + bytes_of(path) + b"\0" for path, (mode, c) in files.items()]
    host.git("update-index", "-z", "--index-info", stdin=b"".join(lines))
    return host.git("write-tree")


def as_git_says(host: Host, old: str, new: str) -> list[Change]:
    """What `git diff-tree` says of two trees, without folders."""
    raw = host.git_bytes("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
    tokens = iter(raw.split(b"\0")[:-1])
    answers = []
    for token in tokens:
        old_mode, new_mode, old_oid, new_oid, _ = token.decode().removeprefix(":").split(" ")
        answers.append(Change(text_of(next(tokens)), old_mode, new_mode, old_oid, new_oid))
    return answers


# What differs between two trees, and what a tree holds

NAME = st.sampled_from(["a", "b", "a b", "ab", "a.b", "a-", "é", "\udce9", "x\ny", "\n", 'q"', "t\t", ":", " ", "-x", "\\", "z\r",
                        "\x01", "oracle", "..."])  # fmt: skip
LEAF = st.one_of(
    st.tuples(st.sampled_from(["100644", "100755", "120000"]), st.sampled_from(["one", "two", ""])),
    st.tuples(st.just("160000"), st.sampled_from(["1" * 40, "2" * 40])),
)
FILES = st.recursive(LEAF, lambda inner: st.dictionaries(NAME, inner, min_size=1, max_size=4), max_leaves=8)


def flat(value: object, path: str = "") -> dict[str, tuple[str, str]]:
    """Nested folders as paths."""
    if isinstance(value, dict):
        below = (flat(inner, f"{path}/{name}" if path else name) for name, inner in value.items())
        return {p: leaf for part in below for p, leaf in part.items()}
    return {path or "a": value} if isinstance(value, tuple) else {}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FILES.map(flat), min_size=2, max_size=2))
def test_the_difference_of_any_two_trees_is_what_git_says(
    tmp_path_factory: pytest.TempPathFactory, both: list[dict[str, tuple[str, str]]]
) -> None:
    root = tmp_path_factory.getbasetemp() / f"any-trees-{os.getpid()}"
    host = Host(root, root) if root.exists() else fresh(root)
    old, new = (written(host, files) for files in both)
    with git.Store(git.locate(str(host.repo)), root / "private") as store:
        found = store.difference(old, new)
        assert found.changes == as_git_says(host, old, new)
        assert found.faults == []
        assert store.difference(new, new).changes == []
        assert store.listing(new) == [Entry(c.new_mode, c.new_oid, c.path) for c in as_git_says(host, EMPTY_TREE, new)]


def test_several_pairs_may_be_asked_for_one_after_the_other(repo: Host, stores: Stores) -> None:
    one = written(repo, {"a": ("100644", "1"), "d/b": ("100644", "1")})
    two = written(repo, {"a": ("100644", "2"), "d/b": ("100644", "1"), "d/n\nn": ("100644", "1")})
    store = stores(repo.repo)
    answers = [[c.path for c in store.difference(*pair).changes] for pair in
               ((one, two), (one, one), (two, one), (EMPTY_TREE, one), (two, two), (one, EMPTY_TREE))]  # fmt: skip
    assert answers == [["a", "d/n\nn"], [], ["a", "d/n\nn"], ["a", "d/b"], [], ["a", "d/b"]]


def test_a_file_that_becomes_a_folder_is_a_deletion_and_an_addition(repo: Host, stores: Stores) -> None:
    file, folder = written(repo, {"x": ("100644", "1")}), written(repo, {"x/y": ("100755", "1")})
    there = [(c.path, c.old_mode, c.new_mode) for c in stores(repo.repo).difference(file, folder).changes]
    assert there == [("x", "100644", ABSENT), ("x/y", ABSENT, "100755")]


def test_only_changed_folders_are_listed_and_the_root_always(repo: Host, stores: Stores) -> None:
    old = written(repo, {"a/x": ("100644", "1"), "b/c/y": ("100644", "1"), "b/z": ("100644", "1")})
    new = written(repo, {"a/x": ("100644", "1"), "b/c/y": ("100644", "2"), "b/z": ("100644", "1")})
    found = stores(repo.repo).difference(old, new).folders
    assert {folder: [e.path for e in entries] for folder, entries in found.items()} == {
        "": ["a", "b"], "b": ["b/c", "b/z"], "b/c": ["b/c/y"],
    }  # fmt: skip


def test_a_listing_below_a_folder_has_full_paths_and_an_absent_folder_is_empty(repo: Host, stores: Stores) -> None:
    tree = written(repo, {"o/é": ("100644", "1"), "o/p/q": ("100755", "2"), "op/x": ("100644", "1"), "f": ("100644", "1")})
    store = stores(repo.repo)
    assert [(e.mode, e.path) for e in store.listing(tree, "o")] == [("100755", "o/p/q"), ("100644", "o/é")]
    assert store.listing(tree, "oracle") == []
    assert store.listing(EMPTY_TREE) == []


def test_a_lookup_answers_for_every_path_and_is_empty_where_there_is_none(repo: Host, stores: Stores) -> None:
    tree = written(repo, {"a b": ("100644", "1"), "d/\udce9": ("100644", "2"), "d/x missing": ("100644", "1")})
    blobs = repo.blob("1"), repo.blob("2")
    wanted = {"a b": blobs[0], "d/\udce9": blobs[1], "d/x missing": blobs[0], "nothing": "", "d/x": "", "a\nb": "", "d/": ""}
    found = stores(repo.repo).lookup(tree, list(wanted))
    assert {k: v for k, v in found.items() if k != "d/"} == {k: v for k, v in wanted.items() if k != "d/"}


MALFORMED = {
    "twice": ([("100644", b"a"), ("100644", b"a")], "a", "twice"),
    "twice, apart": ([("100644", b"a"), ("100644", b"b"), ("100644", b"a")], "a", "twice"),
    "unsorted": ([("100644", b"b"), ("100644", b"a")], "a", "order"),
    "a slash": ([("100644", b"a/b")], "a/b", "slash"),
    "no name": ([("100644", b"")], "", "no name"),
    "a padded mode": ([("0100644", b"a")], "a", "padded"),
}


@pytest.mark.parametrize(("entries", "path", "says"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_tree_is_a_fault_with_its_place(
    repo: Host, stores: Stores, entries: list[tuple[str, bytes]], path: str, says: str
) -> None:
    blob = repo.blob("x")
    tree = repo.raw_tree([(mode, name, blob) for mode, name in entries])
    outer = repo.raw_tree([("40000", b"d", tree)])
    found = stores(repo.repo).difference(EMPTY_TREE, outer)
    assert [(where, says in why) for where, why in found.faults] == [(f"d/{path}", True)]
    assert len(found.changes) == len(entries), "no entry is lost"


def test_a_malformed_tree_of_base_is_no_fault_of_the_patch(repo: Host, stores: Stores) -> None:
    blob = repo.blob("x")
    twins = repo.raw_tree([("100644", b"a", blob), ("100644", b"a", blob)])
    old = repo.raw_tree([("40000", b"d", twins), ("100644", b"f", blob)])
    new = repo.raw_tree([("40000", b"d", twins), ("100755", b"f", blob)])
    assert stores(repo.repo).difference(old, new).faults == []


def test_a_blob_in_a_folders_place_is_a_fault(repo: Host, stores: Stores) -> None:
    tree = repo.raw_tree([("40000", b"d", repo.blob("x"))])
    assert stores(repo.repo).difference(EMPTY_TREE, tree).faults == [("d", "the folder's object is not a tree")]


def test_a_tree_in_a_files_place_is_known_as_no_blob(repo: Host, stores: Stores) -> None:
    blob = repo.blob("x")
    assert stores(repo.repo).not_blobs([blob, EMPTY_TREE, blob]) == {EMPTY_TREE}


@settings(deadline=None)
@given(st.binary(max_size=120))
def test_no_bytes_whatever_fail_to_be_parsed_as_a_tree(raw: bytes) -> None:
    entries, faults = trees.parse(raw, "d", 20)
    assert entries or faults or not raw
    assert sum(len(bytes_of(e.path)) for e in entries) <= len(raw) + 2 * len(entries)


# Objects that are not there are errors, never empty answers


def committed(host: Host) -> str:
    """A commit with an oracle, a folder of the kit's name, and loose objects."""
    for name in ("oracle/policy.toml", "oracle/properties/p.py", "fence_tasks/cli.py", "src/a.py"):
        host.write(name, f"content of {name}\n")
    oid = host.commit("all")
    loosen(host)
    return oid


@pytest.mark.parametrize("path", ["src/a.py", "oracle/policy.toml"])
def test_a_missing_file_is_an_error(repo: Host, stores: Stores, path: str) -> None:
    blob = repo.id(f"{committed(repo)}:{path}")
    lose(repo, blob)
    with pytest.raises(RefusedError) as error:
        list(stores(repo.repo).contents([blob]))
    assert rules(error) == ["object-missing"]


ASKED = {
    "a listing": lambda store, tree, _: store.listing(tree),
    "a difference": lambda store, tree, _: store.difference(EMPTY_TREE, tree).changes,
    "a listing below it": lambda store, tree, folder: store.listing(tree, folder),
    "a lookup in it": lambda store, tree, folder: store.lookup(tree, [f"{folder}/x"]),
}


@pytest.mark.parametrize("path", ["oracle", "oracle/properties", "fence_tasks"])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_missing_folder_is_an_error_of_every_question_about_it(
    repo: Host, stores: Stores, ask: Callable[[git.Store, str, str], object], path: str
) -> None:
    tree = repo.id(f"{committed(repo)}^{{tree}}")
    lose(repo, repo.id(f"{tree}:{path}"))
    with pytest.raises(RefusedError) as error:
        ask(stores(repo.repo), tree, path)
    assert rules(error) == ["object-missing"]


def test_a_missing_parent_is_an_error_of_the_history(repo: Host, stores: Stores) -> None:
    first = committed(repo)
    second, third = (repo.commit(f"more {n}") for n in range(2))
    lose(repo, second)
    with pytest.raises(RefusedError):
        stores(repo.repo).touching(first, third, ["oracle/"])
    with pytest.raises(RefusedError):
        stores(repo.repo).has_merges(first, third)
    with pytest.raises(RefusedError):
        stores(repo.repo).merge_bases(first, third)


def test_a_missing_file_is_an_error_of_the_merge_and_not_a_conflict(repo: Host, stores: Stores) -> None:
    base = committed(repo)
    repo.branch("other")
    repo.write("src/a.py", "theirs\n")
    theirs = repo.commit("theirs")
    repo.checkout("main")
    repo.write("src/a.py", "ours\n")
    ours = repo.commit("ours")
    loosen(repo)
    lose(repo, repo.id(f"{base}:src/a.py"))
    with pytest.raises(RefusedError):
        stores(repo.repo).merge(ours, theirs)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail what waits for ever."""

    def late(_number: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def overwritten(host: Host, oid: str, raw: bytes) -> None:
    """Put other bytes into a loose object's file, as whoever can write to the clone can."""
    file = host.path(f".git/objects/{oid[:2]}/{oid[2:]}")
    file.chmod(0o600)
    file.write_bytes(raw)


DAMAGED = {
    "rubbish": b"rubbish",
    "nothing": b"",
    "cut off": zlib.compress(b"blob 6\0hello\n")[:-6],
    "shorter than it says": zlib.compress(b"blob 2000\0hello\n"),
    "longer than it says": zlib.compress(b"blob 2\0hello\n"),
    "another content": zlib.compress(b"blob 6\0hEllo\n"),
    "another type": zlib.compress(b"tree 0\0"),
}


@pytest.mark.parametrize("raw", DAMAGED.values(), ids=DAMAGED)
def test_bytes_that_are_not_those_of_the_id_are_an_error(
    repo: Host, stores: Stores, raw: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "SILENCE", 0.5)
    blob = repo.blob("hello\n")
    overwritten(repo, blob, raw)
    with within(3), pytest.raises(RefusedError) as error:
        list(stores(repo.repo).contents([blob]))
    assert rules(error) == ["object-missing"]


def test_a_forged_policy_under_its_true_id_lets_nothing_through(host: Host) -> None:
    host.branch("agent")
    host.write("README.md", "# changed\n")
    host.commit("outside the roots")
    loosen(host)
    host.write("oracle/policy.toml", policy(also=["README.md"]))
    host.lock()
    for name in ("oracle/policy.toml", "oracle/LOCK"):
        raw = host.path(name).read_bytes()
        overwritten(host, host.id(f"main:{name}"), zlib.compress(b"blob %d\0%s" % (len(raw), raw)))
    result = host.fence("main", "agent")
    assert result.code != 0, str(result)


def test_after_an_error_no_later_question_gets_an_earlier_ones_answer(repo: Host, stores: Stores) -> None:
    blobs = [repo.blob(f"content {n}") for n in range(3)]
    store = stores(repo.repo)
    with pytest.raises(RefusedError):
        list(store.contents([GONE, blobs[0], blobs[1]]))
    assert [blob.data for blob in store.contents([blobs[2]])] == [b"content 2"]


def test_a_question_that_is_not_read_to_its_end_shifts_no_later_answer(repo: Host, stores: Stores) -> None:
    blobs = [repo.blob(f"content {n}") for n in range(3)]
    store = stores(repo.repo)
    assert next(iter(store.contents(blobs[:2]))).data == b"content 0"
    assert [blob.data for blob in store.contents([blobs[2]])] == [b"content 2"]


def test_many_and_large_objects_are_read_whole_and_in_order(repo: Host, stores: Stores) -> None:
    large = os.urandom(3 << 20)
    blobs = [repo.blob("x"), repo.blob(large), repo.blob("")]
    asked = blobs * 500
    found = list(stores(repo.repo).contents(asked[:3]))
    assert [b.data for b in found] == [b"x", large, b""]
    sizes = [b.size for b in stores(repo.repo).ask("info", asked)]
    assert sizes == [1, len(large), 0] * 500


def test_a_name_with_a_newline_is_never_asked_for(repo: Host, stores: Stores) -> None:
    with pytest.raises(RefusedError):
        list(stores(repo.repo).ask("info", [f"HEAD\ncontents {GONE}"]))


# Revisions


def revisions(host: Host) -> dict[str, str]:
    """A repository with every kind of ref; answers what each unambiguous name means."""
    first = host.commit("first")
    second = host.commit("second")
    host.git("branch", "feature/x", first)
    host.git("tag", "light", first)
    host.git("tag", "--annotate", "-m", "a tag", "v1", first)
    for ref in ("refs/heads/both", "refs/tags/both", "refs/remotes/origin/main", "refs/remotes/origin/both",
                "refs/tags/origin/both", "refs/heads/HEAD", f"refs/heads/{'a' * 40}", "refs/pull/7/head"):  # fmt: skip
        host.git("update-ref", ref, first)
    return {
        "main": second, "HEAD": second, "feature/x": first, "light": first, "v1": host.id("refs/tags/v1"),
        "refs/heads/main": second, "refs/tags/light": first, "refs/pull/7/head": first, "origin/main": first,
        "refs/heads/both": first, "refs/tags/both": first, "refs/heads/HEAD": first, first: first, "a" * 40: "a" * 40,
        "c" * 64: "c" * 64,
    }  # fmt: skip


REFUSED = {
    "revision-ambiguous": ("both", "origin/both"),
    "revision-unknown": ("maim", "heads/main", "refs/heads/maim", "refs/heads", "origin", "feature", "FETCH_HEAD", "a" * 39,
                         "0123456", "Main", "refs/heads/main/x", "main/", "a" * 41),
    "revision-form": ("main~1", "main~0", "main^", "main^{tree}", "main^0", "main:src", ":/first", ":src", "@", "@{0}",
                      "main@{0}", "main@{upstream}", "main..HEAD", "main...HEAD", "^main", "-h", "--help", "-rf", "a b",
                      "main\n", "\nmain", "main\0", "main*", "[m]ain", "ma?n", "ma\\in", "refs/heads/main~1", "\x7f"),
    "usage": ("",),
}  # fmt: skip


def test_a_name_means_exactly_one_ref_or_is_an_id(repo: Host) -> None:
    wanted = revisions(repo)
    assert git.resolve(git.locate(str(repo.repo)), wanted) == wanted


def test_every_other_form_is_refused_with_its_own_rule(repo: Host) -> None:
    revisions(repo)
    here = git.locate(str(repo.repo))
    for rule, names in REFUSED.items():
        for name in names:
            with pytest.raises(RefusedError) as error:
                git.resolve(here, [name])
            assert rules(error) == [rule], name


def test_a_repository_without_refs_knows_no_name(repo: Host) -> None:
    with pytest.raises(RefusedError) as error:
        git.resolve(git.locate(str(repo.repo)), ["HEAD"])
    assert rules(error) == ["revision-unknown"]


def test_a_commit_or_an_annotated_tag_has_a_tree_and_nothing_else_has(repo: Host, stores: Stores) -> None:
    first = repo.commit("first")
    repo.git("tag", "--annotate", "-m", "a tag", "v1")
    wanted = (first, repo.id("HEAD^{tree}"))
    assert stores(repo.repo).commit_and_tree(first) == wanted
    assert stores(repo.repo).commit_and_tree(repo.id("refs/tags/v1")) == wanted
    for other in (wanted[1], repo.blob("x"), GONE, "0" * 64, "main", "HEAD"):
        with pytest.raises(RefusedError) as error:
            stores(repo.repo).commit_and_tree(other)
        assert rules(error) == ["revision-unknown"], other


# Histories


def test_a_crisscross_has_two_merge_bases_and_strangers_none(repo: Host, stores: Stores) -> None:
    repo.commit("root")
    repo.branch("b")
    one = repo.commit("one")
    repo.checkout("main")
    two = repo.commit("two")
    left = repo.merge("b")
    repo.checkout("b")
    right = repo.merge(two)
    stranger = repo.commit_tree(EMPTY_TREE)
    store = stores(repo.repo)
    assert store.merge_bases(left, right) == tuple(sorted((one, two)))
    assert store.merge_bases(one, left) == (one,)
    assert store.merge_bases(left, stranger) == ()


def test_merges_within_the_range_are_known(repo: Host, stores: Stores) -> None:
    root = repo.commit("root")
    repo.branch("b")
    one = repo.commit("one")
    repo.checkout("main")
    repo.commit("two")
    merged = repo.merge("b")
    store = stores(repo.repo)
    assert [store.has_merges(*pair) for pair in ((root, one), (root, merged), (merged, merged))] == [False, True, False]


def test_touching_names_the_commits_that_touch_literal_prefixes(repo: Host, stores: Stores) -> None:
    repo.write("oracle/p.py", "1")
    base = repo.commit("base")
    repo.write("oracle/n\n\x01:é", "2")
    repo.write("oracled/x", "2")
    first = repo.commit("odd name")
    repo.write("src/a", "1")
    repo.commit("src")
    repo.remove("oracle/p.py")
    repo.write("noxfile.py", "")
    repo.write("*", "")
    third = repo.commit("three")
    found = stores(repo.repo).touching(base, third, ["oracle/", "noxfile.py", "s*"])
    assert sorted(found) == sorted([(first, "oracle/n\n\x01:é"), (third, "oracle/p.py"), (third, "noxfile.py")])


def test_touching_sees_an_evil_merge_and_not_an_honest_one(repo: Host, stores: Stores) -> None:
    repo.write("oracle/p.py", "1")
    repo.commit("base")
    repo.branch("agent")
    repo.write("src/a", "1")
    repo.commit("work")
    repo.checkout("main")
    repo.write("oracle/p.py", "2")
    tip = repo.commit("a person's change")
    repo.checkout("agent")
    honest = repo.merge("main")
    assert stores(repo.repo).touching(tip, honest, ["oracle/"]) == []
    repo.checkout("main")
    repo.write("README", "1")
    tip = repo.commit("main goes on")
    repo.checkout("agent")
    repo.git("merge", "--quiet", "--no-ff", "--no-commit", "main")
    repo.write("oracle/p.py", "evil")
    evil = repo.commit("merge main")
    assert stores(repo.repo).touching(tip, evil, ["oracle/"]) == [(evil, "oracle/p.py")]


def test_touching_sees_a_commit_without_parents_and_an_octopus(repo: Host, stores: Stores) -> None:
    base = repo.commit("base")
    repo.write("oracle/x", "stranger")
    repo.git("add", "--all")
    stranger = repo.commit_tree(repo.git("write-tree"))
    repo.git("reset", "--quiet", "--hard")
    octopus = repo.commit_tree(written(repo, {"oracle/x": ("100644", "octopus")}), base, stranger, repo.commit("other"))
    assert set(stores(repo.repo).touching(base, octopus, ["oracle/"])) == {(stranger, "oracle/x"), (octopus, "oracle/x")}


def test_a_merge_is_a_tree_or_the_paths_in_conflict(repo: Host, stores: Stores) -> None:
    for name in ("a\nb", "c", "é"):
        repo.write(name, "1\n")
    repo.commit("base")
    repo.branch("theirs")
    for name in ("a\nb", "é"):
        repo.write(name, "theirs\n")
    theirs = repo.commit("theirs")
    repo.checkout("main")
    repo.write("c", "ours\n")
    clean = repo.commit("ours")
    store = stores(repo.repo)
    tree, conflicts = store.merge(clean, theirs)
    assert conflicts == ()
    entries = store.listing(tree)
    contents = store.contents([entry.oid for entry in entries])
    assert {e.path: blob.data for e, blob in zip(entries, contents, strict=True)} == {
        "a\nb": b"theirs\n", "c": b"ours\n", "é": b"theirs\n",
    }  # fmt: skip
    repo.write("a\nb", "ours\n")
    repo.write("é", "ours\n")
    assert stores(repo.repo).merge(repo.commit("more"), theirs)[1] == ("a\nb", "é")


# Repositories of every kind


def test_a_repository_of_sha256_is_judged_like_any_other(tmp_path: Path, stores: Stores) -> None:
    repo = fresh(tmp_path / "sha256", "--object-format=sha256")
    repo.write("a", "1")
    old = repo.commit("old")
    repo.write("d/b", "2")
    new = repo.commit("new")
    store = stores(repo.repo)
    trees_of = [store.commit_and_tree(oid)[1] for oid in (old, new)]
    assert [c.path for c in store.difference(trees_of[0], trees_of[1]).changes] == ["d/b"]
    assert store.merge_bases(old, new) == (old,)
    assert git.resolve(store.repository, ["main", new]) == {"main": new, new: new}
    assert len(new) == 64


def linked(repo: Host, tmp_path: Path) -> Path:
    repo.git("worktree", "add", "--quiet", "--detach", tmp_path / "linked", "main")
    return tmp_path / "linked"


def bare(repo: Host, tmp_path: Path) -> Path:
    repo.git("clone", "--quiet", "--bare", repo.repo.as_uri(), tmp_path / "bare.git")
    return tmp_path / "bare.git"


def subfolder(repo: Host, tmp_path: Path) -> Path:
    assert tmp_path
    return repo.path("src")


def git_folder(repo: Host, tmp_path: Path) -> Path:
    assert tmp_path
    return repo.path(".git")


def borrowing(repo: Host, tmp_path: Path) -> Path:
    repo.git("clone", "--quiet", "--shared", repo.repo, tmp_path / "borrowing")
    return tmp_path / "borrowing"


def borrowing_by_a_relative_path(repo: Host, tmp_path: Path) -> Path:
    """As the pools of some forges are: `objects/info/alternates` is relative to the folder of objects."""
    folder = borrowing(repo, tmp_path)
    (folder / ".git/objects/info/alternates").write_text(
        os.path.relpath(repo.path(".git/objects"), folder / ".git/objects") + "\n"
    )
    return folder


def with_an_odd_name(repo: Host, tmp_path: Path) -> Path:
    folder = tmp_path / "a b #é \"q' \\x"
    repo.repo.rename(folder)
    return folder


def with_a_name_in_latin_1(repo: Host, tmp_path: Path) -> Path:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    repo.repo.rename(folder)
    return folder


@pytest.mark.parametrize(
    "kind", [linked, bare, subfolder, git_folder, borrowing, borrowing_by_a_relative_path, with_an_odd_name, with_a_name_in_latin_1]
)
def test_a_repository_of_any_kind_answers_the_same(repo: Host, tmp_path: Path, stores: Stores, kind: object) -> None:
    commit = committed(repo)
    wanted = repo.id("HEAD^{tree}")
    assert callable(kind)
    store = stores(kind(repo, tmp_path))
    assert store.commit_and_tree(commit) == (commit, wanted)
    assert len(store.listing(wanted)) == 4
    assert git.resolve(store.repository, ["HEAD"]) == {"HEAD": commit}


def test_a_repository_whose_path_holds_a_newline_is_refused_or_read_rightly(repo: Host, tmp_path: Path) -> None:
    commit = committed(repo)
    folder = tmp_path / "a\nb"
    repo.repo.rename(folder)
    try:
        with git.Store(git.locate(str(folder)), tmp_path / "private") as store:
            assert store.commit_and_tree(commit)[0] == commit
            assert store.repository.worktree == str(folder)
    except RefusedError as refused:
        assert [f.rule for f in refused.findings] == ["not-a-repository"]  # noqa: PT017 - either answer is right


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path, tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(RefusedError) as error:
            git.locate(str(folder))
        assert rules(error) == ["not-a-repository"]


def test_shallow_and_partial_clones_are_known(repo: Host, tmp_path: Path) -> None:
    committed(repo)
    repo.commit("more")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "--quiet", "--depth=1", repo.repo.as_uri(), tmp_path / "shallow")
    repo.git("clone", "--quiet", "--filter=blob:none", "--no-checkout", repo.repo.as_uri(), tmp_path / "partial")
    found = [git.locate(str(p)) for p in (repo.repo, tmp_path / "shallow", tmp_path / "partial")]
    assert [(f.shallow, f.partial) for f in found] == [(False, False), (True, False), (False, True)]


# Nothing of the judged repository, or of the caller, steers the answers


def steered_by_config(repo: Host, marker: Path) -> None:
    for key, value in (
        ("core.fsmonitor", f"touch '{marker}'"), ("diff.external", f"touch '{marker}'"), ("diff.renames", "copies"),
        ("diff.noprefix", "true"), ("diff.ignoreSubmodules", "all"), ("core.quotePath", "true"), ("diff.relative", "true"),
        ("core.ignoreCase", "true"), ("core.precomposeUnicode", "true"), ("core.abbrev", "4"), ("log.showSignature", "true"),
        ("core.hooksPath", str(marker.parent)), ("merge.renames", "false"), ("merge.ours.driver", f"touch '{marker}'"),
        ("core.commitGraph", "true"), ("core.attributesFile", str(marker.parent / "attributes")), ("log.follow", "true"),
        ("core.pager", f"touch '{marker}'"), ("diff.orderFile", str(marker.parent / "none")), ("transfer.hideRefs", "refs/heads"),
    ):  # fmt: skip
        repo.git("config", key, value)
    (marker.parent / "attributes").write_text("* merge=ours diff=evil -text\n")
    repo.write(".git/info/attributes", "* merge=ours\n")


def steered_by_replacement(repo: Host, marker: Path) -> None:
    assert marker
    for true, forged in ((repo.id("main:src/a.py"), repo.blob("forged")), (repo.id("main"), repo.commit_tree(EMPTY_TREE))):
        repo.git("replace", true, forged)


def steered_by_grafts(repo: Host, marker: Path) -> None:
    assert marker
    repo.write(".git/info/grafts", f"{repo.id('main')}\n")
    repo.write(".git/shallow.lock", "")


def steered_by_the_index(repo: Host, marker: Path) -> None:
    assert marker
    repo.git("update-index", "--skip-worktree", "src/a.py")
    repo.write(".git/index", b"rubbish")


@pytest.mark.parametrize(
    "steer", [steered_by_config, steered_by_replacement, steered_by_grafts, steered_by_the_index]
)
def test_the_judged_repository_cannot_steer_the_answers(
    repo: Host, tmp_path: Path, stores: Stores, steer: object
) -> None:
    base = committed(repo)
    repo.branch("agent")
    repo.write("src/a.py", "agent\n")
    head = repo.commit("agent")
    repo.checkout("main")
    repo.write("src/b.py", "main\n")
    main = repo.commit("main")
    blob = repo.id("main:src/a.py")
    questions: tuple[Callable[[git.Store], object], ...] = (
        lambda s: s.commit_and_tree(main), lambda s: s.merge_bases(main, head), lambda s: s.merge(main, head),
        lambda s: s.touching(base, head, ["src/"]), lambda s: [b.data for b in s.contents([blob])],
        lambda s: s.difference(*(s.commit_and_tree(c)[1] for c in (base, head))).changes, lambda s: s.has_merges(base, head),
    )  # fmt: skip
    before = [ask(stores(repo.repo)) for ask in questions]
    marker = tmp_path / "steered"
    assert callable(steer)
    steer(repo, marker)
    store = stores(repo.repo)
    assert [ask(store) for ask in questions] == before
    assert git.resolve(store.repository, ["refs/heads/main"]) == {"refs/heads/main": main}
    assert not marker.exists()


def test_the_callers_environment_cannot_steer_the_answers(
    repo: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = committed(repo)
    other = fresh(tmp_path / "other")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 0\n")
    (folder / "git").chmod(0o755)
    for name, value in {
        "PATH": str(folder), "GIT_DIR": str(other.path(".git")), "GIT_WORK_TREE": str(tmp_path), "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.objectsdir", "GIT_CONFIG_VALUE_0": "x", "GIT_OBJECT_DIRECTORY": str(tmp_path),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(tmp_path), "GIT_EXEC_PATH": str(folder), "GIT_NAMESPACE": "evil",
        "GIT_CEILING_DIRECTORIES": str(repo.repo.parent), "GIT_TRACE": str(tmp_path / "trace"), "LD_PRELOAD": "",
        "GIT_REPLACE_REF_BASE": "refs/evil/", "GIT_INDEX_FILE": str(tmp_path / "none"), "GIT_DEFAULT_HASH": "sha256",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    with git.Store(git.locate(str(repo.repo)), tmp_path / "private") as store:
        assert store.commit_and_tree(git.resolve(store.repository, ["main"])["main"])[0] == commit
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "trace").exists()
    assert "GIT_TRACE" not in git.environment()


def test_nothing_is_written_to_the_judged_repository(repo: Host, stores: Stores) -> None:
    base = committed(repo)
    repo.branch("agent")
    repo.write("src/a.py", "agent\n")
    head = repo.commit("agent")
    repo.checkout("main")
    repo.write("src/b.py", "main\n")
    main = repo.commit("main")
    before = {p: p.stat().st_mtime_ns for p in repo.repo.rglob("*")}
    store = stores(repo.repo)
    tree, _ = store.merge(main, head)
    assert store.listing(tree)
    assert store.touching(base, head, ["src/"])
    assert {p: p.stat().st_mtime_ns for p in repo.repo.rglob("*")} == before


def test_the_private_folder_keeps_the_merge_result_for_a_later_step(repo: Host, tmp_path: Path) -> None:
    committed(repo)
    repo.branch("agent")
    repo.write("src/a.py", "agent\n")
    head = repo.commit("agent")
    repo.checkout("main")
    repo.write("src/b.py", "main\n")
    main = repo.commit("main")
    with git.Store(git.locate(str(repo.repo)), tmp_path / "private") as store:
        tree, _ = store.merge(main, head)
    with git.Store(git.locate(str(repo.repo)), tmp_path / "private") as store:
        assert len(store.listing(tree)) == 5


# Writing files


def test_an_export_holds_exactly_the_files_with_their_modes(repo: Host, stores: Stores, tmp_path: Path) -> None:
    tree = written(repo, {"o/a": ("100644", "1"), "o/d/x\ny": ("100755", "2"), "o/\udce9": ("100644", "")})
    store, folder = stores(repo.repo), tmp_path / "out"
    store.export(store.listing(tree), folder, "o/")
    files = {os.fsencode(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}
    assert {name: (p.read_bytes(), oct(p.stat().st_mode)[-3:]) for name, p in files.items()} == {
        b"a": (b"1", "600"), b"d/x\ny": (b"2", "700"), b"\xe9": (b"", "600"),
    }  # fmt: skip
    assert {oct(p.stat().st_mode)[-3:] for p in (folder, folder / "d")} == {"700"}


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "./x", "a//x", "", "..", "a/"])
def test_an_export_refuses_to_climb(repo: Host, stores: Stores, tmp_path: Path, path: str) -> None:
    with pytest.raises(RefusedError) as error:
        stores(repo.repo).export([Entry("100644", repo.blob("x"), path)], tmp_path / "stage/out")
    assert rules(error) == ["gate-failed"]
    assert [p for p in tmp_path.rglob("*") if p.is_file() and p.name == "x"] == []


@pytest.mark.parametrize("paths", [["a", "a"], ["a", "a/b"], ["a/b", "a"], ["x" * 256]], ids=["twice", "below", "above", "long"])
def test_an_export_refuses_what_cannot_be_written_whole(
    repo: Host, stores: Stores, tmp_path: Path, paths: list[str]
) -> None:
    blob = repo.blob("x")
    with pytest.raises(RefusedError) as error:
        stores(repo.repo).export([Entry("100644", blob, path) for path in paths], tmp_path / "out")
    assert rules(error) == ["gate-failed"]


def test_git_is_found_in_system_folders_and_is_new_enough() -> None:
    assert Path(git.program()).is_absolute()
    assert str(Path(git.program()).parent) in git.FOLDERS
    assert git.version() >= git.MINIMUM
    said = subprocess.run([shutil.which("git") or "git", "version"], capture_output=True, text=True, check=True).stdout
    assert ".".join(map(str, git.version())) in said
