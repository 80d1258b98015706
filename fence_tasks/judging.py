"""What the fence step judges, in the order of the design's section 6: here git's answers become the values that the
pure rules take.
"""

from __future__ import annotations

import importlib
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__, checkout, git
from .fence import frozen, judge
from .files import KIT_PATH, in_kit, kit_digest, kit_files
from .model import REGULAR_MODES, Finding, Plan, RefusedError
from .oracle import audit
from .oracle import policy as policies
from .oracle.policy import Policy, covers
from .oracle.supported import unsupported
from .report import verdict as report
from .report.account import account
from .score import plans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .model import Change
    from .trees import Difference


@dataclass(frozen=True, slots=True)
class Judged:
    """What the fence found: the plan, the oracle and policy that the evidence is taken from, and the findings."""

    plan: Plan
    oracle: audit.Audit
    policy: Policy
    findings: list[Finding]


@dataclass(frozen=True, slots=True)
class _Question:
    """One range with what git says of it, and where facts for the verdict go."""

    store: git.Store
    plan: Plan
    found: Difference
    moved: set[str]
    record: dict[str, Any]
    blake3: Callable[[bytes], str]


def judge_range(store: git.Store, request: dict[str, Any], record: dict[str, Any], *, evidence: bool,
                now: int) -> Judged:  # fmt: skip
    """Steps 1 to 7 of the design's section 6 for what `request` asks; facts for the verdict go into `record`.

    `now` is seconds, UTC, for the account of a review. Raises RefusedError where nothing can be judged.
    """
    blake3 = blake3_hex()
    plan, head_tree, conflicts = plans.make(store, request)  # 1 plan, 2 merge result
    record["plan"] = asdict(plan)
    changes, moved = plans.changes(store, plan, head_tree, conflicts=bool(conflicts))  # 3 changes
    base = _base(store, plan, record, blake3, adopt=bool(request.get("adopt")))
    if base is None or (base.policy and plan.subject == "patch" and judge.is_peoples(changes.changes, base.policy)):
        if conflicts:
            raise RefusedError(*conflicts)
        plan = replace(plan, subject="review")
        record["plan"] = asdict(plan)
        question = _Question(store, plan, changes, moved, record, blake3)
        oracle, found = _review(question, base, now)
    else:
        question = _Question(store, plan, changes, moved, record, blake3)
        oracle, found = base, _patch_findings(question, base)
    if oracle.policy is None:
        raise RefusedError(*oracle.findings)
    findings = [*oracle.findings, *found, *conflicts, *_gate(question)]
    record["changes"] = report.changes_as_rows(changes.changes, findings)
    if evidence:
        findings += unsupported(oracle.policy)
        if not oracle.properties and not oracle.fixtures:
            findings.append(Finding("no-evidence", "the oracle has neither a property nor a fixture", "oracle"))
    return Judged(plan, oracle, oracle.policy, findings)


def _base(store: git.Store, plan: Plan, record: dict[str, Any], blake3: Callable[[bytes], str], *,
          adopt: bool) -> audit.Audit | None:  # fmt: skip
    """The audit of base's oracle; None if base has none and a person asked for its adoption."""
    files = plans.oracle(store, plan.base_tree, blake3)
    if not files and adopt and plan.subject == "patch":
        return None
    if not files:
        raise RefusedError(Finding("not-adopted", "base has no oracle/, so there is no policy to judge by", "oracle"))
    return _audited(files, record)


def _audited(files: list[audit.OracleFile], record: dict[str, Any]) -> audit.Audit:
    audited = audit.audit(files)
    record["lock"] = audited.lock_digest
    record["policy"] = next((f.blake3 for f in files if f.path == policies.PATH), "")
    return audited


def _patch_findings(question: _Question, base: audit.Audit) -> list[Finding]:
    """4 paths, 5 protected entries, 7 frozen cases of a proposer's patch, by base's policy."""
    return judge.judge(_patch(question, base), base.policy) if base.policy else []


