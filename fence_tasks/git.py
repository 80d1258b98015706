"""The only module that runs git. Each function is one question; answers are values of `model`.

Judging happens in a private bare GIT_DIR whose only tie to the judged repository is its object store (as an
alternate), so that config, attributes, hooks, grafts, replace refs and the index there cannot steer anything.
Git's own formats: git-rev-parse(1), git-cat-file(1) --batch-command, git-merge-tree(1), and raw trees (`trees`).
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from . import trees
from .model import Entry, Finding, RefusedError, bytes_of, text_of

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

_CONFIG = """\
[core]
\trepositoryformatversion = 1
\tbare = true
\tcommitGraph = false
\tattributesFile = /dev/null
\thooksPath = /dev/null
\tfsmonitor = false
[extensions]
\tobjectFormat = {format}
[merge]
\trenames = true
\tdirectoryRenames = conflict
\trenameLimit = 7000
\tconflictStyle = merge
\trenormalize = false
[diff]
\talgorithm = histogram
"""


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
        "GIT_GRAFT_FILE": os.devnull,
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
    if done.returncode not in allowed:
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
    if len(lines) < 5 or lines[0] not in {"true", "false"}:
        raise _failure(["rev-parse"], f"unexpected answer {lines[:1]}", folder)
    shallow, hash_name, objects, bare, cdup = lines[:5]
    partial = any(Path(objects, "pack").glob("*.promisor"))
    worktree = "" if bare == "true" else os.path.realpath(Path(folder) / cdup)
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


class Store:
    """A repository's objects read through a private GIT_DIR, by one live `cat-file` process. Use with `with`."""

    def __init__(self, repository: Repository, git_dir: Path) -> None:
        """Make the private GIT_DIR at `git_dir` (it may exist from an earlier step of the same run)."""
        self.repository = repository
        self.git_dir = git_dir
        stores = [repository.objects, *repository.incoming]
        if not git_dir.exists():
            for folder in ("objects/info", "refs"):
                (git_dir / folder).mkdir(parents=True)
            (git_dir / "HEAD").write_text("ref: refs/heads/none\n", "utf-8")
            (git_dir / "config").write_text(_CONFIG.format(format=repository.object_format), "utf-8")
            # One path a line; git reads a line that starts with a quote as C-quoted, and a newline ends it.
            if any(path.startswith('"') or "\n" in path for path in stores):
                raise RefusedError(Finding("not-a-repository", f"{stores[0]!r} has a name git cannot list"))
            lines = "".join(f"{path}\n" for path in stores)
            (git_dir / "objects/info/alternates").write_text(lines, "utf-8", "surrogateescape")
        self.env = {**environment(), "GIT_DIR": str(git_dir)}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Answer the store itself; its process starts with the first question."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the live process."""
        if self._process:
            for stream in (self._process.stdin, self._process.stdout):
                if stream:
                    stream.close()
            self._process.wait()
            self._process = None

    def _run(self, args: Sequence[str | bytes], **options: object) -> tuple[int, bytes]:
        return run(args, cwd=str(self.git_dir), env=self.env, **options)  # type: ignore[arg-type]

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603
                [program(), "cat-file", "--batch-command", "--buffer"], cwd=self.git_dir, env=self.env,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin and stdout  # noqa: S101, PT018 - both were asked for
        return stdin, stdout

    def ask(self, verb: str, names: Sequence[str], *, absent: bool = False) -> Iterator[Blob]:
        """One answer a name, in order. `verb` is `info` (no content) or `contents`.

        A name that resolves to nothing is an empty answer if `absent` allows that. Raises RefusedError with
        `object-missing` otherwise.
        """
        stdin, stdout = self._pipes()
        if any("\n" in name for name in names):
            raise GitError(Finding("gate-failed", "a name with a newline cannot be asked for"))
        longest = max(map(len, names), default=0) * 4 + 10  # bytes: UTF-8 takes at most 4 a character
        step = max(1, _BATCH // longest)
        for start in range(0, len(names), step):
            batch = names[start : start + step]
            try:
                stdin.write(b"".join(f"{verb} ".encode() + bytes_of(name) + b"\n" for name in batch) + b"flush\n")
                stdin.flush()
            except BrokenPipeError as error:
                raise _failure(["cat-file"], "cat-file ended early", str(self.git_dir)) from error
            for name in batch:
                yield self._answer(stdout, name, content=verb == "contents", absent=absent)

    def _answer(self, stdout: IO[bytes], name: str, *, content: bool, absent: bool) -> Blob:
        header = stdout.readline()
        fields = header.rsplit(b" ", 2)
        if absent and header == bytes_of(name) + b" missing\n":
            return Blob("", "", 0, b"")
        if len(fields) != 3 or not fields[2].strip().isdigit():
            raise GitError(Finding("object-missing", f"{name} is not in the object store"))
        size = int(fields[2])
        data = stdout.read(size + 1)[:-1] if content else b""
        if content and len(data) != size:
            raise GitError(Finding("object-missing", f"{name} could not be read whole"))
        return Blob(fields[0].decode(), fields[1].decode(), size, data)

    def contents(self, oids: Sequence[str]) -> Iterator[Blob]:
        """The blobs `oids` with content, in order."""
        return self.ask("contents", oids)

    def commit_and_tree(self, oid: str) -> tuple[str, str]:
        """`(commit id, tree id)` of a commit or an annotated tag. Raises RefusedError with `revision-unknown`."""
        try:
            commit, tree = self.ask("info", [f"{oid}^{{commit}}", f"{oid}^{{tree}}"])
        except GitError as error:
            raise RefusedError(Finding("revision-unknown", f"{oid} is not a commit of this repository")) from error
        return commit.oid, tree.oid

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
        """The object id at each of `paths` in a tree, "" where there is none."""
        plain = [p for p in paths if "\n" not in p]  # a request is a line; audit lets no such name into the oracle
        answers = self.ask("info", [f"{tree}:{p}" for p in plain], absent=True)
        return {**dict.fromkeys(paths, ""), **{p: a.oid for p, a in zip(plain, answers, strict=True)}}

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
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(target, "xb") as file:  # noqa: PTH123 - "x": two entries are never one file
                file.write(blob.data)
            target.chmod(0o700 if entry.mode == "100755" else 0o600)

