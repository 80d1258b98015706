"""The fixtures of an exported oracle: bytes go to the candidate, bytes must come back, and their digest decides."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..candidate.errors import CandidateFault
from ..candidate.protocol import MisuseError
from ..model import Finding, FixtureResult
from ..oracle import fixtures as store
from . import shown
from .calibrate import FALSE, FAULT, FLAKY, HELD, MISUSE, NO_BYTES, RAISED, Outcome, fixture_blame, status

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..candidate.client import Client
    from .job import Job
    from .pair import Pair


@dataclass(frozen=True, slots=True)
class _Fixture:
    """One pair: the input's file and its path in the repository, the API's function, the expected digest, and the
    adapter that is called instead of the function; `broken` if that cannot be loaded."""

    file: Path
    path: str
    function: str
    expected: str
    adapter: Path | None
    broken: bool = False

    @property
    def id(self) -> str:
        """The name of the evidence: its path in the oracle, without the suffix."""
        return self.path.removeprefix("oracle/").removesuffix(".in")

    def call(self, api: Any, side: str, data: bytes) -> object:
        """What the candidate of `side` makes of `data`, through the adapter if there is one."""
        return _adapter(self.adapter, side)(api, data) if self.adapter else api[self.function](data)


@dataclass(slots=True)
class _Budget:
    """The seconds that are left to each function, by candidate."""

    seconds: float
    left: dict[tuple[str, str], float] = field(default_factory=dict)


def run(job: Job, pair: Pair, progress: Callable[[str, str], None]) -> tuple[list[FixtureResult], list[Finding]]:
    """The result of every fixture of the oracle (or of `job.only`), and what follows from them.

    Raises RefusedError if a candidate's interpreter cannot be used.
    """
    fixtures, findings = _discovered(Path(job.oracle) / "fixtures", job.function)
    if job.only:
        fixtures = [fixture for fixture in fixtures if fixture.id == job.only]
        if job.only.startswith("fixtures/") and not fixtures:
            findings.append(Finding("usage", f"the oracle has no fixture {job.only}"))
    broken = pair.broken() if fixtures else None
    findings += [broken] if broken else []
    budget, results = _Budget(job.budget_seconds), []
    for fixture in fixtures:
        if broken or fixture.broken:
            word = status(met=False, pending=fixture.id in job.pending, retiring=fixture.id in job.retiring, good="met")
            results.append(FixtureResult(fixture.id, fixture.function, fixture.expected, "", word))
        else:
            results.append(_judged(job, pair, budget, fixture, findings))
        progress(fixture.id, results[-1].status)
    return results, findings


def _judged(job: Job, pair: Pair, budget: _Budget, fixture: _Fixture, findings: list[Finding]) -> FixtureResult:
    """The result of one fixture on head; if head misses it, base is tried and a finding is added."""
    head, output = _tried(pair, pair.head, budget, fixture)
    word = status(head.met, fixture.id in job.pending, fixture.id in job.retiring, good="met")
    lines: tuple[str, ...] = ()
    if word == "missed":
        base, expected = _tried(pair, pair.base, budget, fixture)
        finding = fixture_blame(fixture.id[:-52], head, base, fixture.path)
        if finding not in findings:  # base's broken candidate is one fault, not one a fixture
            findings.append(finding)
        lines = (f"head: {pair.clean(head.detail)}",) if head.detail else ()
        if base.met and output is not None and expected is not None:
            lines = shown.diff(expected, output)
    actual = "" if output is None else hashlib.sha256(output).hexdigest()
    return FixtureResult(fixture.id, fixture.function, fixture.expected, actual, word, lines)


def _tried(pair: Pair, client: Client, budget: _Budget, fixture: _Fixture) -> tuple[Outcome, bytes | None]:
    """What one candidate makes of the fixture, and its output if it gave bytes."""
    key, start = ("base" if client is pair.base else "head", fixture.function), monotonic()
    left = budget.left.setdefault(key, budget.seconds)
    if left <= 0:
        return Outcome(FAULT, "candidate-hung", "the time for this function's fixtures is spent"), None
    try:
        pair.ready(client, start + left)
        return _asked(client, key[0], fixture)
    except CandidateFault as fault:
        return Outcome(FAULT, fault.rule, pair.clean(fault.message)), None
    finally:
        budget.left[key] = left - (monotonic() - start)


def _asked(client: Client, side: str, fixture: _Fixture) -> tuple[Outcome, bytes | None]:
    """Call the candidate twice: both answers must be bytes, the same, and the expected ones. Raises CandidateFault."""
    data = fixture.file.read_bytes()
    client.misuse = None
    answers: list[bytes] = []
    for _ in range(2):
        try:
            answer = fixture.call(client.api, side, data)
        except MisuseError as error:
            return Outcome(MISUSE, detail=shown.error(error)), None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the candidate's exceptions, or the adapter's own
            return Outcome(RAISED, detail=shown.error(error)), None
        finally:
            if client.fault is not None:  # an adapter may have swallowed it
                raise client.fault.again()
        if client.misuse is not None:
            return Outcome(MISUSE, detail=shown.error(client.misuse)), None
        if type(answer) is not bytes:
            return Outcome(NO_BYTES, detail=f"it gave a value of type {type(answer).__name__}"), None
        answers.append(answer)
    first, second = answers
    if first != second:
        return Outcome(FLAKY), None
    met = hashlib.sha256(first).hexdigest() == fixture.expected
    return Outcome(HELD if met else FALSE), first


def _discovered(root: Path, function: str) -> tuple[list[_Fixture], list[Finding]]:
    """Every fixture of the store, in order of ids. The store is audited before; what is odd here is a finding."""
    found: list[_Fixture] = []
    findings: list[Finding] = []
    for file in sorted(root.rglob("*.in")):
        path = store.FOLDER + file.relative_to(root).as_posix()
        parts, answer = store.split(path), file.with_suffix(".expected")
        expected = store.expected_of(answer.read_bytes()) if answer.is_file() else None
        if parts is None:
            findings.append(Finding("fixture-name", "neither a fixture nor an adapter", path))
        elif expected is None:
            findings.append(Finding("expected-malformed", "missing, or not 64 hex digits and a newline", path))
        elif not (parts[0] or function):
            findings.append(Finding("policy-malformed", "fixtures.function is empty, and the store holds some", path))
        else:
            adapter = file.with_name(store.ADAPTER)
            wrong = _wrong(adapter) if parts[0] and adapter.exists() else ""
            if wrong:
                where = path.rsplit("/", 1)[0] + "/" + store.ADAPTER
                findings.append(Finding("property-malformed", f"cannot be loaded: {wrong}", where))
            used = adapter if parts[0] and adapter.exists() else None
            found.append(_Fixture(file, path, parts[0] or function, expected, used, bool(wrong)))
    return sorted(found, key=lambda fixture: fixture.id), list(dict.fromkeys(findings))


@cache
def _wrong(adapter: Path) -> str:
    """Why an adapter cannot be loaded, or ""."""
    try:
        _adapter(adapter, "head")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the file's own code
        return shown.error(error)
    return ""


@cache
def _adapter(file: Path, side: str) -> Callable[[Any, bytes], object]:
    """The `run` of a human-written adapter, loaded once for each side, so that nothing that one revision answered is
    left for the other. It may import, at its top, files beside it. Raises whatever its code raises."""
    folder, name = str(file.parent), f"_oracle_adapter_{side}_{file.parent.name}"
    module = sys.modules[name] = ModuleType(name)  # dataclasses look their module up
    module.__file__ = str(file)
    sys.path.append(folder)
    try:
        exec(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - people's
    finally:
        sys.path.remove(folder)
        beside = [n for n, m in sys.modules.items() if (getattr(m, "__file__", None) or "").startswith(folder + "/")]
        for helper in set(beside) - {name}:
            del sys.modules[helper]  # another function's folder, or the other side, has its own
    run: Callable[[Any, bytes], object] = module.run
    return run
