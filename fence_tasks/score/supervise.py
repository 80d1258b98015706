"""Runs the scorer as a process of its own, with a deadline of its own, and leaves nothing of it alive."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..candidate.process import ends_within, make_undumpable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PR_SET_CHILD_SUBREAPER = 36


def supervise(
    argv: Sequence[str], *, seconds: float, cwd: str, env: Mapping[str, str], log: str
) -> tuple[str | None, bytes]:
    """Run the scorer; answer None if it ended with 0, else the rule (`scorer-died`, `scorer-hung`), and what
    it wrote to standard output: a pipe, since a candidate might reach a file.

    `argv` is its command line, `seconds` its time, `cwd` its folder, `env` its whole environment, and `log` the
    absolute path of the file that gets its standard error. When it has ended, it, its workers, and whatever the
    candidate started are killed. This process is made undumpable, because its memory holds what the scorer's does.
    Raises OSError if the scorer cannot be started.
    """
    make_undumpable()
    before = _children()
    _subreaper(on=True)
    try:
        with Path(log).open("ab") as output:
            scorer = subprocess.Popen(  # noqa: S603 - our own program
                list(argv), cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=output,
                start_new_session=True,
            )  # fmt: skip
        said = bytearray()
        reader = threading.Thread(target=_drain, args=(scorer, said), daemon=True)
        reader.start()
        try:
            ended = ends_within(scorer.pid, seconds)
        finally:
            status = _kill(scorer)
            _reap(before)
        reader.join()
        rule = "scorer-hung" if not ended else None if status == 0 else "scorer-died"
        return rule, bytes(said)
    finally:
        _subreaper(on=False)


def _drain(scorer: subprocess.Popen[bytes], said: bytearray) -> None:
    """Read what the scorer writes, so that it never waits for room in the pipe."""
    if scorer.stdout:
        with scorer.stdout as stream:
            while chunk := stream.read(1 << 16):
                said += chunk


def _kill(scorer: subprocess.Popen[bytes]) -> int:
    """Kill what is left of the scorer's group; its exit status, its own if it had ended."""
    with suppress(ProcessLookupError):
        os.killpg(scorer.pid, signal.SIGKILL)
    return scorer.wait()


def _reap(before: set[int]) -> None:
    """Kill what the scorer left behind: as its subreaper this process has become the parent of all of it."""
    while strays := _children() - before:
        for pid in strays:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _children() -> set[int]:
    """The children of this process, by proc(5)."""
    found: set[int] = set()
    for thread in threading.enumerate():
        file = Path(f"/proc/self/task/{thread.native_id}/children")
        found |= {int(pid) for pid in file.read_text("ascii").split()} if file.exists() else set()
    return found


def _subreaper(*, on: bool) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")
