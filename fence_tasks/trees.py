r"""Tree objects as values, and what differs between two of them: read from raw bytes, so that no malformed tree can
show one listing to the gate and another to a checkout.

The format is git's (fsck.c `fsck_tree`, tree-walk.c): "<octal mode> <name>\0<raw id>", sorted as if folders ended
in `/`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .model import ABSENT, LINK_MODE, REGULAR_MODES, SUBMODULE_MODE, TREE_MODE, Change, Entry, bytes_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MODES = {mode.lstrip("0").encode(): mode for mode in (*REGULAR_MODES, LINK_MODE, SUBMODULE_MODE, TREE_MODE)}


@dataclass(frozen=True, slots=True)
class Difference:
    """What a new tree has against an old one: changed files, the entries of every changed folder of the new tree
    (folder → entries with full paths, "" is the root), and `(path, why)` for each malformed place in those."""

    changes: list[Change] = field(default_factory=list)
    folders: dict[str, list[Entry]] = field(default_factory=dict)
    faults: list[tuple[str, str]] = field(default_factory=list)


def parse(data: bytes, folder: str, id_bytes: int) -> tuple[list[Entry], list[tuple[str, str]]]:
    """`(entries, faults)` of one raw tree object; paths are `folder` joined with the names, ids `id_bytes` long."""
    entries: list[Entry] = []
    faults: list[tuple[str, str]] = []
    at, last, seen = 0, b"", set()
    while at < len(data):
        blank, nul = data.find(b" ", at), data.find(b"\0", at)
        end = nul + 1 + id_bytes
        if not at < blank < nul or end > len(data):
            return entries, [*faults, (folder, "the tree object ends in the middle of an entry")]
        raw_mode, name, oid = data[at:blank], data[blank + 1 : nul], data[nul + 1 : end].hex()
        path = f"{folder}/{text_of(name)}" if folder else text_of(name)
        mode = _MODES.get(raw_mode, raw_mode.decode("ascii", "replace").rjust(6, "0"))
        key = name + b"/" if mode == TREE_MODE else name
        if name in seen:
            faults.append((path, "the name stands twice in its folder"))
        elif key < last:
            faults.append((path, "the entries of its folder are not in git's order"))
        if not name or b"/" in name:
            faults.append((path, "an entry has no name, or one with a slash in it"))
        if raw_mode.startswith(b"0"):
            faults.append((path, "its mode is padded with zeros"))
        seen.add(name)
        last, at = max(last, key), end
        entries.append(Entry(mode, oid, path))
    return entries, faults


def difference(old: str, new: str, read: Callable[[Sequence[str]], Sequence[bytes | None]]) -> Difference:
    """What tree `new` has against tree `old` (hex ids); `read` answers the raw tree of each id, None if it is none.

    Only folders whose ids differ are read: the cost is linear in what changed. A folder that becomes a file (or the
    reverse) is the deletion of one and the addition of the other.
    """
    found = Difference()
    level: list[tuple[str, str, str]] = [("", old, new)]
    while level:
        wanted = [oid for _, before, after in level for oid in (before, after) if oid]
        trees = dict(zip(wanted, read(wanted), strict=True))
        deeper: list[tuple[str, str, str]] = []
        for folder, before, after in level:
            was, _ = _entries(trees, before, folder)
            now, faults = _entries(trees, after, folder)
            found.faults.extend(faults)
            if after:
                found.folders[folder] = now
            deeper += _compare(was, now, found.changes)
        level = deeper
    found.changes.sort(key=lambda change: bytes_of(change.path))
    return found


def _entries(trees: dict[str, bytes | None], oid: str, folder: str) -> tuple[list[Entry], list[tuple[str, str]]]:
    if not oid:
        return [], []
    data = trees[oid]
    if data is None:
        return [], [(folder, "the folder's object is not a tree")]
    return parse(data, folder, len(oid) // 2)


def _compare(was: list[Entry], now: list[Entry], changes: list[Change]) -> list[tuple[str, str, str]]:
    """Append what differs between two folders; answer the folders below that differ, as `(path, old id, new id)`."""
    before = {e.path: e for e in was}
    deeper: dict[str, tuple[str, str]] = {}
    for entry in now:
        twin = before.pop(entry.path, None)
        if twin and (twin.mode, twin.oid) == (entry.mode, entry.oid):
            continue
        old_tree = twin.oid if twin and twin.mode == TREE_MODE else ""
        new_tree = entry.oid if entry.mode == TREE_MODE else ""
        if old_tree or new_tree:
            deeper[entry.path] = (old_tree, new_tree)
        old = twin if twin and not old_tree else None
        if old or not new_tree:
            changes.append(_change(entry.path, old, None if new_tree else entry))
    for entry in before.values():
        if entry.mode == TREE_MODE:
            deeper[entry.path] = (entry.oid, "")
        else:
            changes.append(_change(entry.path, entry, None))
    return [(path, old, new) for path, (old, new) in deeper.items()]


def _change(path: str, old: Entry | None, new: Entry | None) -> Change:
    zeros = "0" * len((old or new or Entry("", "", "")).oid)
    return Change(path, old.mode if old else ABSENT, new.mode if new else ABSENT,
                  old.oid if old else zeros, new.oid if new else zeros)  # fmt: skip
