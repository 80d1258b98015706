"""One function a scoring step: read, judge, write. Here I/O and rules meet.

The way of a patch (design, sections 3 and 6): `begin` → `fence` → `candidate` → `evidence` twice → `verdict`. Each
step reads what earlier ones recorded in the run folder and records its own result; a step without a record makes
the verdict `none`.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from . import __version__, git, judging
from .candidate import confine
from .files import KIT, as_json
from .model import Evidence, Finding, FixtureResult, Plan, PropertyResult, RefusedError
from .oracle import policy as policies
from .report import verdict as report
from .rules import Code, code_of
from .score import stage

if TYPE_CHECKING:
    from collections.abc import Sequence

Run: TypeAlias = stage.Run  # what the Nox sessions hold of a run
resume = stage.resume
FENCE, CANDIDATE, FIXTURES, PROPERTIES = "fence", "candidate", "fixtures", "properties"
EVIDENCE_STEPS = (FIXTURES, PROPERTIES)
PENDING = ("pending", "retiring")
ISOLATION = ("level", "applied", "probe", "not_covered")
NAMES = {FENCE: "fence.json", CANDIDATE: "candidate.json", FIXTURES: "fixtures.json", PROPERTIES: "properties.json"}


def begin(request: dict[str, Any]) -> Run:
    """Make the run folder and record what was asked: `base`, `head`, `onto`, `repo`, `out`, `seed`, `subject`.

    Raises RefusedError with `run-folder`, `not-a-repository` or one of git's.
    """
    repository = git.locate(request["repo"])
    run = stage.begin(request["out"], [repository.worktree, repository.objects], Code.INTERNAL)
    run.record("request.json", {**request, "repo": repository.folder})
    run.record(stage.RUN, {"started": time.time(), "machine": platform.platform(), "folder": str(run.folder)})
    return run


def fence(run: Run, *, evidence: bool) -> Code:
    """Steps 1 to 7 of the design's section 6 on git objects, then, if `evidence` is asked for and the fence held,
    the export of the stage. Records `fence.json` and answers the fence's own code."""
    request = _read(run, "request.json")
    record: dict[str, Any] = {"plan": None, "changes": [], "policy": "", "lock": "", "account": []}
    try:
        repository = git.locate(request["repo"])
        with git.Store(repository, run.git_dir) as store:
            judged = judging.judge_range(store, request, record, evidence=evidence, now=int(time.time()))
            run.record(stage.PLAN, {"plan": record["plan"]})
            findings = judged.findings
            if evidence and code_of(findings) is Code.PASS:
                _export(run, store, judged, record)
    except RefusedError as error:
        findings = list(error.findings)
    record["findings"] = [asdict(f) for f in findings]
    run.record(NAMES[FENCE], record)
    return code_of(findings)


def _export(run: Run, store: git.Store, judged: judging.Judged, record: dict[str, Any]) -> None:
    """The stage: the oracle (base's; in a review head's), head's candidate (of the merge result) and base's, each in
    a folder of its own; and what the evidence steps need to know of the policy."""
    policy = judged.policy
    run.stage.mkdir(mode=0o700)
    stage.export_oracle(store, judged.oracle.files, run.stage / "oracle")
    run.record("oracle.json", {"digests": {f.path.removeprefix("oracle/"): f.blake3 for f in judged.oracle.files}})
    for tree, side in ((judged.plan.merge_result, "head"), (judged.plan.base_tree, "base")):
        stage.export_candidate(store, store.listing(tree), policy, run.stage / side)
    record["candidate"] = asdict(policy.candidate)
    record["suite"] = {**asdict(policy.properties), "function": policy.fixtures.function,
                       **{kind: [e.id for e in getattr(judged.oracle.pending, kind)] for kind in PENDING}}  # fmt: skip


def candidate(run: Run, python: str, site: Sequence[str]) -> Code:
    """Record the interpreter that runs the candidate, the folders of its installed requirements, and the confinement
    that a probe has proved, if the policy asks for one."""
    isolation, findings = confine.Isolation(), list[Finding]()
    request, settings = _read(run, "request.json"), _read(run, NAMES[FENCE])["candidate"]
    if settings["isolation"] == confine.CONFINED and not request.get("isolation"):
        hidden = {"the oracle": run.stage / "oracle", "base's stage": run.stage / "base", "the run folder": run.folder,
                  "the repository": Path(request["repo"])}  # fmt: skip
        try:
            isolation = confine.measure(python, site, {name: str(path) for name, path in hidden.items()})
        except RefusedError as error:
            findings += error.findings
        else:
            if isolation.level != confine.CONFINED:
                findings.append(confine.missing_finding(isolation, policies.PATH))
    run.record(NAMES[CANDIDATE], {
        "python": isolation.python or python, "site": list(site), "findings": [asdict(f) for f in findings],
        "isolation": asdict(isolation),
    })  # fmt: skip
    return code_of(findings)


