"""`invoke check`: all that a person should know before committing; every fault with the command that mends it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import checkout, files
from ..model import REGULAR_MODES, Finding, RefusedError
from ..oracle import audit, freezes, policy
from ..oracle.supported import unsupported
from ..oracle.tests_in import test_names
from ..report.verdict import as_row
from . import staged, vendored
from .refusals import blake3_hex, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Entry
    from ..oracle.audit import Audit
    from ..oracle.freezes import Case

FORMAT = 1
SOON = 14  # days before an expiry from which it is mentioned


@dataclass(frozen=True, slots=True)
class Checked:
    """What was looked at and what was found. `rows` are findings as `verdict.json` writes them; `confinement` says in
    lines what this machine can do, if the policy asks for it."""

    rows: tuple[dict[str, Any], ...]
    properties: int = 0
    fixtures: int = 0
    cases: int = 0
    confinement: tuple[str, ...] = ()

    @property
    def faults(self) -> int:
        """How many rows are errors."""
        return sum(row["level"] == "error" for row in self.rows)


def run(folder: str, *, staged_only: bool = False) -> Checked:
    """Check the oracle, kit and policy that the next commit will hold; unless `staged_only`, also what is not staged.

    Raises RefusedError where nothing can be looked at: `not-a-repository`, a missing package.
    """
    root = checkout.root_of(folder)
    blake3 = blake3_hex()
    try:
        oracle = staged.oracle(root, blake3)
    except RefusedError as error:
        if any(f.rule not in {"not-adopted", "merge-conflict"} for f in error.findings):
            raise
        return Checked(tuple(map(as_row, error.findings)))
    audited = audit.audit(oracle)
    index = {e.path: e for e in checkout.index(root, without=checkout.unmerged(root))}
    rows = [as_row(f) for f in _audited(audited)]
    rows += _frozen(root, audited, index, int(time.time()))
    rows += _kit(root, index, blake3)
    confinement: tuple[str, ...] = ()
    if not staged_only:
        rows += _work_tree(root, audited)
        if audited.policy and audited.policy.candidate.isolation == "confined":
            confinement = _confinement()
    return Checked(tuple(rows), len(audited.properties), len(audited.fixtures), len(audited.cases), confinement)


def as_json(checked: Checked) -> dict[str, Any]:
    """The answer for machines."""
    return {
        "format": FORMAT, "ok": not checked.faults, "findings": list(checked.rows), "properties": checked.properties,
        "fixtures": checked.fixtures, "cases": checked.cases,
        **({"confinement": list(checked.confinement)} if checked.confinement else {}),
    }  # fmt: skip


def as_lines(checked: Checked) -> list[str]:
    """The answer for people."""
    lines = []
    for row in sorted(checked.rows, key=lambda row: str(row["level"])):
        where = row["path"] + (f":{row['line']}" if row["line"] else "")
        lines += [f"{row['level']:5} {where}: {row['message']}  [{row['rule']}]", f"      -> {row['remedy']}"]
    lines += [f"this machine: {line}" for line in checked.confinement]
    held = f"{checked.properties} property files, {checked.fixtures} fixtures, {checked.cases} frozen cases"
    if checked.faults:
        return [*lines, f"{checked.faults} to mend; {held}"]
    return [*lines, f"all is well: {held}; policy, LOCK, store, manifest and kit agree"]


def _error(rule: str, path: str, message: str, remedy: str, *, level: str = "error") -> dict[str, Any]:
    """A finding that no verdict has, in the shape of one."""
    return {"rule": rule, "code": 0, "level": level, "path": path, "line": 0, "message": message, "remedy": remedy,
            "who": "a maintainer"}  # fmt: skip


def _note(rule: str, path: str, message: str, remedy: str) -> dict[str, Any]:
    return _error(rule, path, message, remedy, level="note")


def _audited(audited: Audit) -> list[Finding]:
    """What would stop a scoring run on this oracle."""
    findings = list(audited.findings)
    rules = audited.policy
    if rules is None:
        return findings
    findings += unsupported(rules)
    if not audited.properties and not audited.fixtures:
        remedy = "write a property in oracle/properties/, or invoke add-fixture; then invoke relock"
        findings.append(Finding("no-evidence", "there is neither a property nor a fixture", "oracle", remedy=remedy))
    at_top = [p for p in audited.fixtures if p.count("/") == 2]
    if at_top and not rules.fixtures.function:
        why = f"fixtures.function: is empty, but {len(at_top)} fixtures need a function"
        findings.append(Finding("policy-malformed", why, policy.PATH))
    return findings


def _frozen(root: str, audited: Audit, index: dict[str, Entry], now: int) -> list[dict[str, Any]]:
    """Caps, expiries, frozen files that changed, and retired names that are still defined where they were."""
    limits = audited.policy.freezes if audited.policy else policy.Freezes()
    rows = [
        _error("over-cap", freezes.PATH, f"{owner!r} has more than {limits.cap_per_owner} frozen cases",
               "mend or thaw one, then invoke relock")
        for owner in freezes.caps(audited.cases, limits.cap_per_owner)
    ]  # fmt: skip
    for case in audited.cases:
        rows += _expiry(root, case, limits.longest_days, now)
    wanted = {p for c in audited.cases for p in (c.retired_src_path, c.frozen_path) if p in index}
    content = staged.contents(root, [index[p] for p in sorted(wanted) if index[p].mode in REGULAR_MODES])
    for case in audited.cases:
        frozen, source = content.get(case.frozen_path or ""), content.get(case.retired_src_path, b"")
        if frozen is not None and case.content_sha256 not in {None, hashlib.sha256(frozen).hexdigest()}:
            rows.append(_error("frozen-content", case.frozen_path or "", f"is not what case {case.id!r} froze",
                               "git log -- the file shows who edited it; bring the content back, or correct "
                               "content_sha256"))  # fmt: skip
        if again := sorted(set(case.retired_names or ()) & set(test_names(source))):
            rows.append(_error("frozen-name", case.retired_src_path, f"still defines {', '.join(again)}, which case "
                               f"{case.id!r} retires", "take it out, then git add the file"))  # fmt: skip
    return rows


def _expiry(root: str, case: Case, longest: int, now: int) -> list[dict[str, Any]]:
    act = f"{case.owner}: mend the case and thaw it, or freeze it anew"
    if case.expires_unix is not None:
        left = (case.expires_unix - now) // freezes.DAY
        if left > longest:
            why = f"case {case.id!r} expires in {left} days, the policy's longest freeze is {longest}"
            return [_error("over-cap", freezes.PATH, why, "set an earlier expires_unix, then invoke relock")]
        when = f"expired {-left} days ago" if left < 0 else f"expires in {left} days"
        return [_note("expiry", freezes.PATH, f"case {case.id!r} {when}", act)] if left < SOON else []
    after = case.expires_after or {}
    done = checkout.first_parent_commits(root, str(after["commit"]))
    if done is None:
        why = f"case {case.id!r} counts from {after['commit'][:12]}, which is not here"
        return [_note("expiry", freezes.PATH, why, "git fetch --unshallow")]
    over = done - int(after["first_parent_commits"])
    why = f"case {case.id!r} expired {over} commits ago ({case.ticket})"
    return [_note("expiry", freezes.PATH, why, act)] if over >= 0 else []


def _kit(root: str, index: dict[str, Entry], blake3: Callable[[bytes], str]) -> list[dict[str, Any]]:
    """Whether a vendored kit is what was vendored. The toolkit's own repository has no VENDORED.toml."""
    if vendored.PATH not in index:
        return []
    kit, recorded = vendored.read(root, list(index.values()))
    if recorded and recorded == files.kit_digest(kit, blake3):
        return []
    what = "differs from the kit that VENDORED.toml names" if recorded else f"{files.VENDORED} names no digest"
    remedy = "git log -- fence_tasks shows who edited it; git checkout COMMIT -- fence_tasks brings a version back"
    return [_error("kit-edited", files.KIT_PATH, what, remedy)]


def _confinement() -> tuple[str, ...]:
    """How this machine can confine a candidate, as the gate's own probe says."""
    command = [sys.executable, "-I", str(files.KIT / "__main__.py"), "confinement"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603
    return tuple(line.strip() for line in (done.stdout if done.returncode == 0 else done.stderr).splitlines())


def _work_tree(root: str, audited: Audit) -> list[dict[str, Any]]:
    """What the next commit will not hold, and gate files that differ from HEAD's."""
    remedy = "git add it (--force where .gitignore hides it) or git restore it, then invoke relock"
    rows = [_error("not-staged", p, "is not staged as it is now", remedy) for p in staged.not_staged(root)]
    if audited.policy and checkout.has_commits(root) and (paths := checkout.dirty(root, *audited.policy.gate.paths)):
        why = f"{shown(paths)}: other than in HEAD; a patch is judged by the gate of its base"
        rows.append(_note("gate-note", paths[0], why, "git commit, or git restore"))
    return rows
