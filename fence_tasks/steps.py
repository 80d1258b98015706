"""One function a scoring step: read, judge, write. Here I/O and rules meet.

The way of a patch (design, sections 3 and 6): `begin` → `fence` → `candidate` → `evidence` twice → `verdict`. Each
step reads what earlier ones recorded in the run folder and records its own result; a step without a record makes
the verdict `none`.
"""

from __future__ import annotations

import importlib
import platform
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__, checkout, git
from .fence import frozen, judge
from .files import KIT, KIT_PATH, as_json, in_kit, kit_digest, kit_files
from .model import (
    REGULAR_MODES,
    Evidence,
    Finding,
    FixtureResult,
    Plan,
    PropertyResult,
    RefusedError,
)
from .oracle import audit
from .oracle import policy as policies
from .oracle.policy import covers
from .report import verdict as report
from .rules import Code, code_of
from .score import plans, stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .model import Change
    from .oracle.policy import Policy
    from .score.stage import Run
    from .trees import Difference

#: What a later issue builds; until then a policy that asks for it is refused, never half obeyed.
NOT_COVERED = ("network", "writes outside scratch", "reading other files", "signals", "processes")
FENCE, CANDIDATE, FIXTURES, PROPERTIES = "fence", "candidate", "fixtures", "properties"
EVIDENCE_STEPS = (FIXTURES, PROPERTIES)
PENDING = ("pending", "retiring")
NAMES = {FENCE: "fence.json", CANDIDATE: "candidate.json", FIXTURES: "fixtures.json", PROPERTIES: "properties.json"}


def begin(request: dict[str, Any]) -> Run:
    """Make the run folder and record what was asked: `base`, `head`, `onto`, `repo`, `out`, `seed`, `subject`.

    Raises RefusedError with `run-folder`, `not-a-repository` or one of git's.
    """
    repository = git.locate(request["repo"])
    run = stage.begin(request["out"], [repository.worktree, repository.objects])
    run.record("request.json", {**request, "repo": repository.folder})
    run.record(stage.RUN, {"started": time.time(), "machine": platform.platform(), "folder": str(run.folder)})
    return run


def fence(run: Run, *, evidence: bool) -> Code:
    """Steps 1 to 7 of the design's section 6 on git objects, then, if `evidence` is asked for and the fence held,
    the export of the stage. Records `fence.json` and answers the fence's own code."""
    request = _read(run, "request.json")
    record: dict[str, Any] = {"plan": None, "changes": [], "findings": [], "policy": "", "lock": "", "candidate": None}
    try:
        repository = git.locate(request["repo"])
        with git.Store(repository, run.git_dir) as store:
            findings = _fence(run, store, request, record, evidence=evidence)
    except RefusedError as error:
        findings = list(error.findings)
    record["findings"] = [asdict(f) for f in findings]
    run.record(NAMES[FENCE], record)
    return code_of(findings)


def _fence(run: Run, store: git.Store, request: dict[str, Any], record: dict[str, Any], *,
           evidence: bool) -> list[Finding]:  # fmt: skip
    blake3 = blake3_hex()
    plan, head_tree, conflicts = plans.make(store, request)  # 1 plan, 2 merge result
    record["plan"] = asdict(plan)
    run.record(stage.PLAN, {"plan": asdict(plan)})
    changes, moved = plans.changes(store, plan, head_tree, conflicts=bool(conflicts))  # 3 changes
    oracle = plans.oracle(store, plan.base_tree, blake3)
    audited = audit.audit(oracle)  # 6 LOCK, store, manifest: base's, which the merge result may not change
    findings = list(audited.findings)
    record["lock"] = audited.lock_digest
    record["policy"] = next((f.blake3 for f in oracle if f.path == policies.PATH), "")
    if audited.policy is None:
        return findings
    policy = audited.policy
    patch = _patch(store, plan, changes, moved, audited)
    findings += judge.judge(patch, policy)  # 4 paths, 5 protected entries, 7 frozen cases
    findings += conflicts
    findings += _gate(store, plan, blake3, record)
    record["changes"] = report.changes_as_rows(patch.changes, findings)
    if evidence:
        findings += _supported(policy, audited)
        if code_of(findings) is Code.PASS:
            _export(run, store, plan, audited)
            record["candidate"] = asdict(policy.candidate)
            record["suite"] = {**asdict(policy.properties), "function": policy.fixtures.function,
                               **{kind: [e.id for e in getattr(audited.pending, kind)] for kind in PENDING}}
    return findings


