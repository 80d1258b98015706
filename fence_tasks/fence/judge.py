"""`judge`: everything a patch may not do, as one pure function over what git said.

The steps are those of the design's section 6: 3 changes and history, 4 paths, 5 protected entries, 7 frozen cases.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..model import REGULAR_MODES, Finding
from ..oracle.freezes import FOLDER as FROZEN
from ..oracle.policy import ORACLE, covers
from . import frozen, paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model import Change
    from ..oracle.audit import OracleFile
    from ..oracle.policy import Policy

_TOUCHED = ("oracle-touched", "gate-touched", "people-touched")
SHORTEST_COPY = 64  # bytes of an oracle file below which an equal blob proves nothing


@dataclass(frozen=True, slots=True)
class Patch:
    """What a range does. `base` and `head` are commit ids; `changes` are base's tree against the merge result (or, on
    a conflict, what head adds to every merge base); `folders` are the merge result's changed folders with their
    entries' paths; `malformed` are (path, why) in those; `touched` are (commit, path) of the range that reach oracle
    or gate; `moved` are paths of the changes that head itself left alone, so that only the merge put them there;
    `cases` are the frozen cases and `texts` the changed files, read only where there are cases; `copies` are (path,
    oracle path) of production files that newly hold an oracle file's bytes."""

    changes: tuple[Change, ...]
    base: str = ""
    head: str = ""
    folders: dict[str, list[str]] = field(default_factory=dict)
    malformed: tuple[tuple[str, str], ...] = ()
    touched: tuple[tuple[str, str], ...] = ()
    moved: frozenset[str] = frozenset()
    cases: tuple[frozen.Frozen, ...] = ()
    texts: tuple[frozen.Text, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()


def judge(patch: Patch, policy: Policy) -> list[Finding]:
    """All findings of a patch under base's policy; `[]` means that the fence holds."""
    added = [c.path for c in patch.changes if c.added]
    known = _known(patch.folders, added)
    findings = [_named(f, change, patch) for change in patch.changes for f in paths.judge_path(change, policy, known)]
    findings += [Finding("tree-malformed", why, path) for path, why in patch.malformed]
    findings += paths.clashes(added, patch.folders)
    findings += paths.repositories(added, patch.folders)
    findings += [Finding("oracle-copied", f"the same bytes as {evidence}", path) for path, evidence in patch.copies]
    findings += _history(patch, findings, policy)
    findings += frozen.by_path(patch.cases, added)
    findings += frozen.by_content(patch.cases, patch.texts)
    findings += frozen.by_name(patch.cases, patch.texts)
    return findings


def _known(folders: Mapping[str, Sequence[str]], added: Sequence[str]) -> set[str]:
    """Those of the changed folders that base has too: they hold something that the patch has not added."""
    new, known = set(added), set()
    for folder in sorted(folders, key=lambda f: f.count("/") + bool(f), reverse=True):
        # What is below comes first; an entry that is no changed folder and not added is base's.
        if any(path in known or (path not in new and path not in folders) for path in folders[folder]):
            known.add(folder)
    return known - {""}


def is_peoples(changes: Sequence[Change], policy: Policy) -> bool:
    """True if a range is people's own change and code owners review those (design, section 10): it changes something
    outside roots and also, and all of that is oracle, gate or `people.paths`. A stray file makes no review."""
    outside = [c for c in changes if not paths.place(c.path, policy)]
    return policy.people.route == "code-owners" and bool(outside) and all(_owned(c.path, policy) for c in outside)


def _owned(path: str, policy: Policy) -> bool:
    found = paths.protected(path, policy)
    return found is not None and found.rule in _TOUCHED


def review(patch: Patch, policy: Policy, *, adoption: bool) -> list[Finding]:
    """All findings of a person's change: what people own may change, but not together with production (unless this
    is the adoption), and no path may be one that file systems or git read as another."""
    findings = []
    for finding in judge(patch, policy):
        if finding.rule in _TOUCHED or finding.rule in {"history-note", "history-touched"}:
            continue
        # On adoption there was no policy, so nothing outside its roots is stray.
        if not (adoption and finding.rule in {"stray-file", "outside-roots"}):
            findings.append(finding)
    known = _known(patch.folders, [c.path for c in patch.changes if c.added])
    for change in patch.changes:
        if _owned(change.path, policy):
            findings += paths.entry(change, known)
    gate = [c.path for c in patch.changes if (f := paths.protected(c.path, policy)) and f.rule in _TOUCHED[:2]]
    production = [c.path for c in patch.changes if paths.place(c.path, policy) == "roots"]
    if gate and production and not adoption:
        findings.append(Finding("split-change", f"changes together with {gate[0]}", production[0]))
    return findings


def _named(finding: Finding, change: Change, patch: Patch) -> Finding:
    """A finding about oracle or gate says what was done, by which commit, and where the content went."""
    if change.path in patch.moved and finding.rule in {*_TOUCHED, "outside-roots", "stray-file"}:
        return Finding("protected-moved", "the merge puts an edit here that head made elsewhere", change.path)
    if finding.rule not in _TOUCHED:
        return finding
    done = "added" if change.added else "deleted" if change.deleted else "changed"
    if done == "changed" and change.old_oid == change.new_oid:
        done = f"mode changed from {change.old_mode} to {change.new_mode}"
    by = next((commit[:12] for commit, path in patch.touched if path == change.path), "")
    twin = next((c.path for c in patch.changes if change.deleted and c.added and c.new_oid == change.old_oid), "")
    message = done + (f" by {by}" if by else "") + (f" (the same content is {twin} there)" if twin else "")
    return replace(finding, message=message, remedy=_undo(change, by, patch) if by else "")


def _undo(change: Change, by: str, patch: Patch) -> str:
    """The commands that take one path out of the commit `by`."""
    path = shlex.quote(change.path)
    undo = f"git rm {path}" if change.added else f"git checkout {patch.base[:12]} -- {path}"
    if patch.head.startswith(by):
        commands = f"{undo} && git commit --amend --no-edit"
    else:
        amend = f"{undo} && git commit --amend --no-edit"
        commands = f"git rebase -i {by}~1, mark it `edit`, {amend}, git rebase --continue"
    return f"{commands}, git push --force-with-lease; or a person opens that change alone"


def suspected_copies(changes: Sequence[Change], oracle: Sequence[OracleFile], policy: Policy) -> dict[str, str]:
    """Production paths that newly hold an oracle file's very bytes → that file's path.

    Whether base has those bytes elsewhere too, which makes them no secret, is for the caller to ask.
    """
    # A frozen case that comes back is `frozen-content`, with its own code.
    evidence = {f.oid: f.path for f in oracle if f.size >= SHORTEST_COPY and not covers(FROZEN, f.path)}
    had = {c.old_oid for c in changes if not covers(ORACLE, c.path)}
    return {
        c.path: evidence[c.new_oid]
        for c in changes
        if c.new_oid in evidence and c.new_oid not in had and c.new_mode in REGULAR_MODES
        and paths.place(c.path, policy) == "roots"
    }  # fmt: skip


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

