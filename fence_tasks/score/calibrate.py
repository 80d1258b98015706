"""Who is to blame for missed evidence: what head misses is tried on base before head is blamed. Pure: values only."""

from __future__ import annotations

from dataclasses import dataclass

from ..model import Finding

#: What one run of one piece of evidence on one revision came to.
HELD, FALSE, NOT_BOOLEAN, RAISED, FAULT, FLAKY = "held", "false", "not-boolean", "raised", "fault", "flaky"
STARVED, COVER, MISUSE, REFERENCE, NO_BYTES = "starved", "cover", "misuse", "reference", "no-bytes"

_SHARES = {STARVED, COVER}
#: kind → rule and message, where head alone misses a property.
_PROPERTY = {
    FALSE: ("property-falsified", "does not hold"),
    NOT_BOOLEAN: ("property-raised", "returned no Boolean on head; it does on base"),
    RAISED: ("property-raised", "raised on head; it holds on base"),
    MISUSE: ("property-raised", "raised on head; it holds on base"),
    REFERENCE: ("property-raised", "base's candidate could not answer what head's gave; alone it holds the property"),
    FLAKY: ("candidate-two-answers", "gave another answer when it was asked again"),
    STARVED: ("property-starved", "too few examples reach head's candidate; with base's enough do"),
    COVER: ("property-cover", "head misses a share that base covers"),
}
#: The same for a fixture.
_FIXTURE = {
    FALSE: ("fixture-mismatch", "the output is not the expected one; base's is"),
    RAISED: ("candidate-raised", "raised; base answers"),
    MISUSE: ("candidate-raised", "the adapter cannot use what head gives; base's it can"),
    NO_BYTES: ("candidate-no-bytes", "gave no bytes; base does"),
    FLAKY: ("candidate-two-answers", "gave two answers to one input"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run on one revision: its kind, a fault's rule, a detail for people, and how many examples counted."""

    kind: str
    rule: str = ""
    detail: str = ""
    effective: int = 0

    @property
    def met(self) -> bool:
        """True if the evidence was met."""
        return self.kind == HELD


def status(met: bool, pending: bool, retiring: bool, *, good: str) -> str:  # noqa: FBT001 - three of a kind
    """The word for a result: `good` or `missed`, unless people listed the evidence as pending or retiring."""
    if retiring:
        return "retiring"
    if pending:
        return "fixed" if met else "pending"
    return good if met else "missed"


def property_blame(name: str, head: Outcome, base: Outcome, path: str, line: int) -> Finding:
    """The finding for a property that head misses, given what it came to on base."""
    if base.rule == "candidate-import":
        return base_candidate(base.detail)
    if head.kind in _SHARES and base.kind in _SHARES:
        return Finding("property-vacuous", f"{name}: {base.detail}, on base too", path, line)
    if base.kind in _SHARES and not base.effective:
        return Finding("property-vacuous", f"{name}: {base.detail} on base", path, line)
    if head.kind == base.kind == NOT_BOOLEAN:
        return Finding("property-not-boolean", f"{name} returned {base.detail}", path, line)
    if head.kind == base.kind == MISUSE:
        return Finding("property-malformed", f"{name}: {base.detail}", path, line)
    if not base.met and base.kind not in _SHARES:
        return Finding("base-misses", f"{name}: base misses it too ({base.kind})", path, line)
    rule, message = _PROPERTY.get(head.kind, (head.rule, head.detail))
    shown = f": {head.detail}" if head.kind in _SHARES else ""
    return Finding(rule, f"{name}: {message}{shown}", path, line)


def fixture_blame(name: str, head: Outcome, base: Outcome, path: str) -> Finding:
    """The finding for a fixture that head misses, given what it came to on base."""
    if base.rule == "candidate-import":
        return base_candidate(base.detail)
    if head.kind == base.kind == MISUSE:
        return Finding("property-malformed", f"{name}: {base.detail}", path)
    if not base.met:
        return Finding("base-misses", f"{name}: base misses it too ({base.kind})", path)
    rule, message = _FIXTURE.get(head.kind, (head.rule, head.detail))
    return Finding(rule, f"{name}: {message}", path)


def base_candidate(detail: str) -> Finding:
    """The finding for a base whose own candidate cannot be imported."""
    return Finding("base-candidate", f"base's candidate cannot be imported: {detail}")
