"""The two functions that carry a job out in the scorer's process."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from importlib.metadata import version
from time import monotonic
from typing import TYPE_CHECKING, Any

from hypothesis.configuration import set_hypothesis_home_dir

from ..model import Evidence, Finding, FixtureResult, PropertyResult
from . import fixtures, properties
from .job import Job, made
from .pair import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator

Progress = Callable[[str, str], None]


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
            document[key] = tuple(made(kind, row, key) for row in rows) if type(rows) is list else rows
    return made(Evidence, document, "evidence")


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
