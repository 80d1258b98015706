"""The people's tasks, for Invoke. Each calls one module of `maintain`, prints what to do next, and commits nothing.

A refusal prints what is wrong and what to type, and ends in 64 (bad input), 75 (a rule would be broken) or 69
(something is missing); nothing was changed then. Importing this needs Invoke and the standard library only.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from invoke.collection import Collection
from invoke.exceptions import Exit
from invoke.tasks import Task, task

from .maintain import add_fixture as adding
from .maintain import check as checking
from .maintain import freeze_case as freezing
from .maintain import init_split as splitting
from .maintain import relock as relocking
from .maintain.refusals import TaskError, usage
from .model import RefusedError
from .report.text import escape
from .rules import RULES, WITH_FINDINGS, Code, code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TextIO

    from invoke.context import Context

__all__ = ["add_fixture", "check", "collection", "freeze_case", "init_split", "join", "relock"]

#: No option is positional and none has a letter: Invoke would take `--help` for the value of a positional one.
_PLAIN: dict[str, Any] = {"positional": [], "auto_shortflags": False}


@task(
    **_PLAIN,
    iterable=["production", "also"],
    help={
        "into": "the repository to fence; any folder in it",
        "production": "what a proposer may change: a folder from the repository's root; may be repeated",
        "also": "writable too, but never evidence: tests/, docs/, CHANGELOG.md; may be repeated, or hold commas",
        "api": "the module whose public names properties call (default: the only package there is)",
        "function": "the API's function from bytes to bytes for fixtures",
        "ci": "the forge whose job is written too: github, or none (the default)",
        "dry_run": "say what would be written and what share of past changes passes, and write nothing",
    },
)
def init_split(  # noqa: PLR0913 - one parameter an option is how Invoke reads them
    c: Context,
    *,
    into: str = "",
    production: list[str] | None = None,
    also: list[str] | None = None,
    api: str = "",
    function: str = "",
    ci: str = "none",
    dry_run: bool = False,
) -> None:
    """Turn an existing repository into a fenced one: the kit, an oracle and a LOCK, staged and not committed.

    Shows what share of the last 500 changes each choice of --production and --also would have let through.

    example: invoke init-split --into ../host --production src/ --api parsekit.api --function normalise
    """
    ask = splitting.Ask(into, tuple(production or ()), tuple(also or ()), api, function, ci)
    _run(lambda: splitting.run(os.getcwd(), ask, dry=dry_run or _dry(c)))  # noqa: PTH109


@task(**_PLAIN)
def relock(c: Context) -> None:
    """Rewrite oracle/LOCK from the index and stage it; say which oracle files are not staged.

    A conflict in LOCK is resolved by this. example: git add oracle/properties/roundtrip.py && invoke relock
    """
    _run(lambda: relocking.run(os.getcwd(), dry=_dry(c)))  # noqa: PTH109


@task(
    **_PLAIN,
    help={
        "input": "a file with the input",
        "expected": "a file with the output that is owed; only its digest is stored",
        "function": "the API's function (default: the policy's)",
        "from_base": "take HEAD's own answer as the expectation",
        "reason": "why HEAD's answer is right; goes with --from-base",
    },
)
def add_fixture(  # noqa: PLR0913
    c: Context,
    *,
    input_: str = "",
    expected: str = "",
    function: str = "",
    from_base: bool = False,
    reason: str = "",
) -> None:
    """Store an input and the digest of the output it owes, under the input's digest; relock and stage.

    example: invoke add-fixture --input in.bin --expected out.bin
    """
    ask = adding.Ask(input_, expected, function, from_base, reason)
    _run(lambda: adding.run(os.getcwd(), ask, dry=_dry(c)))  # noqa: PTH109


@task(
    **_PLAIN,
    help={
        "id": "a name for the case: letters, digits, `_`, `.` and `-`",
        "path": "the test's file, from the repository's root",
        "owner": "who answers for the case until it is mended",
        "reason": "why it is flaky",
        "repro_cmd": "a shell line, run in the root, that fails now and then",
        "name": "freeze this one test of the file; the file stays, and you take the test out of it",
        "runs": "how often to run the command (default: the policy's freezes.runs)",
        "observed_failures": "what the scoring machine saw, instead of running the command here",
        "observed_runs": "of how many runs",
        "expires_days": "days from now (default, and most: the policy's freezes.longest_days)",
        "expires_unix": "or a time in seconds UTC",
        "expires_after": "or a count of commits on the main line; needs --ticket",
        "ticket": "where the case is discussed",
    },
)
def freeze_case(  # noqa: PLR0913
    c: Context,
    *,
    id_: str = "",
    path: str = "",
    owner: str = "",
    reason: str = "",
    repro_cmd: str = "",
    name: str = "",
    runs: str = "",
    observed_failures: str = "",
    observed_runs: str = "",
    expires_days: str = "",
    expires_unix: str = "",
    expires_after: str = "",
    ticket: str = "",
) -> None:
    """Move a flaky case out of the proposer's tree: observe, record, relock, stage. Not a skip: it has an owner.

    example: invoke freeze-case --id parse_timeout --path src/tests/test_parse_timeout.py --owner protocols
    --reason "drops datagrams" --repro-cmd "python -m pytest src/tests/test_parse_timeout.py" --expires-days 30
    """
    ask = freezing.Ask(id_, path, owner, reason, repro_cmd, name, runs, observed_failures, observed_runs, expires_days,
                       expires_unix, expires_after, ticket)  # fmt: skip
    _run(lambda: freezing.run(os.getcwd(), ask, dry=_dry(c), say=_say))  # noqa: PTH109


@task(
    **_PLAIN,
    help={
        "staged": "look at what is staged only, not at the work tree",
        "format": "text, or json for machines",
    },
)
def check(_: Context, *, staged: bool = False, format_: str = "text") -> None:
    """Check oracle, LOCK, store, frozen cases, policy and kit before a commit; each fault with what mends it.

    Ends in 0, or in 1 where something is to mend. example: invoke check --staged --format json
    """
    faults: list[int] = []

    def work() -> list[str]:
        if format_ not in {"text", "json"}:
            raise usage(f"--format {format_!r} is neither text nor json", "invoke check --format json")
        checked = checking.run(os.getcwd(), staged_only=staged)  # noqa: PTH109
        faults.append(checked.faults)
        if format_ == "json":
            return [json.dumps(checking.as_json(checked), indent=1, sort_keys=True)]
        return checking.as_lines(checked)

    _run(work, escaped=format_ != "json")
    if any(faults):
        raise Exit(code=WITH_FINDINGS)


class _Tasks(Collection):
    """A collection in which no name takes another's place; Invoke's own lets the later one win in silence."""

    def add_task(
        self,
        task: Task[Any],
        name: str | None = None,
        aliases: tuple[str, ...] | None = None,
        default: bool | None = None,  # noqa: FBT001 - Invoke's own signature
    ) -> None:
        """Add a task. Raises Exit with 75 if one of its names is taken."""
        for wanted in (name or task.name, *task.aliases, *(aliases or ())):
            _free(self, self.transform(wanted))
        super().add_task(task, name, aliases, default)

    def add_collection(self, coll: Collection, name: str | None = None, default: bool | None = None) -> None:  # noqa: FBT001
        """Add a collection. Raises Exit with 75 if its name is taken."""
        _free(self, self.transform(name or coll.name or ""))
        super().add_collection(coll, name, default)


def _free(tasks: Collection, name: str) -> None:
    if name in tasks.tasks or name in tasks.collections:
        why = f"tasks.py: {name!r} is there already, and Invoke would drop one of the two in silence; rename yours"
        raise Exit(f"REFUSED {int(Code.NOT_JUDGEABLE)}  {why}", code=int(Code.NOT_JUDGEABLE))


def collection() -> Collection:
    """All tasks, for a tasks.py of their own, as its `ns`."""
    tasks = _Tasks()
    for each in (init_split, relock, add_fixture, freeze_case, check):
        tasks.add_task(each)
    return tasks


def join(own: Collection) -> Collection:
    """Add these tasks to a host's own collection, as `fence.relock` and so on, and answer it.

    Raises Exit with 75 if the name is taken.
    """
    _free(own, "fence")
    own.add_collection(collection(), "fence")
    return own


def _dry(c: Context) -> bool:
    """True if Invoke was told to run nothing (`--dry`, INVOKE_RUN_DRY)."""
    return bool(c.config.run.dry)


def _run(work: Callable[[], Iterable[str]], *, escaped: bool = True) -> None:
    """Print what a task answers; turn its refusal into lines and an exit code."""
    try:
        _print(work(), sys.stdout, escaped=escaped)
    except RefusedError as error:
        code = error.code if isinstance(error, TaskError) else code_of(error.findings)
        _print(_refusal(error, code), sys.stderr)
        raise Exit(code=int(code)) from error
    except OSError as error:
        _print([f"REFUSED {int(Code.UNAVAILABLE)}  {error}", "  -> nothing is half done; mend that, and try again"],
               sys.stderr)  # fmt: skip
        raise Exit(code=int(Code.UNAVAILABLE)) from error


def _refusal(error: RefusedError, code: Code) -> list[str]:
    lines = [f"REFUSED {int(code)}  {error.findings[0].rule}: nothing was changed"]
    for f in error.findings:
        where = f.path + (f":{f.line}" if f.line else "")
        known = RULES.get(f.rule)
        lines.append(f"{where + ': ' if where else ''}{f.message}")
        lines.append(f"  -> {f.remedy or (known.remedy if known else '')}")
    return lines


def _say(line: str) -> None:
    _print([line], sys.stderr)


def _print(lines: Iterable[str], stream: TextIO, *, escaped: bool = True) -> None:
    for line in lines:
        # Names come from a repository and may hold what a terminal acts on, or what its encoding lacks.
        text = escape(line) if escaped else line
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()