def evidence(run: Run, kind: str) -> Code:
    """Run one kind of evidence (`fixtures` or `properties`) in a scorer process under a deadline, and record it.

    Nothing is run if the candidate's step ended in a finding: that is the verdict's.
    """
    from .score import supervise  # noqa: PLC0415 - the fence does without it

    if found := _read(run, NAMES[CANDIDATE])["findings"]:
        run.record(NAMES[kind], asdict(Evidence()))
        return code_of([Finding(**f) for f in found])
    scratch = run.folder / f"scratch-{kind}"
    scratch.mkdir(mode=0o700)
    job = run.folder / f"{kind}-job.json"
    before = _stage_faults(run)
    job_data, seconds = _job(run, kind, scratch)
    run.write(job.name, as_json(job_data))
    outcome, said = None, b""
    if not before:
        outcome, said = supervise.supervise(
            [sys.executable, "-s", "-P", str(KIT / "__main__.py"), "scorer", kind, str(job)],
            seconds=seconds, cwd=str(scratch), log=str(run.folder / f"{kind}.log"),
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(scratch), "TMPDIR": str(scratch),
                 "PYTHONHASHSEED": "0",
                 "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis")},
        )  # fmt: skip
    answer = _read_result(kind, said) if outcome is None and not before else Evidence()
    faults = [*before, *_stage_faults(run)]
    if outcome:
        faults.append(Finding(outcome, f"the scorer of {kind} gave no result; see {kind}.log", kind))
    answer = replace(answer, findings=(*answer.findings, *faults))
    run.record(NAMES[kind], asdict(answer))
    return code_of(answer.findings)


def _job(run: Run, kind: str, scratch: Path) -> tuple[dict[str, Any], float]:
    """`(the scorer's job, its deadline in seconds)`."""
    fenced, interpreter = _read(run, NAMES[FENCE]), _read(run, NAMES[CANDIDATE])
    settings, suite = fenced["candidate"], fenced["suite"]
    request, confined = _read(run, "request.json"), interpreter["isolation"]
    seconds = 60 + _units(run.stage / "oracle", kind) * 3 * settings["budget_seconds"]
    launches = {}
    for side in ("head", "base"):
        (scratch / side).mkdir(mode=0o700)
        root = run.stage / side
        launches[side] = {
            "python": interpreter["python"], "site": interpreter["site"], "api": settings["api"],
            "imports": [str(root / path) for path in settings["imports"] or ["./"]], "scratch": str(scratch / side),
            "memory": settings["memory"], "call_seconds": settings["call_seconds"],
            "cpu_seconds": int(seconds * (os.cpu_count() or 1)), "confinement": confined["confinement"],
            "readable": [*confined["readable"], str(root)],
        }  # fmt: skip
    seed = request["seed"] if request["seed"] is not None else suite["seed"]
    job = {
        "oracle": str(run.stage / "oracle"), **launches, "seed": seed, "examples": suite["examples"],
        "min_effective": suite["min_effective"], "budget_seconds": settings["budget_seconds"],
        "function": suite["function"], "only": "", **{kind: suite[kind] for kind in PENDING},
    }  # fmt: skip
    return job, seconds


def _units(oracle: Path, kind: str) -> int:
    """How many budgets a scorer may use: properties, or functions with fixtures."""
    if kind == FIXTURES:
        return 1 + sum(1 for p in (oracle / "fixtures").glob("*/") if p.is_dir())
    return 1 + sum(p.read_bytes().count(b"def prop_") for p in (oracle / "properties").rglob("*.py"))


def _stage_faults(run: Run) -> list[Finding]:
    """Whether the exported oracle is still what LOCK says, byte for byte."""
    locked, actual = _read(run, "oracle.json")["digests"], stage.digests(run.stage / "oracle", judging.blake3_hex())
    return [Finding("stage-changed", "is not what was exported", f"oracle/{path}")
            for path in sorted({*locked, *actual}) if locked.get(path) != actual.get(path)]  # fmt: skip


def _read_result(kind: str, said: bytes) -> Evidence:
    from .score import suite  # noqa: PLC0415 - needs msgspec, which only the scorer's environment has

    try:
        return suite.evidence_from_json(said)
    except ValueError as error:
        return Evidence(findings=(Finding("scorer-died", f"the scorer left no readable result: {error}", kind),))


