"""Bounds that no rlimit sets: a scratch folder as a whole, and how many threads and processes a candidate has."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import CandidateFault

#: Files, folders and links in a scratch folder.
ENTRIES = 10_000
THREADS = 256
_BLOCK = 512  # the unit of st_blocks, stat(2)


def scratch(folder: str, most: int) -> None:
    """Look at what lies in `folder`. Raises CandidateFault if that is over `most` bytes or over ENTRIES, or hidden.

    What is open and has no name any more is not seen.
    """
    size, entries, folders = 0, 0, [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                for entry in found:
                    entries += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    if size > most:
                        raise CandidateFault("candidate-too-big", f"its files take over {most} bytes")
                    if entries > ENTRIES:
                        raise CandidateFault("candidate-too-big", f"it has over {ENTRIES} files")
        except (FileNotFoundError, NotADirectoryError):
            continue  # it is at work there
        except OSError as error:
            raise CandidateFault("candidate-too-big", "a folder of its own cannot be looked into") from error


def mounted(folder: str, pid: int) -> None:
    """Look at a scratch folder that is a file system of its own, of a fixed size, in the world of the child of `pid`.
    Raises CandidateFault if its entries are over ENTRIES."""
    for child in _children(str(pid)):
        try:
            about = os.statvfs(f"/proc/{child}/root{folder}")
        except OSError:
            continue  # it has ended, or this machine does not let us look
        if about.f_files - about.f_ffree > ENTRIES:
            raise CandidateFault("candidate-too-big", f"it has over {ENTRIES} files")


def threads(pid: int) -> None:
    """Look at the threads of `pid`, its children and theirs. Raises CandidateFault if they are over THREADS."""
    found, todo = 0, [str(pid)]
    while todo:
        try:
            own = [thread.name for thread in Path(f"/proc/{todo.pop()}/task").iterdir()]
        except OSError:
            continue  # it has ended, or this machine does not tell
        found += len(own)
        if found > THREADS:
            raise CandidateFault("candidate-too-big", f"it has over {THREADS} threads and processes")
        for thread in own:
            todo += _children(thread)


def _children(thread: str) -> list[str]:
    """The processes that a thread has started, by proc(5)."""
    try:
        return Path(f"/proc/{thread}/task/{thread}/children").read_text("ascii").split()
    except OSError:
        return []
