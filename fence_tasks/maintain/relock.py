"""`invoke relock`: `oracle/LOCK` from the index's blobs, whatever the work tree holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .. import checkout
from ..model import Finding, RefusedError
from ..oracle import lock, policy
from . import staged
from .refusals import blake3_hex
from .writing import MODE, put

if TYPE_CHECKING:
    from ..oracle.audit import OracleFile


def run(folder: str, *, dry: bool = False) -> list[str]:
    """Rewrite and stage LOCK in the work tree that `folder` is in; answer what to tell the person.

    A conflict in LOCK alone is resolved. Raises RefusedError: `merge-conflict` for another unmerged oracle path,
    `not-adopted`, `not-a-repository`; TaskError for an entry that no LOCK can hold.
    """
    root = checkout.root_of(folder)
    conflicts = [p for p in checkout.unmerged(root) if policy.covers(policy.ORACLE, p)]
    if others := [p for p in conflicts if p != lock.PATH]:
        raise RefusedError(*(Finding("merge-conflict", "is unmerged, so what LOCK should hold is not known", p,
                                     remedy="resolve it, git add it, then invoke relock") for p in others))  # fmt: skip
    files = staged.oracle(root, blake3_hex(), without=conflicts)
    new = staged.lock_of(files, blake3_hex(), {})
    count = new.count(b"\n")
    if not conflicts and _is_right(root, files, new):
        lines = [f"{lock.PATH} is right already: {count} files"]
    elif dry:
        lines = [f"would write and stage {lock.PATH}: {count} files"]
    else:
        put(root, {lock.PATH: new})
        lines = [f"{lock.PATH} written and staged: {count} files" + ("; its conflict is resolved" if conflicts else "")]
    return [*lines, *_left_out(root), "next: invoke check --staged, then git commit"]


def _is_right(root: str, files: list[OracleFile], new: bytes) -> bool:
    there = Path(root, lock.PATH)
    return (
        any(f.path == lock.PATH and f.content == new and f.mode == MODE for f in files)
        and there.is_file() and not there.is_symlink() and there.read_bytes() == new
    )  # fmt: skip


def _left_out(root: str) -> list[str]:
    paths = [p for p in staged.not_staged(root) if p != lock.PATH]
    if not paths:
        return []
    return ["not staged, so not as it is now in LOCK:", *(f"  {p}" for p in paths),
            "  -> git add (with --force where .gitignore hides it) what you mean, then relock again"]  # fmt: skip
