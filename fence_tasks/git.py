"""The only module that runs git. Each function is one question; answers are values of `model`.

Judging happens in a private bare GIT_DIR whose only tie to the judged repository is its object store (as an
alternate), so that config, attributes, hooks, grafts, replace refs and the index there cannot steer anything.
Git's own formats: git-rev-parse(1), git-cat-file(1) --batch-command, git-merge-tree(1), and raw trees (`trees`).
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from . import private, trees
from .answers import Answers, EndedError
from .model import TREE_MODE, Entry, Finding, RefusedError, bytes_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

MINIMUM = (2, 38)  # the first git with merge-tree --write-tree
#: PATH is not asked: an earlier step of a job may have put a folder of its own in front (attack B67).
FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin")
_HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NAME = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\-][^\x00-\x20\x7f~^:?*\[\\]*")
#: Bytes of requests written before their replies are read: they must fit a pipe's buffer (64 KiB), or both sides wait.
_BATCH = 32 << 10


class GitError(RefusedError):
    """A git command ended in a way its question does not allow."""


@dataclass(frozen=True, slots=True)
class Repository:
    """Where the judged repository lies: its object store, work tree ("" if bare), hash, what it may lack, and in a
    server's hook the folder of the objects that a push has brought and that are not kept yet."""

    folder: str
    objects: str
    worktree: str
    object_format: str
    shallow: bool
    partial: bool
    incoming: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blob:
    """One object's answer from the store: its id, type, size in bytes and content."""

    oid: str
    kind: str
    size: int
    data: bytes


def program() -> str:
    """The absolute path of git.

    Raises RefusedError with `git-missing` if no system folder holds it.
    """
    for folder in FOLDERS:
        path = f"{folder}/git"
        if os.access(path, os.X_OK):
            return path
    raise RefusedError(Finding("git-missing", f"no git in {', '.join(FOLDERS)}"))


def environment() -> dict[str, str]:
    """The whole environment of a judging git: nothing of the caller's, no config but the repository's own."""
    return {
        "PATH": os.defpath,
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_TERMINAL_PROMPT": "0",
    }


def run(
    args: Sequence[str | bytes],
    *,
    cwd: str,
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    allowed: tuple[int, ...] = (0,),
) -> tuple[int, bytes]:
    """`(exit code, standard output)` of one git command.

    `args` follow `git`; `cwd` is a folder; `env` replaces the clean environment. Raises GitError for an exit code
    that is not `allowed`: a git error is an error, never an empty answer.
    """
    try:
        done = subprocess.run(  # noqa: S603 - an absolute program and a list, no shell
            [program(), *args], cwd=cwd, input=stdin, env=environment() if env is None else env,
            capture_output=True, check=False,
        )  # fmt: skip
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise RefusedError(Finding("not-a-repository", f"{cwd}: {error.strerror}")) from error
    # An allowed code means an answer only if git does not complain: merge-base ends in 1 for a missing parent too.
    complains = done.returncode == 1 and re.search(rb"^(?:error|fatal): ", done.stderr, re.MULTILINE)
    if done.returncode not in allowed or complains:
        raise _failure(args, text_of(done.stderr), cwd)
    return done.returncode, done.stdout


def _failure(args: Sequence[str | bytes], stderr: str, cwd: str) -> GitError:
    """What a failed command means: an old git, a folder that is no repository, a missing object, or a fault."""
    found = version()
    if found < MINIMUM:
        return GitError(Finding("git-old", f"{program()} is version {'.'.join(map(str, found)) or 'unknown'}"))
    last = stderr.strip().splitlines()[-1:] or ["no message"]
    if "not a git repository" in stderr or "cannot change to" in stderr:
        return GitError(Finding("not-a-repository", f"{cwd} is not in a git repository"))
    command = " ".join(text_of(a) if isinstance(a, bytes) else a for a in args[:4])
    rule = "object-missing" if re.search(r"bad object|unable to read|missing|could not get", stderr) else "gate-failed"
    return GitError(Finding(rule, f"git {command}: {last[0]}"))


def version() -> tuple[int, ...]:
    """Git's version as numbers, `()` if it does not say one."""
    done = subprocess.run([program(), "version"], env=environment(), capture_output=True, check=False)  # noqa: S603
    match = re.search(rb"git version (\d+)\.(\d+)", done.stdout)
    return (int(match.group(1)), int(match.group(2))) if match else ()