def _patch(store: git.Store, plan: Plan, found: Difference, moved: set[str], audited: audit.Audit) -> judge.Patch:
    """What `judge` needs to know, with file contents only where a frozen case asks for them."""
    policy = audited.policy
    assert policy is not None  # noqa: S101 - the caller has asked
    if plan.subject == "self":
        return judge.Patch(())
    new = [c for c in found.changes if c.new_mode in REGULAR_MODES]
    odd = store.not_blobs([c.new_oid for c in new])
    malformed = found.faults + [(c.path, "its object is not a file's content") for c in new if c.new_oid in odd]
    copies = judge.suspected_copies(found.changes, audited.files, policy)
    if copies:  # rare, so base is listed only then
        elsewhere = {e.oid for e in store.listing(plan.base_tree) if not covers("oracle/", e.path)}
        secret = {f.path for f in audited.files if f.oid not in elsewhere}
        copies = {path: evidence for path, evidence in copies.items() if evidence in secret}
    return judge.Patch(
        tuple(found.changes), {folder: [e.path for e in entries] for folder, entries in found.folders.items()},
        tuple(malformed), tuple(store.touching(plan.base, plan.head, ["oracle/", *policy.gate.paths])),
        frozenset(moved), _cases(store, plan, audited),
        _texts(store, [c for c in new if c.new_oid not in odd]) if audited.cases else (), tuple(copies.items()),
    )  # fmt: skip


def _cases(store: git.Store, plan: Plan, audited: audit.Audit) -> tuple[frozen.Frozen, ...]:
    """The frozen cases with their stored content; a case whose path base still has lost some of its tests only."""
    oids = {f.path: f.oid for f in audited.files}
    there = store.lookup(plan.base_tree, [case.retired_src_path for case in audited.cases])
    stored = [oids.get(case.frozen_path or "", "") for case in audited.cases]
    contents = dict(zip([o for o in stored if o], store.contents([o for o in stored if o]), strict=True))
    return tuple(
        frozen.Frozen(case, contents[oid].data if oid else b"", bool(there[case.retired_src_path]))
        for case, oid in zip(audited.cases, stored, strict=True)
    )


def _texts(store: git.Store, changes: Sequence[Change]) -> tuple[frozen.Text, ...]:
    changed = [c for c in changes if c.new_oid != c.old_oid]
    new = store.contents([c.new_oid for c in changed])
    texts = [frozen.Text(c.path, blob.data) for c, blob in zip(changed, new, strict=True)]
    edited = {c.path: c.old_oid for c in changed if c.old_mode in REGULAR_MODES}
    old = dict(zip(edited, store.contents(list(edited.values())), strict=True))
    return tuple(replace(t, old=old[t.path].data) if t.path in old else t for t in texts)


def _gate(store: git.Store, plan: Plan, blake3: Callable[[bytes], str], record: dict[str, Any]) -> list[Finding]:
    """Whether the gate that runs is base's, bytes compared after CRLF → LF. It catches mix-ups, not attacks."""
    mine = kit_files()
    record["gate"] = {"version": __version__, "digest": kit_digest(mine, blake3)}
    entries = store.listing(plan.base_tree, KIT_PATH.rstrip("/"))
    if not entries:
        return [Finding("gate-note", f"base has no {KIT_PATH}; the gate is that of whoever runs it", KIT_PATH)]
    files = [e for e in entries if e.mode in REGULAR_MODES and in_kit(e.path.removeprefix(KIT_PATH))]
    blobs = store.contents([e.oid for e in files])
    bases = {e.path.removeprefix(KIT_PATH): blob.data.replace(b"\r\n", b"\n")
             for e, blob in zip(files, blobs, strict=True)}  # fmt: skip
    differing = sorted(p for p in {*mine, *bases} if mine.get(p) != bases.get(p))
    if not differing:
        return []
    rule = "gate-note" if plan.subject == "self" else "gate-differs"
    shown = ", ".join(differing[:3]) + (f" and {len(differing) - 3} more" if len(differing) > 3 else "")
    remedy = f"git worktree add ../gate {plan.base[:12]}, then run the gate from there with --repo"
    return [Finding(rule, f"differs from base: {shown}", KIT_PATH, remedy=remedy)]


