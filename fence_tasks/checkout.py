"""What a maintainer's task asks of the checkout it works in: index, work tree, and staging. Runs git by `git.run`.

Unlike judging, these are a person's own commands in a person's own clone: their configuration holds.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import git
from .model import Change, Entry, Finding, RefusedError, bytes_of, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .git import Repository


def _environment() -> dict[str, str]:
    # A hook or an outer command exports GIT_DIR, GIT_INDEX_FILE and the like, which mean another repository.
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


def _run(root: str, *args: str | bytes, stdin: bytes = b"", allowed: tuple[int, ...] = (0,)) -> tuple[int, bytes]:
    return git.run(["--literal-pathspecs", *args], cwd=root, stdin=stdin, env=_environment(), allowed=allowed)


def root_of(folder: str) -> str:
    """The absolute path of the work tree that `folder` is in. Raises RefusedError with `not-a-repository`."""
    repository = git.locate(folder)
    if not repository.worktree:
        raise RefusedError(Finding("not-a-repository", f"{folder} is in a bare repository, which has no work tree"))
    return repository.worktree


def has_commits(root: str) -> bool:
    """True if HEAD names a commit."""
    return _run(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", allowed=(0, 1, 128))[0] == 0


def head(root: str) -> str:
    """HEAD's commit id."""
    return text_of(_run(root, "rev-parse", "--verify", "HEAD^{commit}")[1]).strip()


def index(root: str, prefix: str = "", *, without: Sequence[str] = ()) -> list[Entry]:
    """The index's entries below `prefix` (a folder with `/`, or ""), the paths `without` left out. Raises
    RefusedError with `merge-conflict` for an unmerged path."""
    entries = []
    out = _run(root, "ls-files", "--stage", "-z", "--full-name", "--", *([prefix] if prefix else []))[1]
    for line in out.split(b"\0"):
        fields, _, raw = line.partition(b"\t")
        if line and text_of(raw) not in without:
            mode, oid, step = fields.decode().split(" ")
            if step != "0":
                raise RefusedError(Finding("merge-conflict", "the index has an unmerged path", text_of(raw)))
            entries.append(Entry(mode, oid, text_of(raw)))
    return entries


def intended(root: str, prefix: str) -> set[str]:
    """Paths below `prefix` that `git add --intent-to-add` put into the index: no commit will hold them."""
    out = _run(root, "diff-files", "--name-only", "--diff-filter=A", "-z", "--", prefix)[1]
    return {text_of(raw) for raw in out.split(b"\0") if raw}


def unmerged(root: str) -> list[str]:
    """Paths that the index holds in conflict."""
    out = _run(root, "ls-files", "--unmerged", "-z", "--full-name")[1]
    return sorted({text_of(line.partition(b"\t")[2]) for line in out.split(b"\0") if line})


def staged(repository: Repository, tree: str) -> list[Change]:
    """What the index changes against a tree, without rename detection."""
    if not repository.worktree:
        raise RefusedError(Finding("not-a-repository", "a bare repository has no index"))
    out = _run(repository.worktree, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", tree)[1]
    tokens = iter(out.split(b"\0"))
    changes = []
    for token in tokens:
        if token:
            old_mode, new_mode, old, new, _ = token.decode().removeprefix(":").split(" ")
            changes.append(Change(text_of(next(tokens)), old_mode, new_mode, old, new))
    return changes


def dirty(root: str, *prefixes: str) -> list[str]:
    """Paths below `prefixes` (all if none) that differ from HEAD: staged, unstaged or untracked, ignored left out."""
    out = _run(root, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", *prefixes)[1]
    return sorted(text_of(line[3:]) for line in out.split(b"\0") if line)


def unstaged(root: str, *prefixes: str) -> list[str]:
    """Paths below `prefixes` whose work-tree file differs from the index, or that git does not track."""
    out = _run(root, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", *prefixes)[1]
    return sorted(text_of(line[3:]) for line in out.split(b"\0") if line and line[1:2] != b" ")


def ignored(root: str, prefix: str) -> list[str]:
    """Untracked files below `prefix` that an ignore rule hides from `git status`."""
    out = _run(root, "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--full-name", "--", prefix)[1]
    return sorted(text_of(raw) for raw in out.split(b"\0") if raw)


def set_index(root: str, entries: Sequence[Entry], gone: Sequence[str] = ()) -> None:
    """In one step write entries (mode, blob id, path) into the index and take the paths `gone` out, whatever the
    work tree holds. An entry ends a conflict of its path."""
    width = len(entries[0].oid) if entries else 40
    lines = b"".join(f"0 {'0' * width}\t".encode() + bytes_of(path) + b"\0" for path in gone)
    lines += b"".join(f"{e.mode} {e.oid}\t".encode() + bytes_of(e.path) + b"\0" for e in entries)
    _run(root, "update-index", "-z", "--index-info", stdin=lines)
    # The entries come without a file's time and size; without those git reads each file again, every time.
    _run(root, "update-index", "-q", "--refresh", allowed=(0, 1, 128))


def store_blob(root: str, data: bytes) -> str:
    """Write `data` as a blob, without filters or line-ending conversion; answer its id."""
    return text_of(_run(root, "hash-object", "-w", "--stdin", "--no-filters", stdin=data)[1]).strip()


def commit_time(root: str) -> int:
    """When HEAD was committed, in seconds UTC."""
    return int(_run(root, "log", "-1", "--no-show-signature", "--format=%ct")[1])


def first_parent_commits(root: str, commit: str) -> int | None:
    """How many first-parent commits HEAD has after `commit`; None if the commit is not here."""
    code, out = _run(root, "rev-list", "--count", "--first-parent", f"{commit}..HEAD", allowed=(0, 128))
    return None if code else int(out)


def commits_of(root: str, path: str) -> int:
    """How many commits of HEAD's history touch a path."""
    return len(_run(root, "rev-list", "HEAD", "--", bytes_of(path))[1].split())
