"""Trees that no work tree could hold: written as objects, the way a hostile push would bring them."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from tests.host import RETIRED, policy

from .attempt import Attempt
from .edits import better, propose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.host import Host

    from .edits import Builder

RETIRED_NFC = "src/tests/test_d\u00e9lai.py"
MANY = 3500


def indexed(entries: Mapping[str, str], *, mode: str = "100644") -> Builder:
    """A patch that adds entries (name → content, or commit id for mode 160000) through the index alone."""

    def build(host: Host) -> Attempt:
        host.branch("agent")
        for name, content in entries.items():
            oid = content if mode == "160000" else host.blob(content)
            host.git("update-index", "--add", "--cacheinfo", f"{mode},{oid},{name}")
        host.commit("an odd name", everything=False)
        return Attempt()

    return build


def oracle_named(alias: str) -> Builder:
    """A patch with a file below a folder that some file system opens as the oracle."""
    return indexed({f"{alias}/properties/roundtrip.py": "def prop_roundtrip_under_cap(api): return True\n"})


def name_of_256_bytes(host: Host) -> Attempt:
    """A name that git stores and no checkout can write."""
    return fast_imported(host, {"src/" + "n" * 253 + ".py": b"LONG = True\n"})


def many_files_and_an_oracle_file(host: Host) -> Attempt:
    """The oracle's change comes after thousands of others, in the order of their names."""
    host.people("docs are theirs", {"oracle/policy.toml": policy(also=["docs/"])})
    files = {f"docs/f{n:04}.txt": b"%d\n" % n for n in range(MANY)}
    return fast_imported(host, {**files, "oracle/properties/roundtrip.py": b"def prop_fine(api): return True\n"})


def fast_imported(host: Host, files: Mapping[str, bytes]) -> Attempt:
    """One commit on main that `git fast-import` writes, without any work tree."""
    host.tick += 1
    head = f"commit refs/heads/agent\ncommitter A <a@example.org> {1_700_000_000 + 60 * host.tick} +0000\n"
    parts = [head.encode(), b"data 4\nmany\nfrom refs/heads/main\n"]
    for name, content in files.items():
        parts += [b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(content), content)]
    host.git("fast-import", "--quiet", stdin=b"".join(parts))
    return Attempt()


def climbing_entry(host: Host) -> Attempt:
    """`src` holds an entry `..`, below which lies an oracle of the proposer's own."""
    blob = host.blob("def prop_roundtrip_under_cap(api): return True\n")
    inner = host.raw_tree([("100644", b"roundtrip.py", blob)])
    oracle = host.raw_tree([("40000", b"properties", inner)])
    climb = host.raw_tree([("40000", b"oracle", oracle)])
    src = host.raw_tree([("40000", b"..", climb), *host.tree_entries("main:src")])
    return _with_src(host, ("40000", b"src", src))


def entry_in_src(mode: str, name: bytes, of: str) -> Builder:
    """`src` gets one more entry: a mode, a name, and whatever object the revision `of` is."""

    def build(host: Host) -> Attempt:
        src = sorted([*host.tree_entries("main:src"), (mode, name, host.id(of))], key=lambda entry: entry[1])
        return _with_src(host, ("40000", b"src", host.raw_tree(src)))

    return build


def unsorted(host: Host) -> Attempt:
    """The entries of `src` stand in another order than git's, so that a search by name may miss them."""
    return _with_src(host, ("40000", b"src", host.raw_tree(reversed(host.tree_entries("main:src")))))


def evil_oracle_first(host: Host) -> Attempt:
    """The root tree holds `oracle` twice, and the first is the proposer's."""
    evil = host.raw_tree([("100644", b"policy.toml", host.blob("format = 1\n"))])
    rest = host.tree_entries("main")
    before = [entry for entry in rest if entry[1] < b"oracle"]
    tree = host.raw_tree([*before, ("40000", b"oracle", evil), *rest[len(before) :]])
    host.git("branch", "agent", host.commit_tree(tree, host.id("main")))
    return Attempt()


