"""`judge`: everything a patch may not do, as one pure function over what git said.

The steps are those of the design's section 6: 3 changes and history, 4 paths, 5 protected entries, 7 frozen cases.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..model import REGULAR_MODES, TREE_MODE, Finding
from ..oracle.freezes import FOLDER as FROZEN
from ..oracle.policy import ORACLE, covers
from . import frozen, paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model import Change, Entry
    from ..oracle.audit import OracleFile
    from ..oracle.policy import Policy

SHORTEST_COPY = 64  # bytes of an oracle file below which an equal blob proves nothing


@dataclass(frozen=True, slots=True)
class Patch:
    """What a range does. `changes` are base's tree against the merge result (or, on a conflict, what head adds to
    every merge base), trees included; `listing` is the merge result, folders included; `touched` are
    (commit, path) of the range that reach oracle or gate; `moved` are paths of the changes that head itself left
    alone, so that only the merge put them there; `texts` are changed files with content, read only
    where a frozen case needs them."""

    changes: tuple[Change, ...]
    listing: tuple[Entry, ...] = ()
    touched: tuple[tuple[str, str], ...] = ()
    moved: frozenset[str] = frozenset()
    cases: tuple[frozen.Frozen, ...] = ()
    texts: tuple[frozen.Text, ...] = ()
    oracle: tuple[OracleFile, ...] = field(default=(), repr=False)

    @property
    def files(self) -> list[Change]:
        """The changes without those of folders."""
        return [c for c in self.changes if TREE_MODE not in (c.old_mode, c.new_mode)]


def judge(patch: Patch, policy: Policy) -> list[Finding]:
    """All findings of a patch under base's policy; `[]` means that the fence holds."""
    files = patch.files
    findings = [_named(f, change, patch) for change in files for f in paths.judge_path(change, policy)]
    findings += _twins(patch)
    added = [c.path for c in files if c.added]
    present = [e.path for e in patch.listing]
    findings += paths.clashes(added, present)
    findings += paths.repositories(added, present)
    findings += _copies(files, patch, policy)
    findings += _history(patch, findings, policy)
    findings += frozen.by_path(patch.cases, added)
    findings += frozen.by_content(patch.cases, patch.texts)
    findings += frozen.by_name(patch.cases, patch.texts)
    return findings


def _named(finding: Finding, change: Change, patch: Patch) -> Finding:
    """A finding about oracle or gate says what was done, by which commit, and where the content went."""
    if finding.rule not in {"oracle-touched", "gate-touched", "people-touched"}:
        return finding
    if change.path in patch.moved:
        return Finding("protected-moved", "the merge puts an edit here that head made elsewhere", change.path)
    done = "added" if change.added else "deleted" if change.deleted else "changed"
    if done == "changed" and change.old_oid == change.new_oid:
        done = f"mode changed from {change.old_mode} to {change.new_mode}"
    by = next((commit[:12] for commit, path in patch.touched if path == change.path), "")
    twin = next((c.path for c in patch.files if change.deleted and c.added and c.new_oid == change.old_oid), "")
    message = done + (f" by {by}" if by else "") + (f" (the same content is {twin} there)" if twin else "")
    remedy = f"take {change.path} out of {by} (rebase or amend), or a person opens that change alone" if by else ""
    return replace(finding, message=message, remedy=remedy)


def _twins(patch: Patch) -> list[Finding]:
    """Two entries of one name in a folder: checkouts, merges and listings disagree about which one counts."""
    changed = {c.path for c in patch.changes}
    seen: set[str] = set()
    twins = set()
    for entry in patch.listing:
        if entry.path in seen:
            twins.add(entry.path)
        seen.add(entry.path)
    return [
        Finding("tree-malformed", "the name stands twice in its folder", path)
        for path in sorted(twins)
        # Base's own malformed trees are not the patch's: only those in a folder that changed.
        if "/" not in path or path.rpartition("/")[0] in changed or path in changed
    ]


def _copies(files: Sequence[Change], patch: Patch, policy: Policy) -> list[Finding]:
    """An oracle file's blob, newly in production and nowhere else in base: the answers, carried over."""
    # A frozen case that comes back is `frozen-content`, with its own code.
    evidence = {f.oid: f.path for f in patch.oracle if f.size >= SHORTEST_COPY and not covers(FROZEN, f.path)}
    suspects = [c for c in files if c.new_oid in evidence and c.new_mode in REGULAR_MODES
                and not covers(ORACLE, c.path)]  # fmt: skip
    if not suspects:
        return []
    new = {c.path for c in files}
    elsewhere = {e.oid for e in patch.listing if e.path not in new and not covers(ORACLE, e.path)}
    elsewhere |= {c.old_oid for c in files if not covers(ORACLE, c.path)}
    return [
        Finding("oracle-copied", f"the same bytes as {evidence[c.new_oid]}", c.path)
        for c in suspects
        if c.new_oid not in elsewhere and paths.place(c.path, policy) == "roots"
    ]


def _history(patch: Patch, findings: Sequence[Finding], policy: Policy) -> list[Finding]:
    """Commits that touched oracle or gate although the result does not show it (design, `[history]`)."""
    shown = {f.path for f in findings}
    rule = "history-touched" if policy.history.touched == "ban" else "history-note"
    first: dict[str, str] = {}
    for commit, path in patch.touched:
        if path not in shown:
            first.setdefault(path, commit)
    return [
        Finding(rule, f"touched by {commit[:12]} and restored within the range", path) for path, commit in first.items()
    ]

