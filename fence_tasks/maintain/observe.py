"""How often a flaky case fails: a person's own command, run many times, one after the other."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from .refusals import broken, usage

if TYPE_CHECKING:
    from collections.abc import Callable

_TAIL = 4096  # bytes of the last output that a refusal shows


@dataclass(frozen=True, slots=True)
class Observed:
    """How many runs there were, and how many of them failed."""

    runs: int
    failures: int


def observe(command: str, runs: int, *, root: str, say: Callable[[str], None]) -> Observed:
    """Run a shell line `runs` times in `root`; a run fails if the line does not end in 0. `say` is told each failure
    and every tenth run.

    Raises TaskError where nothing is flaky: all runs fail, none does, or there is no such command.
    """
    failures = 0
    with tempfile.TemporaryFile() as log:
        for number in range(1, runs + 1):
            log.seek(0)
            log.truncate()
            code = _once(command, root, log)
            if code in (126, 127):  # what a shell answers for a command that it cannot run (POSIX, 2.8.2)
                _show(log, say)
                raise usage("--repro-cmd cannot be run", "try it in the repository's root first")
            failures += code != 0
            if code or number % 10 == 0 or number == runs:
                say(f"run {number} of {runs}: {failures} failed")
        if failures == 0:
            raise broken("not-flaky", f"in {runs} runs the command never failed", "give more --runs, or what the "
                         "scoring machine saw: --observed-failures F --observed-runs N")  # fmt: skip
        if failures == runs:
            _show(log, say)
            raise broken("not-flaky", f"all {runs} runs failed; the last one's output is above",
                         "mend the case, or give what the scoring machine saw")  # fmt: skip
    return Observed(runs, failures)


def _once(command: str, root: str, log: IO[bytes]) -> int:
    # A file and not a pipe: something that the command leaves running would keep a pipe open for ever.
    return subprocess.run(  # noqa: S603 - a person's own shell line, typed by that person
        ["/bin/sh", "-c", command], cwd=root, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
        env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
    ).returncode  # fmt: skip


def _show(log: IO[bytes], say: Callable[[str], None]) -> None:
    """Tell the end of the last run's output."""
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - _TAIL))
    for line in log.read().decode("utf-8", "replace").splitlines():
        say(f"  {line}")
