"""Whether one changed path is allowed: rule 2 and the table of the design's section 6.4.

Allowed strictly: the bytes lie under a writable root. Denied loosely: any folding that makes the path a protected
one denies it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model import LINK_MODE, REGULAR_MODES, SUBMODULE_MODE, Finding
from ..oracle import names, patterns
from ..oracle.policy import FORGE_FILES, ORACLE, covers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from ..model import Change
    from ..oracle.policy import Policy

_LOADED = {"sitecustomize", "usercustomize"}  # as a module, a package or compiled
_COMPILED_FOLDERS = {"__pycache__", ".hypothesis"}
_COMPILED_ENDINGS = (".pyc", ".pyo", ".pth", ".egg-link", ".so", ".pyd")
_METADATA_ENDINGS = (".dist-info", ".egg-info")
_RUNNERS = {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg"}
_TASKS = {"noxfile.py", "tasks.py"}


def judge_path(change: Change, policy: Policy, known: Collection[str] = ()) -> list[Finding]:
    """The findings for one changed path of the merge result against base; `[]` means allowed. `known` are folders
    that base has too.

    The first rule that denies wins, so that a path has one reason; notes come beside it.
    """
    path = change.path
    if owned := protected(path, policy):
        return [owned]
    where = place(path, policy)
    if found := entry(change, known):
        return found
    if not change.deleted and (reserved := _reserved(change, where, policy)):
        return [reserved]
    if not where:
        return [_outside(change, policy)]
    if denied := next((p for p in policy.production.deny if patterns.matches(p, path)), ""):
        return [Finding("policy-denied", f"production.deny holds {denied!r}", path)]
    name = names.fold(path.rsplit("/", 1)[-1])
    if name in _TASKS or _invoke_file(name):
        return [Finding("reserved-note", "task runners load a file of this name from the folder they start in", path)]
    return []


def protected(path: str, policy: Policy) -> Finding | None:
    """The finding if `path` is, or may be opened as, an oracle, gate, forge or people's path."""
    if covers(ORACLE, path) or path == ORACLE.removesuffix("/"):
        return Finding("oracle-touched", "people own the oracle", path)
    for gate in policy.gate.paths:
        if covers(gate, path):
            return Finding("gate-touched", f"gate.paths holds {gate!r}", path)
    for forge in FORGE_FILES:
        if covers(forge, path):
            return Finding("gate-touched", f"{forge!r} can start or stop CI", path)
    if names.may_be(names.fold(path).rsplit("/", 1)[-1], "codeowners"):
        return Finding("gate-touched", "CODEOWNERS says whose review a change needs", path)
    for owned in policy.people.paths:
        if covers(owned, path):
            return Finding("people-touched", f"people.paths holds {owned!r}", path)
    for other in (*policy.protected, *policy.people.paths):
        if names.below(path, other):
            return Finding("protected-alias", f"some file systems open it as {other!r}", path)
    return None


def place(path: str, policy: Policy) -> str:
    """Where a path lies: `roots`, `also`, or "" for outside. Bytes decide, no folding."""
    # The more exact one wins: also = ["pkg/tests/"] inside roots = ["pkg/"] is also.
    best, length = "", -1
    for kind, prefixes in (("roots", policy.production.roots), ("also", policy.production.also)):
        for prefix in prefixes:
            if covers(prefix, path) and len(prefix) > length:
                best, length = kind, len(prefix)
    return best