def locate(folder: str) -> Repository:
    """The repository that `folder` is in; it may be bare, a linked work tree, or owned by somebody else.

    Raises RefusedError: `not-a-repository`, `git-missing`, `git-old`.
    """
    # Ownership is not asked for: what is read here is the object store and refs, and no hook or config runs.
    _, out = run(["-c", "safe.directory=*", "rev-parse", "--path-format=absolute", "--is-shallow-repository",
                  "--show-object-format", "--git-path", "objects", "--is-bare-repository", "--show-cdup"],
                 cwd=folder)  # fmt: skip
    lines = text_of(out).split("\n")
    if (len(lines) in {5, 6} and lines[0] in {"true", "false"} and lines[3] not in {"true", "false"}) or len(lines) > 6:
        raise RefusedError(Finding("not-a-repository", f"{folder!r}: a newline in the repository's path"))
    if len(lines) not in {5, 6} or lines[0] not in {"true", "false"}:
        raise _failure(["rev-parse"], f"unexpected answer {lines[:1]}", folder)
    shallow, hash_name, objects, bare, *cdup = lines[:-1]  # no cdup in a bare repository or inside .git
    partial = any(Path(objects, "pack").glob("*.promisor"))
    worktree = "" if bare == "true" or not cdup else os.path.realpath(Path(folder) / cdup[0])
    incoming = os.environ.get("GIT_QUARANTINE_PATH", "")
    # Git makes it inside the object store (git-receive-pack(1), "QUARANTINE ENVIRONMENT"); no other place counts.
    inside = bool(incoming) and Path(os.path.realpath(incoming)).parent == Path(os.path.realpath(objects))
    return Repository(os.path.realpath(folder), objects, worktree, hash_name, shallow == "true", partial,
                      (incoming,) if inside else ())  # fmt: skip


def resolve(repository: Repository, names: Iterable[str]) -> dict[str, str]:
    """Each name of `names` as an object id: full hex ids as they are, `HEAD`, `refs/…`, or exactly one ref.

    Raises RefusedError: `revision-form`, `revision-unknown`, `revision-ambiguous` (a tag over a branch).
    """
    wanted = list(dict.fromkeys(names))
    refs = _refs(repository) if any(not _HEX.fullmatch(name) for name in wanted) else {}
    return {name: name if _HEX.fullmatch(name) else _exactly_one(name, refs) for name in wanted}


def _exactly_one(name: str, refs: dict[str, str]) -> str:
    if not name:
        raise RefusedError(Finding("usage", "a revision is empty"))
    if not _NAME.fullmatch(name) or ".." in name or "@{" in name or name == "@":
        raise RefusedError(Finding("revision-form", f"{name!r} is not a branch, tag, remote branch or full commit id"))
    if name == "HEAD" or name.startswith("refs/"):
        found = [name] if name in refs else []
    else:
        found = [full for kind in ("heads", "tags", "remotes") if (full := f"refs/{kind}/{name}") in refs]
    if not found:
        raise RefusedError(Finding("revision-unknown", f"{name!r} names no branch, tag, remote branch or commit here"))
    if len(found) > 1:
        raise RefusedError(Finding("revision-ambiguous", f"{name!r} is {' and '.join(found)}"))
    return refs[found[0]]


def _refs(repository: Repository) -> dict[str, str]:
    code, out = run(["-c", "safe.directory=*", "show-ref", "--head"], cwd=repository.folder, allowed=(0, 1))
    if code:
        return {}
    lines = (line.split(" ", 1) for line in text_of(out).split("\n") if line)
    return {name: oid for oid, name in lines}


def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
    """Write all of `data`; the pipe is empty and has room for it."""
    if process.stdin:
        process.stdin.write(data)


