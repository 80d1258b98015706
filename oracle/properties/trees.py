"""What differs between two trees: the same as comparing two lists of all their files, read from git's raw objects."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from typing import Any

from _kit import ABSENT, reader, trees

from fence_tasks.properties import cover, given, st

Tree = dict[bytes, Any]  # name → (mode, id in hex) of a file, or the tree of a folder
NAMES = st.sampled_from([b"a", b"a.b", b"a-b", b"a0", b"A", b"b", b"\xc3\xa9", b"\xe9", b"a b", b"-x"])
FILES = st.tuples(st.sampled_from(["100644", "100755", "120000", "160000"]), st.sampled_from(["1" * 40, "2" * 40]))
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.dictionaries(NAMES, FILES, max_size=3),
    lambda deeper: st.dictionaries(NAMES, st.one_of(FILES, deeper), max_size=3), max_leaves=6,
)  # fmt: skip
def raw(tree: Tree, objects: dict[str, bytes]) -> str:
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
    """Two trees; mostly the second is the first with a few edits."""
    old = draw(TREES)
    if draw(st.integers(0, 3)) == 0:
        return old, draw(TREES)
    new = deepcopy(old)
    for _ in range(draw(st.integers(0, 3))):
        folder = draw(st.sampled_from(list(folders(new).values())))
        name = draw(st.one_of(NAMES, st.sampled_from(sorted(folder)) if folder else NAMES))
        edit = draw(st.one_of(st.none(), FILES, TREES))
        folder.pop(name, None)
        if edit is not None:
            folder[name] = edit
    return old, new


@given(pair=pairs())
def prop_the_difference_of_two_trees_is_that_of_their_files(api: Any, pair: tuple[Tree, Tree]) -> bool:
    old, new = pair
    objects: dict[str, bytes] = {}
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
    cover("an edit", any(ABSENT not in row[1:3] for row in wanted), at_least=0.03)
    names = ("path", "old_mode", "new_mode", "old_oid", "new_oid")
    return [tuple(api.fields(change, *names)) for change in found.changes] == wanted and found.faults == []


@given(pair=pairs())
def prop_every_changed_folder_is_listed_whole(api: Any, pair: tuple[Tree, Tree]) -> bool:
    old, new = pair
    objects: dict[str, bytes] = {}
    found = trees(api).difference(raw(old, objects), raw(new, objects), reader(api)(objects)).folders
    before = folders(old)
    wanted = {
        path: {f"{path}/{text(name)}" if path else text(name) for name in tree}
        for path, tree in folders(new).items() if path == "" or before.get(path) != tree
    }  # fmt: skip
    return {path: {entry.path for entry in entries} for path, entries in found.items()} == wanted


@given(tree=TREES.filter(bool), how=st.sampled_from(["twice", "order", "zeros", "cut", "slash", "empty", "missing"]))
def prop_a_malformed_tree_is_reported(api: Any, tree: Tree, how: str) -> bool:
    objects: dict[str, bytes] = {}
    rows = {name: (mode, oid) for name, (mode, oid) in flat(tree).items() if "/" not in name} or {"a": ("100644", "1" * 40)}
    name, (mode, oid) = sorted(rows.items())[0]
    row = mode.encode() + b" " + name.encode("utf-8", "surrogateescape") + b"\0" + bytes.fromhex(oid)
    bad = {
        "twice": row + row,
        "order": b"100644 z\0" + bytes(20) + b"100644 B\0" + bytes(20),
        "zeros": b"0" + row,
        "cut": row[:-1],
        "slash": b"100644 x/y\0" + bytes(20),
        "empty": b"100644 \0" + bytes(20),
        "missing": None,
    }[how]
    old = raw(tree, objects)
    if bad is not None:
        objects["f" * 40] = bad
    found = trees(api).difference(old, "f" * 40, reader(api)(objects))
    return len(found.faults) > 0
