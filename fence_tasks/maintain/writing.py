"""All of a task's files or none: work tree and index change together, and come back together if anything fails."""

from __future__ import annotations

import contextlib
import signal
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from .. import checkout
from ..files import write_whole
from ..git import GitError
from ..model import Entry, RefusedError
from .refusals import broken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MODE = "100644"


def put(root: str, files: Mapping[str, bytes], gone: Sequence[str] = ()) -> None:
    """Write and stage `files` (path from the root → content), and remove the tracked files `gone`.

    The blobs hold exactly these bytes: no filter and no line-ending conversion. The index changes in one step; until
    then, and on any fault or Ctrl-C, the files and the index are put back as they were. A kill leaves whole files only.
    Raises TaskError where the way to a path is a link, or where another git command holds the index.
    """
    paths = [*files, *gone]
    for path in paths:
        _plain(Path(root), path)
    conflicts = checkout.unmerged(root)
    before = [e for e in checkout.index(root, without=conflicts) if e.path in paths]
    new = [p for p in paths if p not in {e.path for e in before} and p not in conflicts]
    entries = [Entry(MODE, checkout.store_blob(root, data), path) for path, data in files.items()]
    undo = _Undo(Path(root))
    staged = False
    try:
        for path, data in files.items():
            undo.write(path, data)
        staged = True
        _stage(root, entries, gone)
        for path in gone:
            undo.remove(path)
    except BaseException as error:
        with _deaf():
            undo.back()
            # git wrote the index or did not; where it refused to, there is nothing to take back.
            if staged and not isinstance(error, RefusedError):
                with contextlib.suppress(RefusedError):
                    checkout.set_index(root, before, new)
        raise


def _plain(root: Path, path: str) -> None:
    """Refuse a path that is not where it seems to be: a link on the way, a folder in its place."""
    target = root / path
    for place in (target, *target.parents):
        if place == root:
            break
        if place.is_symlink() or (place.is_dir() if place == target else place.is_file()):
            raise broken("clash", "a link, or a file in a folder's place, is in the way", f"move {place} away", path)


def _stage(root: str, entries: Sequence[Entry], gone: Sequence[str]) -> None:
    try:
        checkout.set_index(root, entries, gone)
    except GitError as error:
        if "remove the file manually" not in str(error):  # the last line of git's message about index.lock
            raise
        raise broken("index-busy", "another git command holds the index", "let it end (or, if none runs, remove "
                     ".git/index.lock), then try again") from error  # fmt: skip


class _Undo:
    """What was changed in a work tree, in order, so that it can be changed back. Each step is noted before it is
    taken: an interrupt between the two then undoes nothing."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folders: list[Path] = []
        self.files: list[tuple[Path, bytes | None, int]] = []

    def write(self, path: str, data: bytes) -> None:
        target = self.root / path
        for folder in reversed(target.parents):
            if not folder.exists():
                self.folders.append(folder)
                folder.mkdir()
        self._note(target)
        write_whole(target, data, 0o644)

    def remove(self, path: str) -> None:
        self._note(self.root / path)
        (self.root / path).unlink(missing_ok=True)

    def _note(self, target: Path) -> None:
        there = target.exists()
        mode = stat.S_IMODE(target.stat().st_mode) if there else 0
        self.files.append((target, target.read_bytes() if there else None, mode))

    def back(self) -> None:
        for target, data, mode in reversed(self.files):
            if data is None:
                target.unlink(missing_ok=True)
            else:
                write_whole(target, data, mode)
        for folder in reversed(self.folders):
            with contextlib.suppress(OSError):  # somebody else put a file there meanwhile, or it was never made
                folder.rmdir()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """A second Ctrl-C does not cut the way back short."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