def entry(change: Change, known: Collection[str] = ()) -> list[Finding]:
    """Links, submodules, odd modes and odd names. What base has may go; a link of base's may not point elsewhere."""
    if not change.deleted and change.new_mode == LINK_MODE:
        return [Finding("link-added", "a symbolic link can point out of the roots", change.path)]
    if not change.deleted and change.new_mode == SUBMODULE_MODE:
        return [Finding("submodule-added", "a submodule's files are not in the patch", change.path)]
    if not change.deleted and change.new_mode not in REGULAR_MODES:
        return [Finding("mode-odd", f"has mode {change.new_mode}", change.path)]
    # What base already has may keep an odd name, path or folder: renaming it is not the proposer's job.
    fresh = change.path
    for folder in _folders_above(change.path):
        if folder in known:
            fresh = change.path[len(folder) + 1 :]
    odd = names.oddity(fresh) if change.added else None
    return [Finding(odd[0], odd[1], change.path)] if odd else []


def _reserved(change: Change, where: str, policy: Policy) -> Finding | None:
    """The table of section 6.4, for what the merge result has."""
    path = change.path
    parts = [names.fold(part) for part in path.split("/")]
    name = parts[-1]
    permitted = any(patterns.matches(p, path) for p in policy.production.permit)
    if any(part.split(".", 1)[0] in _LOADED for part in parts):
        return Finding("reserved-name", "Python imports a module of this name at every start", path)
    if (any(p in _COMPILED_FOLDERS or p.endswith(_METADATA_ENDINGS) for p in parts)
            or name.endswith(_COMPILED_ENDINGS)):  # fmt: skip
        return Finding("compiled-file", "compiled code, package metadata or a tool's cache", path)
    if name == ".gitmodules" or (name == ".gitattributes" and not (where == "roots" and permitted)):
        return Finding("git-name", f"{name} changes what git checks out", path)
    if name in _RUNNERS and where != "also" and not (where == "roots" and permitted):
        return Finding("reserved-name", f"test runners load {name} unasked", path)
    if not where and (name in _TASKS or _invoke_file(name)):
        return Finding("reserved-name", f"task runners load {name} unasked", path)
    return None


def _invoke_file(name: str) -> bool:
    return name in {"invoke.yaml", "invoke.yml", "invoke.json", "invoke.py"}


def _outside(change: Change, policy: Policy) -> Finding:
    writable = ", ".join(policy.writable)
    if change.added:
        return Finding("stray-file", f"new, and not under {writable}", change.path)
    return Finding("outside-roots", f"not under {writable}", change.path)


def repositories(added: Iterable[str], folders: Mapping[str, Iterable[str]]) -> list[Finding]:
    """`git-name` for each folder that an addition makes into a repository without `.git` (a bare one): git run in
    it obeys its configuration (attack B70; git's setup.c, `is_git_directory`)."""
    touched = {folder for path in added for folder in _folders_above(path)}
    findings = []
    for folder in sorted(touched & set(folders)):
        found = {names.fold(path.rpartition("/")[2]) for path in folders[folder]}
        if {"head", "objects", "refs"} <= found or {"head", "commondir"} <= found:
            why = "git opens this folder as a repository and obeys its config"
            findings.append(Finding("git-name", why, folder or "HEAD"))
    return findings


def _folders_above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts))]


def clashes(added: Iterable[str], folders: Mapping[str, Iterable[str]]) -> list[Finding]:
    """`name-clash` for each added path one of whose components folds like a sibling's in the merge result.

    `folders` maps each changed folder of the merge result ("" is the root) to its entries' paths.
    """
    folded: dict[str, dict[str, set[str]]] = {}
    findings, seen = [], set()
    for path in added:
        for folder in _folders_above(path):
            name = (path[len(folder) + 1 :] if folder else path).split("/", 1)[0]
            if (folder, name) in seen:  # a thousand files in one clashing folder are one finding
                continue
            seen.add((folder, name))
            if folder not in folded:
                folded[folder] = {}
                for sibling in (other.rpartition("/")[2] for other in folders.get(folder, ())):
                    folded[folder].setdefault(names.fold(sibling), set()).add(sibling)
            if others := folded[folder].get(names.fold(name), set()) - {name}:
                findings.append(Finding("name-clash", f"{min(others)!r} is the same file on a folding disk", path))
    return findings
