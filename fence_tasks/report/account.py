"""The account for an owner: what a person's change does to the evidence and to the gate, one line a thing.

Loosening is named first: an owner must see at once what will be let through that was not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..oracle import fixtures
from ..oracle.policy import ORACLE, covers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..model import Change
    from ..oracle.audit import Audit
    from ..oracle.policy import Policy

#: Policy keys of which more lets more through, and those of which less does.
_MORE = ("production.roots", "production.also", "production.permit", "freezes.cap_per_owner", "freezes.longest_days",
         "skips.max_bytes", "candidate.memory", "candidate.call_seconds", "candidate.budget_seconds")  # fmt: skip
_LESS = ("production.deny", "gate.paths", "people.paths", "properties.examples", "properties.min_effective",
         "skips.markers", "freezes.runs")  # fmt: skip
#: From strict to loose.
_LEVELS = {
    "people.route": ("refuse", "code-owners"),
    "candidate.isolation": ("confined", "any"),
    "skips.unconditional": ("ban", "report"),
    "skips.conditional": ("ban", "report"),
    "skips.deleted": ("ban", "report"),
    "history.touched": ("ban", "report"),
}


def account(base: Audit | None, head: Audit, changes: Sequence[Change], now: int) -> list[str]:
    """What changes between base's oracle (None on adoption) and head's, with the changed paths outside it.

    `now` is seconds, UTC. Lines hold paths and names as they are: whoever prints them escapes them.
    """
    lines = []
    if base is None:
        lines.append("adoption: base has no oracle; everything in it is new")
    loosened, other = _policy(base.policy if base else None, head.policy)
    lines += [f"LOOSENS {line}" for line in [*loosened, *_evidence_lost(changes)]]
    lines += _evidence(changes)
    lines += _frozen(base, head, now)
    lines += _pending(base, head)
    lines += [f"policy: {line}" for line in other]
    lines += [f"{_verb(c)} outside the oracle: {c.path}" for c in changes if not covers(ORACLE, c.path)]
    return lines


def _flat(policy: Policy) -> dict[str, object]:
    sections = ("production", "gate", "people", "candidate", "fixtures", "properties", "skips", "freezes", "history")
    return {
        f"{section}.{key}": getattr(getattr(policy, section), key)
        for section in sections
        for key in type(getattr(policy, section)).__dataclass_fields__
    }


def _policy(base: Policy | None, head: Policy | None) -> tuple[list[str], list[str]]:
    """`(what loosens, what else differs)` between two policies."""
    if base is None or head is None:
        return [], []
    was, now = _flat(base), _flat(head)
    loosened: list[str] = []
    other: list[str] = []
    for key in (k for k in was if was[k] != now[k]):
        line = f"{key}: {_shown(was[key])} → {_shown(now[key])}"
        (loosened if _loosens(key, was[key], now[key]) else other).append(line)
    return loosened, other


def _loosens(key: str, was: object, now: object) -> bool:
    if key in _LEVELS:
        levels = _LEVELS[key]
        return levels.index(str(now)) > levels.index(str(was))
    if isinstance(was, tuple) and isinstance(now, tuple):
        return bool(set(now) - set(was)) if key in _MORE else bool(set(was) - set(now)) if key in _LESS else False
    if isinstance(was, int | float) and isinstance(now, int | float):
        return (key in _MORE and now > was) or (key in _LESS and now < was)
    return False


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) or "nothing" if isinstance(value, tuple) else str(value)


def _verb(change: Change) -> str:
    return "added" if change.added else "removed" if change.deleted else "changed"


def _evidence_lost(changes: Iterable[Change]) -> list[str]:
    """Evidence that is gone or asks for something else."""
    lines = []
    for c in changes:
        if c.path.startswith(fixtures.FOLDER) and c.path.endswith(".expected") and not c.added:
            lines.append(f"expectation {'moved' if not c.deleted else 'removed'}: {c.path}")
        elif c.path.startswith("oracle/properties/") and c.path.endswith(".py") and c.deleted:
            lines.append(f"property file removed: {c.path}")
    return lines


def _evidence(changes: Iterable[Change]) -> list[str]:
    lines = []
    for c in changes:
        if c.path.startswith("oracle/properties/") and not c.deleted:
            lines.append(f"property file {_verb(c)}: {c.path}")
        elif c.path.startswith(fixtures.FOLDER) and c.path.endswith(".in"):
            lines.append(f"fixture {_verb(c)}: {c.path}")
        elif c.path.startswith(fixtures.FOLDER) and not c.path.endswith(".expected"):
            lines.append(f"adapter {_verb(c)}: {c.path}")
    return lines


def _frozen(base: Audit | None, head: Audit, now: int) -> list[str]:
    was = {c.id: c for c in (base.cases if base else ())}
    lines = [f"freeze added: {c.id}, owner {c.owner}, {c.reason}" for c in head.cases if c.id not in was]
    lines += [f"freeze changed: {c.id}, owner {c.owner}" for c in head.cases if was.get(c.id, c) != c]
    lines += [f"freeze removed: {i}" for i in was if i not in {c.id for c in head.cases}]
    lines += [f"freeze overdue: {c.id}, owner {c.owner}" for c in head.cases
              if c.expires_unix is not None and c.expires_unix < now]  # fmt: skip
    return lines


def _pending(base: Audit | None, head: Audit) -> list[str]:
    lines = []
    for kind in ("pending", "retiring"):
        was = {e.id for e in getattr(base.pending, kind)} if base else set()
        now = {e.id: e for e in getattr(head.pending, kind)}
        lines += [f"{kind} added: {i}, owner {now[i].owner}, {now[i].ticket}" for i in now if i not in was]
        lines += [f"{kind} taken out: {i}" for i in sorted(was - set(now))]
    return lines
