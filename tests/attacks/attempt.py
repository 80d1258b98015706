"""What a table's row is, and how it is put to the gate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.host import inconsistent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.host import Host, Result


@dataclass(frozen=True, slots=True)
class Attempt:
    """A question for the gate: two revisions, options, environment, and the folder it is asked from.

    `host` stands in for the test's own (a clone); `marker` is a file that exists only if an attack's code ran.
    """

    base: str = "main"
    head: str = "agent"
    opts: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    host: Host | None = None
    marker: Path | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One attack or one honest patch: a name, a sentence, what builds it, and the answer it must get.

    `rules` are findings of level error that must be there, `notes` of level note, `never` must not be found.
    `file` is false where the command line cannot be read, so that no run folder is known.
    """

    id: str
    sentence: str
    build: Callable[[Host], Attempt]
    code: int = 0
    rules: str = ""
    notes: str = ""
    never: str = ""
    command: str = "fence"
    file: bool = True


def ask(row: Row, host: Host) -> tuple[Attempt, Result]:
    """Build a row in the host and put it to the command that the row names."""
    attempt = row.build(host)
    where = attempt.host or host
    run = where.score if row.command == "score" else where.fence
    return attempt, run(attempt.base, attempt.head, *attempt.opts, env=attempt.env, cwd=attempt.cwd)


def faults(row: Row, attempt: Attempt, result: Result) -> list[str]:
    """How an answer differs from the row's, one line each."""
    lines = [why] if row.file and (why := inconsistent(result)) else []
    if result.code != row.code:
        lines.append(f"the code is {result.code}, not {row.code}")
    lines += [f"no error {name}" for name in row.rules.split() if name not in result.rules]
    lines += [f"no note {name}" for name in row.notes.split() if name not in result.notes]
    lines += [f"a finding {name}" for name in row.never.split() if name in result.rules | result.notes]
    if row.code == 0 and result.rules:
        lines.append(f"errors {sorted(result.rules)}")
    if attempt.marker and attempt.marker.exists():
        lines.append("the attack's own code ran")
    return lines
