"""How a task refuses: bad input is 64, a rule that would be broken 75, something missing 69. Nothing was changed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ..files import KIT_PATH
from ..model import Finding, RefusedError
from ..rules import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SHOWN = 5  # paths that a refusal names


class TaskError(RefusedError):
    """A task stops before it changes anything; `code` is its exit code. Such findings are no verdict's."""

    def __init__(self, code: Code, *findings: Finding) -> None:
        """Raise with the exit code and at least one finding."""
        super().__init__(*findings)
        self.code = code


def usage(message: str, remedy: str) -> TaskError:
    """The refusal of bad input."""
    return TaskError(Code.USAGE, Finding("usage", message, remedy=remedy))


def broken(rule: str, message: str, remedy: str, path: str = "") -> TaskError:
    """The refusal of what would break a rule: a dirty tree, a cap, a clash."""
    return TaskError(Code.NOT_JUDGEABLE, Finding(rule, message, path, remedy=remedy))


def shown(paths: Sequence[str]) -> str:
    """Some of `paths`, and how many more there are."""
    return ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")


def blake3_hex() -> Callable[[bytes], str]:
    """BLAKE3 as a function from bytes to hex. Raises TaskError with the line that installs it."""
    try:
        module = importlib.import_module("blake3")
    except ImportError as error:
        remedy = f"python -m pip install --require-hashes -r {KIT_PATH}requirements/tasks.txt"
        finding = Finding("package-missing", "blake3 is not installed", remedy=remedy)
        raise TaskError(Code.UNAVAILABLE, finding) from error
    return lambda data: str(module.blake3(data).hexdigest())
