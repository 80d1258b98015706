"""`verdict.json` as a value: sorted, deterministic, and free of times, machines and temporary paths."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..rules import RULES, Code, code_of, verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..model import Change, Evidence, Finding, Plan

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Facts:
    """What a verdict names besides findings: digests of gate, policy and LOCK, the seed, versions, and the
    isolation that was applied."""

    gate: dict[str, str] = field(default_factory=dict)
    policy: str = ""
    lock: str = ""
    seed: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    isolation: dict[str, Any] = field(default_factory=dict)
    binding: bool = False
    account: tuple[str, ...] = ()
    steps: dict[str, int] = field(default_factory=dict)


def build(
    plan: Plan | None,
    changes: Sequence[dict[str, Any]],
    findings: Sequence[Finding],
    evidence: Sequence[Evidence],
    facts: Facts,
) -> dict[str, Any]:
    """The verdict as a mapping, ready for JSON. `plan` is None if the revisions could not even be resolved."""
    everything = [*findings, *(f for e in evidence for f in e.findings)]
    code = code_of(everything)
    subject = plan.subject if plan else "patch"
    properties = [asdict(p) for e in evidence for p in e.properties]
    fixtures = [asdict(f) for e in evidence for f in e.fixtures]
    versions = dict(facts.versions)
    for e in evidence:
        versions |= e.versions
    return {
        "format": FORMAT,
        "verdict": verdict_of(code, subject),
        "code": int(code),
        "subject": subject,
        "binding": facts.binding,
        "repeatable": all(e.repeatable for e in evidence),
        "base": plan.base if plan else "",
        "onto": plan.onto if plan else "",
        "head": plan.head if plan else "",
        "merge_bases": list(plan.merge_bases) if plan else [],
        "merge_result": plan.merge_result if plan else "",
        "methods": list(plan.methods) if plan else [],
        "gate": facts.gate,
        "policy": facts.policy,
        "lock": facts.lock,
        "seed": facts.seed,
        "holdout": "",
        "versions": versions,
        "isolation": facts.isolation,
        "steps": facts.steps,
        "changes": list(changes),
        "findings": [as_row(f) for f in everything],
        "properties": properties,
        "fixtures": fixtures,
        "skips": [],
        "fixed": _ids(properties, fixtures, "fixed"),
        "regressed": _ids(properties, fixtures, "missed"),
        "pre_existing": sorted(f.path for f in everything if f.rule == "base-misses"),
        "account": list(facts.account),
        "needs": "code owner" if code is Code.PASS and subject == "review" else needs(everything),
    }


def as_row(finding: Finding) -> dict[str, Any]:
    """A finding with what the rule table adds to it."""
    rule = RULES[finding.rule]
    return {
        "rule": finding.rule,
        "code": int(rule.code),
        "level": rule.level,
        "path": finding.path,
        "line": finding.line,
        "message": finding.message,
        "remedy": finding.remedy or rule.remedy,
        "who": rule.who,
    }


def changes_as_rows(changes: Iterable[Change], findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Each changed path with its modes and the rule that denies it ("" if it is allowed)."""
    denied = {f.path: f.rule for f in reversed(findings) if RULES[f.rule].level == "error"}
    return [
        {"path": c.path, "modes": [c.old_mode, c.new_mode], "rule": denied.get(c.path, ""),
         "allowed": c.path not in denied}
        for c in changes
    ]  # fmt: skip


def needs(findings: Iterable[Finding]) -> str:
    """`maintainer` if every refusal of the patch is about what people own; else "" (design, section 10)."""
    rules = {f.rule for f in findings if RULES[f.rule].level == "error"}
    return "maintainer" if rules and rules <= {"oracle-touched", "gate-touched", "people-touched"} else ""


def _ids(properties: list[dict[str, Any]], fixtures: list[dict[str, Any]], status: str) -> list[str]:
    return sorted(str(row["id"]) for row in (*properties, *fixtures) if row["status"] == status)
