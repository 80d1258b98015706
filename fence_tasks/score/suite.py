"""One evidence run as a value, `Job`, and the two functions that carry it out in the scorer's process."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from importlib.metadata import version
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, get_origin, get_type_hints

from hypothesis.configuration import set_hypothesis_home_dir

from ..candidate.launch import Launch
from ..model import Evidence, Finding, FixtureResult, PropertyResult
from . import fixtures, properties
from .pair import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator

Progress = Callable[[str, str], None]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Job:
    """What is run on what.

    `oracle` is the absolute folder of the exported, verified oracle; `head` and `base` say how the candidates are
    started; `seed`, `examples` and `min_effective` are the policy's; `budget_seconds` bounds one property, or all
    fixtures of one function; `function` is called for the fixtures at the store's top; `only` names one piece of
    evidence ("" is all); `pending` and `retiring` name evidence as people listed it.
    """

    oracle: str
    head: Launch
    base: Launch
    seed: int
    examples: int
    min_effective: float
    budget_seconds: float
    function: str = ""
    only: str = ""
    pending: tuple[str, ...] = ()
    retiring: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The job as JSON, for the scorer's process."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str | bytes) -> Job:
        """The job that `to_json` wrote. Raises ValueError for anything else."""
        document = json.loads(text)
        if type(document) is dict:
            document = {k: _made(Launch, v, k) if k in {"head", "base"} else v for k, v in document.items()}
        return _made(Job, document, "job")


def run_properties(job: Job, progress: Progress | None = None) -> Evidence:
    """Run the oracle's properties. `progress` is told each id and status.

    Raises RefusedError where a candidate's interpreter cannot be used. Must run in a process of its own.
    """
    with _storage():
        return _run(job, progress, properties.run)


def run_fixtures(job: Job, progress: Progress | None = None) -> Evidence:
    """Run the oracle's fixtures. `progress` is told each id and status. Raises as `run_properties` does."""
    return _run(job, progress, fixtures.run)


def evidence_from_json(text: str | bytes) -> Evidence:
    """The evidence whose `dataclasses.asdict` is the JSON `text`. Raises ValueError for anything else."""
    document = json.loads(text)
    if type(document) is dict:
        kinds = {"properties": PropertyResult, "fixtures": FixtureResult, "findings": Finding}
        for key, kind in kinds.items():
            rows = document.get(key)
            document[key] = tuple(_made(kind, row, key) for row in rows) if type(rows) is list else rows
    return _made(Evidence, document, "evidence")


def _run(job: Job, progress: Progress | None, step: Callable[[Job, Pair, Progress], Any]) -> Evidence:
    timings: dict[str, float] = {}
    last = monotonic()

    def note(name: str, word: str) -> None:
        nonlocal last
        timings[name], last = round(monotonic() - last, 3), monotonic()
        if progress is not None:
            progress(name, word)

    with Pair(job.head, job.base, job.oracle) as pair:
        results, findings = step(job, pair, note)
        versions = {"python": platform.python_version(), **{name: version(name) for name in ("hypothesis", "msgspec")}}
        if pair.head.language:
            versions["candidate"] = pair.head.language
        kind = "properties" if step is properties.run else "fixtures"
        return Evidence(
            **{kind: tuple(results)}, findings=tuple(findings), versions=versions, repeatable=not pair.limited,
            timings=timings,
        )  # fmt: skip


@contextmanager
def _storage() -> Iterator[None]:
    """A storage folder for Hypothesis that nobody else wrote: it reads what lies in `.hypothesis` where it runs."""
    if os.environ.get("HYPOTHESIS_STORAGE_DIRECTORY"):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="fence-hypothesis-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def _made(kind: type[_T], document: Any, where: str) -> _T:
    """An instance of the dataclass `kind` from JSON: no key is unknown, what has no default is there, and every value
    is of its type.

    Raises ValueError.
    """
    hints, values = get_type_hints(kind), dict[str, Any]()
    described: Any = kind
    needed = {f.name for f in fields(described) if f.default is MISSING and f.default_factory is MISSING}
    if type(document) is not dict or not needed <= document.keys() <= hints.keys():
        raise ValueError(f"{where}: not exactly the keys {', '.join(hints)}")
    for name, value in document.items():
        plain, values[name] = get_origin(hints[name]) or hints[name], value
        if plain is float and type(value) is int:
            values[name] = float(value)
        if hints[name] == tuple[str, ...] and type(value) is list and all(type(item) is str for item in value):
            values[name] = tuple(value)
        if type(values[name]) is not plain:
            raise ValueError(f"{where}.{name}: not of type {hints[name]}")
    return kind(**values)
