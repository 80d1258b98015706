"""The properties of an exported oracle: each runs on head's candidate, and on base's if head misses it."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from ..candidate.errors import CandidateFault
from ..model import Finding, PropertyResult
from .calibrate import COVER, FAULT, FLAKY, REFERENCE, STARVED, Outcome, property_blame, status
from .discover import Folder
from .trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ..candidate.client import Client
    from .discover import Property
    from .job import Job
    from .pair import Pair

#: What one example cannot show, so that head's counterexample says nothing about base.
_OF_MANY = {FLAKY, REFERENCE, STARVED, COVER}


@dataclass(frozen=True, slots=True)
class _Run:
    """What one evidence run works with, and the findings that it gathers."""

    job: Job
    pair: Pair
    folder: Folder
    findings: list[Finding] = field(default_factory=list)


def run(job: Job, pair: Pair, progress: Callable[[str, str], None]) -> tuple[list[PropertyResult], list[Finding]]:
    """The result of every property of the oracle (or of `job.only`), and what follows from them.

    Raises RefusedError if a candidate's interpreter cannot be used.
    """
    this = _Run(job, pair, Folder(job.oracle))
    results: list[PropertyResult] = []
    with this.folder.importable():
        broken = pair.broken() if this.folder.files else None
        this.findings.extend([broken] if broken else [])
        for file, props in _discovered(this):
            for prop in props:
                results.append(_unrun(job, prop) if broken else _judged(this, file, prop))
                progress(prop.id, results[-1].status)
    return results, this.findings


def _discovered(this: _Run) -> Iterator[tuple[Path, list[Property]]]:
    """Each file's properties, loaded just before they run. A file without any is a finding, unless it helps others
    or its name starts with `_`; so is an `only` that names nothing."""
    only, findings = this.job.only, this.findings
    empty: list[tuple[Path, str]] = []
    helpers: set[Path] = set()
    found = False
    for file in this.folder.files:
        name = f"properties/{file.relative_to(this.folder.root).as_posix()}"
        if only and only.split("::")[0] != name:
            continue
        props, faults = this.folder.load(file)
        helpers |= this.folder.helpers()
        findings += faults
        if not props and not faults and not file.name.startswith("_"):
            empty.append((file, name))
        chosen = [prop for prop in props if only in {"", prop.id}]
        found = found or bool(chosen or faults)
        if chosen:
            yield file, chosen
    alone = [name for file, name in empty if file not in helpers]
    findings += [Finding("property-malformed", "no prop_ function, and no property imports it", f"oracle/{name}")
                 for name in alone]  # fmt: skip
    if only.startswith("properties/") and not found and not alone:
        findings.append(Finding("usage", f"the oracle has no property {only}"))


def _unrun(job: Job, prop: Property) -> PropertyResult:
    """The result of a property whose candidate cannot be imported."""
    word = status(False, prop.id in job.pending, prop.id in job.retiring, good="held")
    return PropertyResult(prop.id, 0, 0, 0, 0, "", status=word)


def _judged(this: _Run, file: Path, prop: Property) -> PropertyResult:
    """The result of one property on head; if head misses it, base is tried and a finding is added."""
    trial, head = _tried(this, this.pair.head, prop)
    word = status(head.met, prop.id in this.job.pending, prop.id in this.job.retiring, good="held")
    if word == "missed":
        base = _on_base(this, file, prop, trial.form if head.kind not in _OF_MANY else None)
        finding = property_blame(prop.name, head, base, prop.path, prop.line)
        if finding not in this.findings:  # base's broken candidate is one fault, not one a property
            this.findings.append(finding)
    return PropertyResult(
        prop.id, trial.examples, trial.effective, trial.rejected, trial.calls, trial.cases(),
        trial.record.shares(), this.pair.clean(trial.counterexample), word,
    )  # fmt: skip


def _on_base(this: _Run, file: Path, prop: Property, form: bytes | None) -> Outcome:
    """What the property comes to on base: first on examples of its own, then on the very one that head missed."""
    base = Outcome(FAULT, "property-malformed", "the property is not there when its file is loaded again")
    for one in (None, form) if prop.drawn and form is not None else (None,):
        props, _ = this.folder.load(file)
        for same in props:
            if same.id == prop.id:
                _, base = _tried(this, this.pair.base, same, one)
        if not base.met:
            break
    return base


def _tried(this: _Run, client: Client, prop: Property, form: bytes | None = None) -> tuple[Trial, Outcome]:
    """One run of the property on one candidate, or of the one example that `form` encodes."""
    reference = this.pair.reference if prop.compares else None
    trial = Trial(prop, client, reference)
    until = monotonic() + this.job.budget_seconds
    for one, kind in ((client, FAULT), (reference, REFERENCE)):
        try:
            if one is not None:
                this.pair.ready(one, until)
        except CandidateFault as fault:
            return trial, Outcome(kind, fault.rule, this.pair.clean(fault.message))
    if form is not None:
        return trial, trial.replay(form)
    return trial, trial.run(this.job.seed, this.job.examples, this.job.min_effective)