def _review(question: _Question, base: audit.Audit | None, now: int) -> tuple[audit.Audit, list[Finding]]:
    """A person's change (design, section 10): head's oracle is audited and its evidence will run.

    `base` is None on adoption. Where production does not change, head's candidate is base's.
    """
    plan, record = question.plan, question.record
    head = _audited(plans.oracle(question.store, plan.merge_result, question.blake3), record)
    rules = base.policy if base and base.policy else head.policy
    if rules is None:
        return head, []
    record["account"] = account(base, head, question.found.changes, now)
    return head, judge.review(_patch(question, head), rules, adoption=base is None)


def _patch(question: _Question, audited: audit.Audit) -> judge.Patch:
    """What `judge` needs to know, with file contents only where a frozen case asks for them."""
    store, plan, found, policy = question.store, question.plan, question.found, audited.policy
    if plan.subject == "self" or policy is None:
        return judge.Patch(())
    new = [c for c in found.changes if c.new_mode in REGULAR_MODES]
    odd = store.not_blobs([c.new_oid for c in new])
    malformed = found.faults + [(c.path, "its object is not a file's content") for c in new if c.new_oid in odd]
    copies = judge.suspected_copies(found.changes, audited.files, policy)
    if copies:  # rare, so base is listed only then
        elsewhere = {e.oid for e in store.listing(plan.base_tree) if not covers("oracle/", e.path)}
        secret = {f.path for f in audited.files if f.oid not in elsewhere}
        copies = {path: evidence for path, evidence in copies.items() if evidence in secret}
    readable = [c for c in new if c.new_oid not in odd and not covers("oracle/", c.path)]
    return judge.Patch(
        tuple(found.changes),
        base=plan.base,
        head=plan.head,
        folders={folder: [e.path for e in entries] for folder, entries in found.folders.items()},
        malformed=tuple(malformed),
        touched=tuple(store.touching(plan.base, plan.head, ["oracle/", *policy.gate.paths])),
        moved=frozenset(question.moved),
        cases=_cases(store, plan, audited),
        texts=_texts(store, readable) if audited.cases else (),
        copies=tuple(copies.items()),
    )


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


def _gate(question: _Question) -> list[Finding]:
    """Whether the gate that runs is base's, bytes compared after CRLF → LF. It catches mix-ups, not attacks."""
    store, plan, mine = question.store, question.plan, kit_files()
    question.record["gate"] = {"version": __version__, "digest": kit_digest(mine, question.blake3)}
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


def blake3_hex() -> Callable[[bytes], str]:
    """BLAKE3 as a function from bytes to hex. Raises RefusedError with `package-missing`."""
    try:
        module = importlib.import_module("blake3")
    except ImportError as error:
        listed = f"{KIT_PATH}requirements/fence.txt"
        install = f"python3 -m venv .venv && .venv/bin/pip install --require-hashes -r {listed}"
        remedy = f"{install}, then the same command with .venv/bin/python -I {KIT_PATH}__main__.py"
        raise RefusedError(Finding("package-missing", "blake3 is not installed", remedy=remedy)) from error
    return lambda data: str(module.blake3(data).hexdigest())


def explain(folder: str, base: str, names: Sequence[str]) -> list[tuple[str, list[dict[str, Any]]]]:
    """For each path of `names` (relative to the root; with none given, those staged) the rows of the findings that
    adding or editing it would have under the policy of `base`."""
    repository = git.locate(folder)
    with tempfile.TemporaryDirectory() as scratch, git.Store(repository, Path(scratch) / "git") as store:
        tree = store.commit_and_tree(git.resolve(repository, [base])[base])[1]
        if not (files := plans.oracle(store, tree, blake3_hex())):
            raise RefusedError(Finding("not-adopted", f"{base} has no oracle/, so there is no policy", "oracle"))
        audited = audit.audit(files)
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
    found = judge.judge(judge.Patch(tuple(changes), folders=folders, cases=cases), audited.policy)
    return [(c.path, [report.as_row(f) for f in found if f.path == c.path]) for c in changes]