def _supported(policy: Policy, audited: audit.Audit) -> list[Finding]:
    """What the policy asks for and this version cannot do. Half a gate is no gate: 69."""
    skips = policy.skips
    wanted = (
        ("isolation-missing", policy.candidate.isolation == "confined", 'isolation = "confined"'),
        ("feature-missing", "ban" in (skips.unconditional, skips.conditional, skips.deleted), "a ban on skips"),
        ("feature-missing", policy.candidate.adapter != "python", f"adapter = {policy.candidate.adapter!r}"),
        ("feature-missing", bool(policy.candidate.build), "a build"),
        ("feature-missing", policy.people.route != "refuse", f"route = {policy.people.route!r}"),
    )
    findings = [Finding(rule, f"{what} needs a later version of the kit", policies.PATH)
                for rule, asked, what in wanted if asked]  # fmt: skip
    if not audited.properties and not audited.fixtures:
        findings.append(Finding("no-evidence", "the oracle has neither a property nor a fixture", "oracle"))
    return findings


def _export(run: Run, store: git.Store, plan: Plan, audited: audit.Audit) -> None:
    """The stage: base's oracle, head's candidate (of the merge result) and base's, each in a folder of its own."""
    policy = audited.policy
    assert policy is not None  # noqa: S101 - the caller has asked
    run.stage.mkdir(mode=0o700)
    stage.export_oracle(store, audited.files, run.stage / "oracle")
    run.record("oracle.json", {"digests": {f.path.removeprefix("oracle/"): f.blake3 for f in audited.files}})
    for tree, side in ((plan.merge_result, "head"), (plan.base_tree, "base")):
        stage.export_candidate(store, store.listing(tree), policy, run.stage / side)


def candidate(run: Run, python: str, site: Sequence[str]) -> Code:
    """Record the interpreter that runs the candidate and the folders of its installed requirements."""
    run.record(NAMES[CANDIDATE], {"python": python, "site": list(site), "findings": []})
    return Code.PASS


def evidence(run: Run, kind: str) -> Code:
    """Run one kind of evidence (`fixtures` or `properties`) in a scorer process under a deadline, and record it."""
    from .score import supervise  # noqa: PLC0415 - the fence does without it

    scratch = run.folder / f"scratch-{kind}"
    scratch.mkdir(mode=0o700)
    job, result = run.folder / f"{kind}-job.json", f"{kind}-result.json"
    before = _stage_faults(run)
    job_data, seconds = _job(run, kind, scratch)
    run.write(job.name, as_json(job_data))
    outcome = None
    if not before:
        outcome = supervise.supervise(
            [sys.executable, "-I", str(KIT / "__main__.py"), "scorer", kind, str(job), str(run.folder / result)],
            seconds=seconds, cwd=str(scratch), log=str(run.folder / f"{kind}.log"),
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(scratch), "TMPDIR": str(scratch),
                 "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis")},
        )  # fmt: skip
    answer = _read_result(run.folder / result) if outcome is None and not before else Evidence()
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
    request = _read(run, "request.json")
    launches = {}
    for side in ("head", "base"):
        (scratch / side).mkdir(mode=0o700)
        root = run.stage / side
        launches[side] = {
            "python": interpreter["python"], "site": interpreter["site"], "api": settings["api"],
            "imports": [str(root / path) for path in settings["imports"] or ["./"]], "scratch": str(scratch / side),
            "memory": settings["memory"], "call_seconds": settings["call_seconds"],
        }  # fmt: skip
    seed = request["seed"] if request["seed"] is not None else suite["seed"]
    job = {
        "oracle": str(run.stage / "oracle"), **launches, "seed": seed, "examples": suite["examples"],
        "min_effective": suite["min_effective"], "budget_seconds": settings["budget_seconds"],
        "function": suite["function"], "only": "", **{kind: suite[kind] for kind in PENDING},
    }  # fmt: skip
    return job, 60 + _units(run.stage / "oracle", kind) * 3 * settings["budget_seconds"]


def _units(oracle: Path, kind: str) -> int:
    """How many budgets a scorer may use: properties, or functions with fixtures."""
    if kind == FIXTURES:
        return 1 + sum(1 for p in (oracle / "fixtures").glob("*/") if p.is_dir())
    return 1 + sum(p.read_bytes().count(b"def prop_") for p in (oracle / "properties").rglob("*.py"))


def _stage_faults(run: Run) -> list[Finding]:
    """Whether the exported oracle is still what LOCK says, byte for byte."""
    locked, actual = _read(run, "oracle.json")["digests"], stage.digests(run.stage / "oracle", blake3_hex())
    return [Finding("stage-changed", "is not what was exported", f"oracle/{path}")
            for path in sorted({*locked, *actual}) if locked.get(path) != actual.get(path)]  # fmt: skip


def _read_result(path: Path) -> Evidence:
    from .score import suite  # noqa: PLC0415 - needs msgspec, which only the scorer's environment has

    try:
        return suite.evidence_from_json(path.read_bytes())
    except (OSError, ValueError) as error:
        return Evidence(findings=(Finding("scorer-died", f"the scorer left no readable result: {error}", path.name),))