class Store:
    """A repository's objects read through a private GIT_DIR, by one live `cat-file` process. Use with `with`."""

    def __init__(self, repository: Repository, git_dir: Path) -> None:
        """Make the private GIT_DIR at `git_dir` (it may exist from an earlier step of the same run)."""
        self.repository = repository
        self.git_dir = git_dir
        if not git_dir.exists():
            private.make(git_dir, repository.object_format, [repository.objects, *repository.incoming])
        self.env = {**environment(), "GIT_DIR": str(git_dir)}
        self._live: tuple[subprocess.Popen[bytes], Answers] | None = None

    def __enter__(self) -> Self:
        """Answer the store itself; its process starts with the first question."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the live process."""
        if self._live:
            process, self._live = self._live[0], None
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
            process.wait()

    def _run(self, args: Sequence[str | bytes], **options: object) -> tuple[int, bytes]:
        return run(args, cwd=str(self.git_dir), env=self.env, **options)  # type: ignore[arg-type]

    def _started(self) -> tuple[subprocess.Popen[bytes], Answers]:
        if self._live is None:
            process = subprocess.Popen(  # noqa: S603
                [program(), "cat-file", "--batch-command", "--buffer"], cwd=self.git_dir, env=self.env,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            )  # fmt: skip
            self._live = process, Answers(process.stdout.fileno() if process.stdout else -1)
        return self._live

    def ask(self, verb: str, names: Sequence[str]) -> Iterator[Blob]:
        """One answer a name, in order. `verb` is `info` (no content) or `contents`.

        Raises RefusedError with `object-missing` where a name resolves to nothing or to bytes that are not its own.
        """
        if any("\n" in name for name in names):
            raise GitError(Finding("gate-failed", "a name with a newline cannot be asked for"))
        longest = max(map(len, names), default=0) * 4 + 10  # bytes: UTF-8 takes at most 4 a character
        step = max(1, _BATCH // longest)
        complete = False
        try:
            for start in range(0, len(names), step):
                yield from self._batch(verb, names[start : start + step])
            complete = True
        finally:
            if not complete:  # answers are left unread: the next question must not get them
                self.__exit__(None, None, None)

    def _batch(self, verb: str, names: Sequence[str]) -> Iterator[Blob]:
        process, answers = self._started()
        requests = b"".join(f"{verb} ".encode() + bytes_of(name) + b"\n" for name in names) + b"flush\n"
        try:
            _write(process, requests)
            for name in names:
                fields = answers.line().split()
                if len(fields) != 3 or not fields[2].isdigit():
                    raise GitError(Finding("object-missing", f"{name} is not in the object store"))
                oid, kind, size = fields[0].decode(), fields[1], int(fields[2])
                data = answers.block(size) if verb == "contents" else b""
                if verb == "contents" and not self._is(oid, kind, data):
                    raise GitError(Finding("object-missing", f"{oid} holds other bytes than its id says"))
                yield Blob(oid, kind.decode(), size, data)
        except (EndedError, BrokenPipeError) as error:
            raise GitError(Finding("object-missing", f"the object store gives no answer: {error}")) from error

    def _is(self, oid: str, kind: bytes, data: bytes) -> bool:
        # Git checks an object's hash when it arrives, not when it is read: whoever can write the store could forge it.
        made = hashlib.new(self.repository.object_format, b"%s %d\0" % (kind, len(data)), usedforsecurity=False)
        made.update(data)
        return made.hexdigest() == oid

    def contents(self, oids: Sequence[str]) -> Iterator[Blob]:
        """The blobs `oids` with content, in order."""
        return self.ask("contents", oids)

    def commit_and_tree(self, oid: str) -> tuple[str, str]:
        """`(commit id, tree id)` of a commit or an annotated tag. Raises RefusedError with `revision-unknown`."""
        try:
            (commit,) = self.ask("contents", [f"{oid}^{{commit}}"])
        except GitError as error:
            raise RefusedError(Finding("revision-unknown", f"{oid} is not a commit of this repository")) from error
        return commit.oid, commit.data.split(b"\n", 1)[0].removeprefix(b"tree ").decode()

    def merge_bases(self, base: str, head: str) -> tuple[str, ...]:
        """All best common ancestors of two commits, sorted; `()` if they share no history."""
        code, out = self._run(["merge-base", "--all", base, head], allowed=(0, 1))
        return tuple(sorted(out.decode().split())) if code == 0 else ()

    def has_merges(self, base: str, head: str) -> bool:
        """True if a commit of `base..head` has several parents."""
        return bool(self._run(["rev-list", "--min-parents=2", "--max-count=1", f"{base}..{head}"])[1])

    def merge(self, base: str, head: str) -> tuple[str, tuple[str, ...]]:
        """`(tree id, paths in conflict)` of merging head into base; the tree is of no use if a path conflicts."""
        code, out = self._run(["merge-tree", "--write-tree", "-z", "--no-messages", "--name-only", base, head],
                              allowed=(0, 1))  # fmt: skip
        tree, *paths = text_of(out).split("\0")
        return tree.strip(), tuple(dict.fromkeys(p for p in paths if p)) or (("?",) if code else ())

    def read_trees(self, oids: Sequence[str]) -> list[bytes | None]:
        """The raw tree objects `oids`, None for one that is another kind of object."""
        return [blob.data if blob.kind == "tree" else None for blob in self.ask("contents", oids)]

    def difference(self, old: str, new: str) -> trees.Difference:
        """What tree `new` has against tree `old`, without rename detection."""
        return trees.difference(old, new, self.read_trees)

    def listing(self, tree: str, path: str = "") -> list[Entry]:
        """Every file of a tree, in byte order; with `path` (a folder) those below it, [] if it is not there."""
        oid = self.lookup(tree, [path])[path] if path else tree
        if not oid:
            return []
        found = trees.difference("", oid, self.read_trees).changes
        return [Entry(c.new_mode, c.new_oid, f"{path}/{c.path}" if path else c.path) for c in found]

    def lookup(self, tree: str, paths: Sequence[str]) -> dict[str, str]:
        """The object id at each of `paths` in a tree, "" where there is none.

        Folder by folder: to git itself, a path in a tree that is missing is a path that is not there.
        """
        folders: dict[str, dict[str, Entry]] = {}

        def entries(oid: str) -> dict[str, Entry]:
            if oid not in folders:
                (data,) = self.read_trees([oid])
                parsed = trees.parse(data, "", len(oid) // 2)[0] if data is not None else []
                folders[oid] = {e.path: e for e in parsed}
            return folders[oid]

        found = {}
        for path in paths:
            oid, mode = tree, TREE_MODE
            for part in path.split("/"):
                entry = entries(oid).get(part) if mode == TREE_MODE else None
                oid, mode = (entry.oid, entry.mode) if entry else ("", "")
                if not entry:
                    break
            found[path] = oid
        return found

    def not_blobs(self, oids: Sequence[str]) -> set[str]:
        """Those of `oids` that are no blobs. Raises RefusedError with `object-missing` for one that is not there."""
        return {oid for oid, blob in zip(oids, self.ask("info", oids), strict=True) if blob.kind != "blob"}

    def touching(self, base: str, head: str, paths: Sequence[str]) -> list[tuple[str, str]]:
        """`(commit, path)` for each commit of `base..head` that touches one of `paths` (literal, as prefixes).

        Combined diffs: a merge counts only where it differs from all its parents, so that merging main is no touch.
        """
        _, out = self._run(["--literal-pathspecs", "log", "-c", "--full-history", "--raw", "-z", "--no-renames",
                            "--no-abbrev", "--no-show-signature", "--format=%x01%H", f"{base}..{head}", "--",
                            *(p.removesuffix("/") for p in paths)])  # fmt: skip
        found: list[tuple[str, str]] = []
        commit = ""
        tokens = iter(out.split(b"\0"))
        for token in tokens:  # "\x01<commit>", then ":<modes> <ids> <letters>" (a merge: "::…") and its path
            if token.startswith(b"\x01"):
                commit = token[1:].decode()
            elif token.lstrip(b"\n").startswith(b":"):
                found.append((commit, text_of(next(tokens))))
        return found

    def export(self, entries: Sequence[Entry], folder: Path, prefix: str = "") -> None:
        """Write regular files of a tree below `folder` (new, mode 0700), their paths without `prefix`.

        Raises RefusedError with `gate-failed` where a path would leave the folder or cannot be written.
        """
        folder.mkdir(parents=True, mode=0o700)
        blobs = self.contents([entry.oid for entry in entries])
        for entry, blob in zip(entries, blobs, strict=True):
            relative = entry.path.removeprefix(prefix)
            if any(part in {"", ".", ".."} for part in relative.split("/")):
                raise RefusedError(Finding("gate-failed", "a path climbs out of the stage", entry.path))
            target = folder / relative
            try:
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with target.open("xb") as file:  # "x": two entries are never one file
                    file.write(blob.data)
            except OSError as error:
                raise RefusedError(Finding("gate-failed", f"cannot be staged: {error.strerror}", entry.path)) from error
            target.chmod(0o700 if entry.mode == "100755" else 0o600)
