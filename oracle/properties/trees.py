"""What differs between two trees: the same as comparing two lists of all their files, read from git's raw objects."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from typing import Any

from _kit import ABSENT, none_of, reader, trees

from fence_tasks.properties import at_most, cover, given, st

Tree = dict[bytes, Any]  # name → (mode, id in hex) of a file, or the tree of a folder
NAMES = st.sampled_from([b"a", b"a.b", b"a-b", b"a0", b"A", b"b", b"\xc3\xa9", b"\xe9", b"a b", b"-x"])
FILES = st.tuples(st.sampled_from(["100644", "100755", "120000", "160000"]), st.sampled_from(["1" * 40, "2" * 40]))
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.dictionaries(NAMES, FILES, max_size=3),
    lambda deeper: st.dictionaries(NAMES, st.one_of(FILES, deeper), min_size=1, max_size=4), max_leaves=6,
)  # fmt: skip


def raw(tree: Tree, objects: dict[str, bytes | None]) -> str:
    """Write a tree and those below it into `objects`, as git does (id → raw object); its id."""
    rows = []
    for name, entry in tree.items():
        folder = isinstance(entry, dict)
        mode, oid = ("40000", raw(entry, objects)) if folder else entry
        rows.append((name + b"/" if folder else name, mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid)))
    data = b"".join(row for _, row in sorted(rows))
    oid = hashlib.sha1(b"tree %d\0" % len(data) + data).hexdigest()  # noqa: S324 - git's own
    objects[oid] = data
    return oid


def text(name: bytes) -> str:
    """A name as the kit has it."""
    return name.decode("utf-8", "surrogateescape")


def flat(tree: Tree, prefix: str = "") -> dict[str, tuple[str, str]]:
    """Every file of a tree by its path."""
    found: dict[str, tuple[str, str]] = {}
    for name, entry in tree.items():
        path = prefix + text(name)
        found |= flat(entry, path + "/") if isinstance(entry, dict) else {path: entry}
    return found


def folders(tree: Tree, path: str = "") -> dict[str, Tree]:
    """Every folder of a tree by its path, "" the tree itself."""
    found = {path: tree}
    for name, entry in tree.items():
        if isinstance(entry, dict):
            found |= folders(entry, f"{path}/{text(name)}" if path else text(name))
    return found


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """Two trees, the second mostly the first with a few edits."""
    old = draw(TREES)
    if draw(st.integers(0, 3)) == 0:
        return old, draw(TREES)
    new = deepcopy(old)
    for _ in range(draw(st.integers(0, 3))):
        everywhere = list(folders(new).values())
        files = [(folder, name) for folder in everywhere for name, entry in folder.items() if isinstance(entry, tuple)]
        if files and draw(st.booleans()):
            folder, name = draw(st.sampled_from(files))
            folder[name] = draw(FILES)
        else:
            folder, name = draw(st.sampled_from(everywhere)), draw(NAMES)
            entry = draw(st.one_of(st.none(), FILES, TREES))
            folder.pop(name, None)
            folder |= {} if entry is None else {name: entry}
    return old, new


@given(pair=pairs())
def prop_the_difference_of_two_trees_is_that_of_their_files(api: Any, pair: tuple[Tree, Tree]) -> bool:
    old, new = pair
    objects: dict[str, bytes | None] = {}
    found = trees(api).difference(raw(old, objects), raw(new, objects), reader(api)(objects))
    was, now = flat(old), flat(new)
    none = (ABSENT, "0" * 40)
    wanted = [
        (path, was.get(path, none)[0], now.get(path, none)[0], was.get(path, none)[1], now.get(path, none)[1])
        for path in sorted(was.keys() | now.keys(), key=lambda p: p.encode("utf-8", "surrogateescape"))
        if was.get(path) != now.get(path)
    ]
    cover("a deletion", any(row[2] == ABSENT for row in wanted), at_least=0.1)
    cover("an addition", any(row[1] == ABSENT for row in wanted), at_least=0.1)
    cover("an edit", any(ABSENT not in row[1:3] for row in wanted), at_least=0.1)
    names = ("path", "old_mode", "new_mode", "old_oid", "new_oid")
    return [tuple(api.fields(change, *names)) for change in found.changes] == wanted and found.faults == []


@at_most(60)
@given(pair=pairs())
def prop_every_changed_folder_is_listed_whole(api: Any, pair: tuple[Tree, Tree]) -> bool:
    old, new = pair
    objects: dict[str, bytes | None] = {}
    found = trees(api).difference(raw(old, objects), raw(new, objects), reader(api)(objects)).folders
    before = folders(old)
    wanted = {
        path: {f"{path}/{text(name)}" if path else text(name) for name in tree}
        for path, tree in folders(new).items() if path == "" or before.get(path) != tree
    }  # fmt: skip
    return {path: {entry.path for entry in entries} for path, entries in found.items()} == wanted


ENTRY = b"100644 b\0" + bytes(20)
#: Raw objects that git would not write; None is an object that is not there, or no tree.
MALFORMED = {
    "a name twice": ENTRY + ENTRY,
    "a name twice, as file and folder": ENTRY + b"40000 b\0" + bytes(20),
    "another order": ENTRY + b"100644 a\0" + bytes(20),
    "a padded mode": b"0" + ENTRY,
    "cut short": ENTRY[:-1],
    "a slash in a name": b"100644 a/b\0" + bytes(20),
    "no name": b"100644 \0" + bytes(20),
    "no object": None,
}


@at_most(20)
@given(tree=TREES)
def prop_a_malformed_tree_is_reported(api: Any, tree: Tree) -> bool:
    taken = []
    for how, bad in MALFORMED.items():
        objects: dict[str, bytes | None] = {"f" * 40: bad, "e" * 40: b"40000 d\0" + bytes.fromhex("f" * 40)}
        old, read = raw(tree, objects), reader(api)(objects)
        taken += [how for new in ("f" * 40, "e" * 40) if not trees(api).difference(old, new, read).faults]
    return none_of(taken)