def verdict(run: Run, *, evidence: bool) -> dict[str, Any]:
    """Fold what was recorded into one verdict and write it; a step that recorded nothing makes it `none`."""
    fenced, request = run.read(NAMES[FENCE]), _read(run, "request.json")
    findings = [Finding(**f) for f in fenced["findings"]] if fenced else [_missing(FENCE)]
    plan = _plan_of(fenced)
    steps = {FENCE: int(code_of(findings))}
    answers, isolation = [], dict[str, Any]()
    if evidence and code_of(findings) is Code.PASS:
        made = run.read(NAMES[CANDIDATE])
        findings += [Finding(**f) for f in made["findings"]] if made else [_missing(CANDIDATE)]
        isolation = {key: made["isolation"][key] for key in ISOLATION} if made and "isolation" in made else {}
        if code_of(findings) is Code.PASS:
            for kind in EVIDENCE_STEPS:
                answer = _recorded(run, kind)
                steps[kind] = int(code_of(answer.findings))
                answers.append(answer)
            findings += _all_ran(run, answers)
    fenced = fenced or {}
    findings += _lowered(request, fenced, [*findings, *(f for a in answers for f in a.findings)])
    facts = report.Facts(
        gate=fenced.get("gate", {"version": __version__}), policy=fenced.get("policy", ""), lock=fenced.get("lock", ""),
        account=tuple(fenced.get("account", [])),
        seed=request["seed"] if request["seed"] is not None else (fenced.get("suite") or {}).get("seed"),
        versions={"python": platform.python_version()},
        isolation=isolation, steps=steps,
        binding=bool(answers and plan and plan.subject != "self" and plan.onto and _as_asked(request)),
    )  # fmt: skip
    built = report.build(plan, fenced.get("changes", []), findings, answers, facts)
    timings = {kind: answer.timings for kind, answer in zip(EVIDENCE_STEPS, answers, strict=False)}
    run.finish(built, {"ended": time.time(), "names": plan.names if plan else {}, "timings": timings})
    return built


def _as_asked(request: dict[str, Any]) -> bool:
    """True if nobody lowered what the policy asks for: another seed, an adoption, or less isolation binds nothing."""
    return request["seed"] is None and not request["adopt"] and not request.get("isolation")


def _lowered(request: dict[str, Any], fenced: dict[str, Any], findings: Sequence[Finding]) -> list[Finding]:
    """In CI a pass that does not bind for want of isolation would be taken for one that does: it is refused."""
    wanted = (fenced.get("candidate") or {}).get("isolation") == confine.CONFINED
    if not (wanted and request.get("isolation") and request.get("ci")) or code_of(findings) is not Code.PASS:
        return []
    why = "CI is set and --isolation any lowered what the policy asks for"
    return [Finding("isolation-missing", why, policies.PATH, remedy="leave --isolation out")]


def _plan_of(fenced: dict[str, Any] | None) -> Plan | None:
    if not fenced or not fenced["plan"]:
        return None
    plan = fenced["plan"]
    return Plan(**{**plan, "merge_bases": tuple(plan["merge_bases"]), "methods": tuple(plan["methods"])})


def _missing(step: str) -> Finding:
    return Finding("step-missing", f"score-{step} recorded nothing", step)


def _recorded(run: Run, kind: str) -> Evidence:
    record = run.read(NAMES[kind])
    if record is None:
        return Evidence(findings=(_missing(kind),))
    return Evidence(
        tuple(PropertyResult(**p) for p in record["properties"]),
        tuple(FixtureResult(**{**f, "diff": tuple(f["diff"])}) for f in record["fixtures"]),
        tuple(Finding(**f) for f in record["findings"]), record["versions"], record["repeatable"], record["timings"],
    )  # fmt: skip


def _all_ran(run: Run, answers: Sequence[Evidence]) -> list[Finding]:
    """Every fixture of the oracle has a result, and something was judged at all: zero run is zero evidence."""
    digests = _read(run, "oracle.json")["digests"]
    wanted = {p.removesuffix(".in") for p in digests if p.startswith("fixtures/") and p.endswith(".in")}
    ran = {f.id for a in answers for f in a.fixtures}
    missing = [Finding("step-missing", "the fixture has no result", w) for w in sorted(wanted - ran)]
    properties = [p for a in answers for p in a.properties]
    told = {p.id.partition("::")[0] for p in properties}
    told |= {f.path.removeprefix("oracle/") for a in answers for f in a.findings}
    missing += [
        Finding("step-missing", "the file's properties have no result", path)
        for path in sorted(digests)
        if path.startswith("properties/") and path.endswith(".py") and path not in told
        and b"\ndef prop_" in (run.stage / "oracle" / path).read_bytes()
    ]  # fmt: skip
    if not missing and not ran and not properties and code_of(f for a in answers for f in a.findings) is Code.PASS:
        missing.append(Finding("no-evidence", "no property and no fixture was run", "oracle"))
    return missing


def _read(run: Run, name: str) -> dict[str, Any]:
    record = run.read(name)
    if record is None:
        raise RefusedError(Finding("step-missing", f"{name} is not there or is another run's", name))
    return record


def tree_of(folder: str, commit: str) -> str:
    """The tree id of a commit. Raises RefusedError with `revision-unknown` and the like."""
    repository = git.locate(folder)
    with tempfile.TemporaryDirectory() as scratch, git.Store(repository, Path(scratch) / "git") as store:
        return store.commit_and_tree(git.resolve(repository, [commit])[commit])[1]