def verdict(run: Run, *, evidence: bool) -> dict[str, Any]:
    """Fold what was recorded into one verdict and write it; a step that recorded nothing makes it `none`."""
    fenced = run.read(NAMES[FENCE])
    findings = [Finding(**f) for f in fenced["findings"]] if fenced else [_missing(FENCE)]
    plan = _plan_of(fenced)
    steps = {FENCE: int(code_of(findings))}
    answers = []
    if evidence and code_of(findings) is Code.PASS:
        made = run.read(NAMES[CANDIDATE])
        findings += [Finding(**f) for f in made["findings"]] if made else [_missing(CANDIDATE)]
        for kind in EVIDENCE_STEPS:
            answer = _recorded(run, kind)
            steps[kind] = int(code_of(answer.findings))
            answers.append(answer)
        findings += _all_ran(run, answers)
    fenced = fenced or {}
    isolation = {"level": "any", "applied": ["limits"], "probe": {}, "not_covered": list(NOT_COVERED)}
    facts = report.Facts(
        gate=fenced.get("gate", {"version": __version__}), policy=fenced.get("policy", ""), lock=fenced.get("lock", ""),
        seed=(fenced.get("suite") or {}).get("seed"), versions={"python": platform.python_version()},
        isolation=isolation if answers else {}, steps=steps,
        binding=bool(answers and plan and plan.subject != "self" and plan.onto),
    )  # fmt: skip
    built = report.build(plan, fenced.get("changes", []), findings, answers, facts)
    timings = {kind: answer.timings for kind, answer in zip(EVIDENCE_STEPS, answers, strict=False)}
    run.finish(built, {"ended": time.time(), "names": plan.names if plan else {}, "timings": timings})
    return built


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
    if not missing and not ran and not properties and code_of(f for a in answers for f in a.findings) is Code.PASS:
        missing.append(Finding("no-evidence", "no property and no fixture was run", "oracle"))
    return missing


def _read(run: Run, name: str) -> dict[str, Any]:
    record = run.read(name)
    if record is None:
        raise RefusedError(Finding("step-missing", f"{name} is not there or is another run's", name))
    return record


def blake3_hex() -> Callable[[bytes], str]:
    """BLAKE3 as a function from bytes to hex. Raises RefusedError with `package-missing`."""
    try:
        module = importlib.import_module("blake3")
    except ImportError as error:
        requirements = KIT / "requirements" / "fence.txt"
        raise RefusedError(
            Finding("package-missing", "blake3 is not installed",
                    remedy=f"pip install --require-hashes -r {requirements.name} (in {KIT_PATH}requirements/)")
        ) from error  # fmt: skip
    return lambda data: str(module.blake3(data).hexdigest())



def explain(folder: str, base: str, names: Sequence[str]) -> list[tuple[str, list[dict[str, Any]]]]:
    """For each path of `names` (relative to the root; with none given, those staged) the rows of the findings that
    adding or editing it would have under the policy of `base`."""
    repository = git.locate(folder)
    with tempfile.TemporaryDirectory() as scratch, git.Store(repository, Path(scratch) / "git") as store:
        tree = store.commit_and_tree(git.resolve(repository, [base])[base])[1]
        audited = audit.audit(plans.oracle(store, tree, blake3_hex()))
        listing = store.listing(tree)
    if audited.policy is None:
        raise RefusedError(*audited.findings)
    there = {e.path: e for e in listing}
    changes = [plans.edit_of(name, there.get(name)) for name in names] or checkout.staged(repository, tree)
    folders: dict[str, list[str]] = {}
    for path in {*there, *(c.path for c in changes if not c.deleted)}:
        parts = path.split("/")
        for n in range(len(parts)):
            folders.setdefault("/".join(parts[:n]), []).append("/".join(parts[: n + 1]))
    cases = tuple(frozen.Frozen(case, b"", case.retired_src_path in there) for case in audited.cases)
    found = judge.judge(judge.Patch(tuple(changes), folders, cases=cases), audited.policy)
    return [(c.path, [report.as_row(f) for f in found if f.path == c.path]) for c in changes]


def tree_of(folder: str, commit: str) -> str:
    """The tree id of a commit. Raises RefusedError with `revision-unknown` and the like."""
    repository = git.locate(folder)
    with tempfile.TemporaryDirectory() as scratch, git.Store(repository, Path(scratch) / "git") as store:
        return store.commit_and_tree(git.resolve(repository, [commit])[commit])[1]
