"""`invoke init-split`: turn an existing repository into a fenced one. It stages its own files and commits nothing."""

from __future__ import annotations

import json
import os
import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from .. import __version__, checkout, files, git
from ..model import RefusedError
from ..oracle import audit, freezes, lock, names, policy
from . import ci, layout, share, staged, vendored
from .refusals import blake3_hex, broken, shown, usage
from .writing import MODE, put

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..model import Entry

TEMPLATES = files.KIT / "templates"
#: Files at the root that are written only where there are none, and the folder that stands for the same.
THIN = {"noxfile.py": "noxfile", "tasks.py": "tasks"}
_CI = (".github/", ".gitlab-ci.yml")  # what the policy names where no CI file is there yet


@dataclass(frozen=True, slots=True)
class Ask:
    """What was typed; `into` is relative to the folder the person is in."""

    into: str
    production: tuple[str, ...]
    also: tuple[str, ...] = ()
    api: str = ""
    function: str = ""
    ci: str = "none"


def run(folder: str, ask: Ask, *, dry: bool = False) -> list[str]:
    """Vendor the kit and write the oracle, staged; answer what to tell the person: first what share of the repository's
    past changes the roots would have let through. Its own output is left as it is, but for a CI job that was not asked
    for then.

    Raises TaskError: `usage` for bad roots and the like; 75 for a dirty tree, no commit yet, or files that are in the
    way. All is built before anything is written.
    """
    if not ask.into:
        raise usage("--into is missing: which repository?", layout.EXAMPLE)
    if ask.function and not ask.function.isidentifier():
        raise usage(f"--function {ask.function!r} is not a function's name", layout.EXAMPLE)
    ci.check(ask.ci)
    root = checkout.root_of(str(Path(folder, ask.into)))
    if not checkout.has_commits(root):
        raise broken("no-history", f"{root} has no commit yet", "commit the code first: a fence is built around it")
    index = checkout.index(root)
    place = layout.of([e.path for e in index], ask.production, ask.also, ask.api)
    blake3 = blake3_hex()
    if _there(root, index):
        _same(root, index, place, ask, blake3)
        return _again(root, index, ask.ci, dry=dry)
    if dirty := checkout.dirty(root):
        raise broken("dirty-tree", f"not committed: {shown(dirty)}", "git stash --include-untracked, or commit first")
    new = _files(root, index, place, ask, blake3)
    shares = _shares(root, index, policy.parse(new[policy.PATH]))
    if dry:
        return [*shares, f"would write and stage {len(new)} files in {root}:", *(f"  {path}" for path in new)]
    put(root, new)
    return [*shares, *_told(root, new, ask.ci)]


def _shares(root: str, index: Sequence[Entry], rules: policy.Policy) -> list[str]:
    """The table of shares; where the history cannot be read, one line that says so: nothing depends on it."""
    try:
        history = checkout.history(root, share.LAST)
        shallow = git.locate(root).shallow
    except RefusedError as error:
        return [f"shares: the history could not be read: {error}"]
    found = [share.of(history, rules, choice) for choice in share.choices([e.path for e in index], rules)]
    return share.as_lines(found, shallow=shallow)


def _there(root: str, index: Sequence[Entry]) -> bool:
    """True if oracle or kit are there already, in the index or on disk. Raises TaskError for a twin in disguise."""
    tops = {e.path.split("/", 1)[0] for e in index}
    wanted = (policy.ORACLE.rstrip("/"), files.KIT_PATH.rstrip("/"))
    for name in sorted(tops):
        if name not in wanted and any(names.fold(name) == w for w in wanted):
            raise broken("clash", "some file systems take it for a folder of the fence", "git mv it elsewhere", name)
    loose = [name for name in wanted if name not in tops and os.path.lexists(os.path.join(root, name))]  # noqa: PTH118
    if loose:
        remedy = f"if an interrupted init-split left it: git clean -fdx -- {' '.join(loose)}; else move it away"
        raise broken("clash", "is there, and git does not track it", remedy, loose[0])
    return any(name in tops for name in wanted)


def _same(
    root: str, index: Sequence[Entry], place: layout.Layout, ask: Ask, blake3: Callable[[bytes], str]
) -> None:  # fmt: skip
    """Raise TaskError where the fence that stands is not the one asked for."""
    kit, recorded = vendored.read(root, index)
    try:
        rules = staged.policy_of(staged.oracle(root, blake3))
    except RefusedError as error:
        why = "is there already, of another format: " + "; ".join(f.message for f in error.findings)
        remedy = "move it away and commit; if it is an older fence, invoke update-kit"
        raise broken("clash", why, remedy, policy.ORACLE) from error
    if kit != files.kit_files() or recorded != files.kit_digest(kit, blake3):
        why = f"is there already and is not kit {__version__} as init-split writes it"
        raise broken("clash", why, "invoke update-kit, or move it away and commit", files.KIT_PATH)
    pairs = (
        ("production.roots", rules.production.roots, place.roots),
        ("production.also", rules.production.also, place.also),
        ("candidate.api", rules.candidate.api, place.api if ask.api else rules.candidate.api),
        ("fixtures.function", rules.fixtures.function, ask.function or rules.fixtures.function),
    )  # fmt: skip
    for key, has, asked in pairs:
        if has != asked:
            raise broken("clash", f"{key} is {has!r} there, not {asked!r}",
                         "edit the policy, git add it, invoke relock, commit", policy.PATH)  # fmt: skip


