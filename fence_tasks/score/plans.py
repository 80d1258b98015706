"""What is judged: revisions as ids, the merge result, what it changes, and base's oracle."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import git
from ..model import ABSENT, Change, Finding, Plan, RefusedError
from ..trees import Difference
from . import stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Entry
    from ..oracle.audit import OracleFile


def make(store: git.Store, request: dict[str, Any]) -> tuple[Plan, str, list[Finding]]:
    """`(plan, head's tree, conflict findings)`; revisions are resolved here, once, to ids."""
    repository = store.repository
    if repository.shallow:
        raise RefusedError(Finding("shallow-clone", "the clone is shallow, so merge bases cannot be known"))
    if repository.partial:
        raise RefusedError(Finding("partial-clone", "the clone is partial, so objects may be missing"))
    names = {k: request[k] for k in ("base", "head", "onto") if k != "onto" or request[k]}
    oids = git.resolve(repository, names.values())
    commits = {kind: store.commit_and_tree(oids[name]) for kind, name in names.items()}
    (base, base_tree), (head, head_tree) = commits["base"], commits["head"]
    onto = commits["onto"][0] if "onto" in commits else ""
    if onto and onto != base:
        raise RefusedError(Finding("base-behind", f"{names['onto']} is at {onto[:12]}, base is {base[:12]}"))
    if request["subject"] == "self":
        return Plan(base, head, onto, (base,), base_tree, base_tree, (), "self", names), head_tree, []
    return _range(store, Plan(base, head, onto, (), base_tree, "", (), request["subject"], names), head_tree)


def _range(store: git.Store, plan: Plan, head_tree: str) -> tuple[Plan, str, list[Finding]]:
    """The plan with merge bases, merge result and methods; conflicts as findings."""
    if plan.base == plan.head:
        raise RefusedError(Finding("range-empty", f"base and head are both {plan.base[:12]}"))
    bases = store.merge_bases(plan.base, plan.head)
    if not bases:
        raise RefusedError(Finding("no-merge-base", f"{plan.base[:12]} and {plan.head[:12]} share no commit"))
    if plan.head in bases:
        raise RefusedError(Finding("range-reversed", f"{plan.head[:12]} is an ancestor of {plan.base[:12]}"))
    conflicts: list[Finding] = []
    if plan.base in bases:
        # A fast-forward lands head's tree as it is; two entries of one name in it are `tree-malformed`.
        result = head_tree
        methods = ("merge", "squash") + (() if store.has_merges(plan.base, plan.head) else ("rebase",))
    else:
        result, paths = store.merge(plan.base, plan.head)
        methods = ("merge", "squash")
        base, head = plan.names.get("base", plan.base), plan.names.get("head", plan.head)
        merge = f"git fetch && git checkout {shlex.quote(head)} && git merge {shlex.quote(base)}"
        conflicts = [
            Finding("merge-conflict", "base and head both change it", path,
                    remedy=f"{merge}, resolve it, git add {shlex.quote(path)} && git commit && git push")
            for path in paths
        ]  # fmt: skip
    if not conflicts and result == plan.base_tree:
        raise RefusedError(Finding("range-empty", "merging head changes nothing in base"))
    plan = replace(plan, merge_bases=bases, merge_result="" if conflicts else result,
                   methods=() if conflicts else methods)  # fmt: skip
    return plan, head_tree, conflicts


def changes(store: git.Store, plan: Plan, head_tree: str, *, conflicts: bool) -> tuple[Difference, set[str]]:
    """`(what base would change, paths of it that head itself left alone)`.

    On a conflict there is no merge result: what counts is what head changes of base and of every merge base.
    """
    if plan.subject == "self":
        return Difference(), set()
    found = store.difference(plan.base_tree, head_tree if conflicts else plan.merge_result)
    others = [store.commit_and_tree(b)[1] for b in plan.merge_bases if b != plan.base]
    by_head = [{c.path for c in store.difference(tree, head_tree).changes} for tree in others]
    if conflicts:
        mine = [c for c in found.changes if all(c.path in side for side in by_head)]
        return replace(found, changes=mine), set()
    return found, {c.path for c in found.changes if by_head and not any(c.path in side for side in by_head)}


def oracle(store: git.Store, tree: str, blake3: Callable[[bytes], str]) -> list[OracleFile]:
    """The oracle of a tree. Raises RefusedError with `not-adopted` if base has no such folder."""
    return stage.read_oracle(store, store.listing(tree, "oracle"), blake3)


def edit_of(path: str, there: Entry | None) -> Change:
    """The change that an edit of `path` would be, or its addition where the tree has no such entry."""
    if there is None:
        return Change(path, ABSENT, "100644", "", "new")
    return Change(path, there.mode, there.mode, there.oid, "new")