def below_src(folder: str, name: str) -> Builder:
    """`src` gets a folder of a name that no index accepts, with one file in it."""

    def build(host: Host) -> Attempt:
        inner = host.raw_tree([("100644", name.encode(), host.blob("X = 1\n"))])
        return entry_in_src("40000", folder.encode(), inner)(host)

    return build


def two_src_entries(host: Host) -> Attempt:
    """The root tree holds `src` twice: an honest one, and one with a link into the oracle."""
    propose(host, better)
    honest = ("40000", b"src", host.id("agent:src"))
    link = ("120000", b"answers", host.blob("../oracle/fixtures"))
    evil = host.raw_tree(sorted([*host.tree_entries("main:src"), link], key=lambda entry: entry[1]))
    host.git("checkout", "--quiet", "main")
    host.git("branch", "--quiet", "-D", "agent")
    return _with_src(host, honest, ("40000", b"src", evil))


def _with_src(host: Host, *src: tuple[str, bytes, str]) -> Attempt:
    """Main's root tree with other entries for `src`, committed on main."""
    rest = [entry for entry in host.tree_entries("main") if entry[1] != b"src"]
    before = [entry for entry in rest if entry[1] < b"src"]
    tree = host.raw_tree([*before, *src, *rest[len(before) :]])
    host.git("branch", "agent", host.commit_tree(tree, host.id("main")))
    return Attempt()


def submodule_at(name: str) -> Builder:
    """A patch that puts a submodule (mode 160000) at a path."""
    return indexed({name: "1" * 40}, mode="160000")


def frozen_with_an_accent(host: Host) -> None:
    """On main, a person freezes a case whose path is not ASCII."""
    host.people(
        "a slow test", {RETIRED_NFC: "def test_délai() -> None:\n    assert 'the delay' != 'over', 'too late'\n"}
    )
    host.freeze("delai", RETIRED_NFC, "test_délai")
    host.people("freeze it")


def retired_accent_in(form: str) -> Builder:
    """A patch that recreates that path in a Unicode form, with other content."""

    def build(host: Host) -> Attempt:
        frozen_with_an_accent(host)
        name = unicodedata.normalize(form, RETIRED_NFC)  # type: ignore[arg-type]
        return indexed({name: "def test_other() -> None:\n    assert True\n"})(host)

    return build


def merged_by_framing(one: str, other: str) -> Builder:
    """Two oracle files become one whose content imitates the other's name and content (NUL, path, NUL, content),
    so that a digest over unframed fields stays the same."""

    def build(host: Host) -> Attempt:
        host.people("two notes", {f"oracle/{one}": "first\n", f"oracle/{other}": "second\n"})
        before = _unframed(host)

        def change(host: Host) -> None:
            host.write(f"oracle/{one}", b"first\n\0%s\0second\n" % other.encode())
            host.remove(f"oracle/{other}")

        attempt = propose(host, change)
        assert _unframed(host) == before, "the attack no longer collides"
        return attempt

    return build


def _unframed(host: Host) -> bytes:
    """What a digest without lengths is taken over."""
    top = host.path("oracle")
    files = sorted(p for p in top.rglob("*") if p.is_file() and p.name != "LOCK")
    return b"".join(b"\0%s\0%s" % (p.relative_to(top).as_posix().encode(), p.read_bytes()) for p in files)


def frozen_below_a_link(host: Host) -> Attempt:
    """`src/tests` becomes a link to a folder that holds the retired name."""

    def change(host: Host) -> None:
        host.path("src/tests").rename(host.path("src/real_tests"))
        host.write(RETIRED.replace("/tests/", "/real_tests/"), "def test_again() -> None:\n    assert True\n")
        host.link("src/tests", "real_tests")

    return propose(host, change)