def _again(root: str, index: Sequence[Entry], forge: str, *, dry: bool) -> list[str]:
    """The answer where the fence stands already; a CI job that was not asked for then is added."""
    known = f"{root} is fenced already, with this kit and these roots"
    job = {} if ci.there(root, index, forge) else ci.new(root, index, forge)
    if not job:
        return [f"{known}; nothing changed", "next: invoke check"]
    if dry:
        return [f"{known}; would write and stage:", *(f"  {path}" for path in job)]
    put(root, job)
    return [f"{known}; staged:", *(f"  {path}" for path in job), *ci.told(root, forge), "next:    git commit"]


def _files(
    root: str, index: Sequence[Entry], place: layout.Layout, ask: Ask, blake3: Callable[[bytes], str]
) -> dict[str, bytes]:  # fmt: skip
    """Everything that will be written, by path: kit, oracle, LOCK, a CI job, and thin files where there are none."""
    kit = files.kit_files()
    new = {files.KIT_PATH + path: data for path, data in kit.items()}
    new[vendored.PATH] = vendored.render(kit, blake3)
    new |= {name: _template(f"{name}.txt") for name in THIN if not _kept(root, index, name)}
    new |= (job := ci.new(root, index, ask.ci))
    word = ask.function or "your_function"
    oracle = {
        policy.PATH: _policy([*(e.path for e in index), *job], place, ask.function),
        "oracle/.gitattributes": _template("gitattributes.txt"),
        "oracle/properties/README.md": _filled("properties.md", {"function": word}),
        "oracle/fixtures/README.md": _template("fixtures.md"),
        freezes.PATH: freezes.render(()),
    }
    oracle[lock.PATH] = staged.lock_of([], blake3, oracle)
    entries = [audit.OracleFile(p, MODE, "", len(d), blake3(d), "", d) for p, d in oracle.items()]
    if faults := audit.audit(entries).findings:  # only what was typed can have broken the policy
        raise usage("; ".join(f.message for f in faults), layout.EXAMPLE)
    return new | oracle


def _kept(root: str, index: Sequence[Entry], name: str) -> bool:
    """True if the host has such a file, or a package of that name, of its own."""
    own = (name, f"{THIN[name]}/")
    tracked = any(e.path == name or e.path.startswith(own[1]) for e in index)
    return tracked or any(os.path.lexists(os.path.join(root, o.rstrip("/"))) for o in own)  # noqa: PTH118


def _policy(paths: Sequence[str], place: layout.Layout, function: str) -> bytes:
    forges = [f for f in policy.FORGE_FILES if any(policy.covers(f, p) for p in paths)] or list(_CI)
    # Invoke loads a package tasks/ as it does tasks.py; where it is production, it cannot be gate as well.
    packages = [f"{p}/" for p in THIN.values() if f"{p}/__init__.py" in paths
                and not any(policy.overlaps(f"{p}/", w) for w in (*place.roots, *place.also))]  # fmt: skip
    lists = {"roots": place.roots, "also": place.also, "imports": place.imports,
             "gate": [files.KIT_PATH, *THIN, *packages, *forges]}  # fmt: skip
    words = {"api": place.api, "function": function}
    return _filled("policy.toml.txt", {
        **{k: _toml(v) for k, v in (lists | words).items()}, "seed": str(secrets.randbelow(2**63)),
    })  # fmt: skip


def _toml(value: str | Sequence[str]) -> str:
    """A string, or a list of strings, as TOML: JSON's escapes are TOML's too (toml.io, v1.0, "String")."""
    return json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)


def _template(name: str) -> bytes:
    return (TEMPLATES / name).read_bytes().replace(b"\r\n", b"\n")


def _filled(name: str, values: Mapping[str, str]) -> bytes:
    return Template(_template(name).decode()).substitute(values).encode("utf-8", "surrogateescape")


def _told(root: str, new: Mapping[str, bytes], forge: str) -> list[str]:
    here = ["git", "-C", root]
    mine = [p for p in new if not p.startswith(files.KIT_PATH)]
    kit = len(new) - len(mine)
    lines = [f"staged in {root}; nothing is committed:", f"  {files.KIT_PATH} ({kit} files)", *(f"  {p}" for p in mine)]
    if "noxfile.py" not in new:
        lines.append(f"noxfile.py is yours; score with: nox -f {files.KIT_PATH}noxfile.py -s score")
    if "tasks.py" not in new:
        lines.append(f"tasks.py is yours; the tasks: invoke -r {files.KIT_PATH.rstrip('/')} --list")
    undo = shlex.join([*here, "rm", "-rfq", "--", files.KIT_PATH.rstrip("/"), *mine])
    return [
        *lines,
        *ci.told(root, forge),
        f"next:    {shlex.join([*here, 'commit', '-m', 'Adopt the path fence'])}",
        "then:    write a property in oracle/properties/, or invoke add-fixture; invoke relock; commit; invoke check",
        "protect: let only people approve changes to oracle/ and to the gate paths that oracle/policy.toml names",
        f"undo:    {undo}",
        "         (once committed: git revert that commit)",
    ]
