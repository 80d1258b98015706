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
    return [_change(token, next(tokens)) for token in tokens if token]


def _change(fields: bytes, path: bytes) -> Change:
    """One row of git's raw format: ":<mode> <mode> <id> <id> <letter>" and, after a NUL, its path."""
    old_mode, new_mode, old, new, _ = fields.decode().removeprefix(":").split(" ")
    return Change(text_of(path), old_mode, new_mode, old, new)


def history(root: str, most: int) -> list[list[Change]]:
    """What each of the last `most` commits of HEAD's first-parent line changes against its first parent, newest first
    and without rename detection. A merge is one entry; a commit without a parent, or one that changes nothing, none."""
    out = _run(root, "log", f"--max-count={most}", "--first-parent", "--diff-merges=first-parent", "--min-parents=1",
               "--raw", "-z", "--no-renames", "--no-abbrev", "--no-relative", "--ignore-submodules=none",
               "--no-show-signature", "--no-notes", "--no-color", "--format=%x01%H", "HEAD", "--")[1]  # fmt: skip
    commits: list[list[Change]] = []
    tokens = iter(out.split(b"\0"))
    for token in tokens:  # "\x01<commit>", then for each change its row and its path
        row = token.lstrip(b"\n")
        if row.startswith(b"\x01"):
            commits.append([])
        elif row.startswith(b":") and commits:
            commits[-1].append(_change(row, next(tokens, b"")))
        elif row:
            raise git.GitError(Finding("gate-failed", f"git log: unexpected {text_of(row[:40])!r}"))
    return [changes for changes in commits if changes]


def main_branch(root: str) -> str:
    """The branch that changes are merged into, as far as a clone knows: what origin's HEAD names, else `main` or
    `master` if there is one, else the branch that is checked out, else `main`."""
    there = _run(root, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD", allowed=(0, 1))[1]
    if there:
        return text_of(there).strip().removeprefix("refs/remotes/origin/")
    for name in ("main", "master"):
        if _run(root, "show-ref", "--verify", "--quiet", f"refs/heads/{name}", allowed=(0, 1))[0] == 0:
            return name
    here = _run(root, "symbolic-ref", "--quiet", "HEAD", allowed=(0, 1))[1]
    return text_of(here).strip().removeprefix("refs/heads/") or "main"


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
