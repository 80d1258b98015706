"""The run folder and the stage: where a run keeps its records, and the files that evidence and candidate see."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import as_json, write_whole
from ..model import REGULAR_MODES, Entry, Finding, RefusedError
from ..oracle.audit import OracleFile, file_of
from ..oracle.policy import is_candidate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..git import Store
    from ..oracle.policy import Policy

VERDICT, PLAN, RUN = "verdict.json", "plan.json", "run.json"
STATE = "fence-tasks/runs"
_LFS = b"version https://git-lfs.github.com/spec/v1\n"  # how every pointer starts (git-lfs, docs/spec.md)


@dataclass(frozen=True, slots=True)
class Run:
    """One run's folder (mode 0700) and its id. Records are JSON files, each written whole or not at all."""

    folder: Path
    id: str

    @property
    def git_dir(self) -> Path:
        """The private GIT_DIR."""
        return self.folder / "git"

    @property
    def stage(self) -> Path:
        """The parent of what evidence and candidates see."""
        return self.folder / "stage"

    def write(self, name: str, data: bytes) -> None:
        """Replace a file of the run folder atomically."""
        write_whole(self.folder / name, data)

    def record(self, name: str, record: dict[str, Any]) -> None:
        """Store a step's record under the run's id."""
        self.write(name, as_json({**record, "run": self.id}))

    def finish(self, verdict: dict[str, Any], about: dict[str, Any]) -> None:
        """Write the verdict, the run's last act. It names no run, so that equal runs give equal bytes; its digest
        in `run.json` says that it is this run's."""
        data = as_json(verdict)
        digest = hashlib.sha256(data).hexdigest()
        self.record(RUN, {**(self.read(RUN) or {}), **about, "verdict_sha256": digest})
        shutil.rmtree(self.stage, ignore_errors=True)
        shutil.rmtree(self.git_dir, ignore_errors=True)
        self.write(VERDICT, data)

    def verdict(self) -> dict[str, Any]:
        """This run's verdict; `{}` if there is none, or if it is another run's."""
        data = (self.folder / VERDICT).read_bytes()
        if hashlib.sha256(data).hexdigest() != (self.read(RUN) or {}).get("verdict_sha256"):
            return {}
        return dict(json.loads(data))

    def read(self, name: str) -> dict[str, Any] | None:
        """A record of this very run, or None if there is none (another run's does not count)."""
        path = self.folder / name
        if not path.is_file():
            return None
        record = json.loads(path.read_bytes())
        return record if isinstance(record, dict) and record.get("run") == self.id else None


def begin(out: str, outside: Iterable[str], code: int) -> Run:
    """Make, or empty, the run folder and write a verdict `none` there before anything else happens.

    `code` is that of a run that did not end; `out` is "" for a numbered folder under the user's state directory.
    Raises RefusedError with `run-folder` where the place is a link, lies inside one of the folders `outside`, is
    writable by others, or holds something else.
    """
    folder = Path(os.path.abspath(out)) if out else _numbered()  # noqa: PTH100 - resolve() would follow a link
    _safe(folder, outside)
    if not folder.exists():
        folder.mkdir(parents=True, mode=0o700)
    elif any(folder.iterdir()) and not _run_id(folder):
        raise _unsafe(folder, "holds something other than an earlier run")
    folder.chmod(0o700)
    run = Run(folder, secrets.token_hex(16))
    run.record(VERDICT, {"format": 1, "verdict": "none", "code": code, "findings": []})  # first of all
    run.record(RUN, {})
    for child in folder.iterdir():
        if child.name not in {RUN, VERDICT}:
            shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()
    return run


def resume(folder: str) -> Run:
    """The run that an earlier step began in `folder`. Raises RefusedError with `run-folder` if there is none."""
    path = Path(folder)
    if not (found := _run_id(path)):
        raise _unsafe(path, "holds no run")
    return Run(path, found)


def _run_id(folder: Path) -> str:
    """The id of the run that a folder holds; "" if its `run.json` is none of ours."""
    path = folder / RUN
    try:
        record = json.loads(path.read_bytes()) if path.is_file() and not path.is_symlink() else None
    except (OSError, ValueError, RecursionError):
        return ""
    found = record.get("run") if isinstance(record, dict) else None
    return found if isinstance(found, str) and re.fullmatch(r"[0-9a-f]{32}", found) else ""


def _unsafe(folder: Path, why: str) -> RefusedError:
    return RefusedError(Finding("run-folder", f"{folder} {why}"))


def _numbered() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")  # noqa: PTH111, PTH118
    parent = Path(state) / STATE
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    taken = [int(p.name) for p in parent.iterdir() if p.name.isdigit()]
    for number in range(max(taken, default=0) + 1, max(taken, default=0) + 1000):
        try:
            (parent / f"{number:04}").mkdir(mode=0o700)
        except FileExistsError:
            continue
        return parent / f"{number:04}"
    raise _unsafe(parent, "has no free number")


def _safe(folder: Path, outside: Iterable[str]) -> None:
    # Another account's folder, or one that others may write to, could be swapped while the run goes on.
    for path in (folder, *folder.parents):
        if path.is_symlink() and path in (folder, folder.parent):
            raise _unsafe(folder, "is, or lies in, a link")
        if not path.exists():
            continue
        status = path.stat()
        if path == folder and not path.is_dir():
            raise _unsafe(folder, "is not a folder")
        sticky = status.st_mode & 0o1000 and path != folder  # as /tmp: others may add, but not replace
        if status.st_uid not in (os.getuid(), 0) or (status.st_mode & 0o022 and not sticky):
            raise _unsafe(folder, f"can be changed by others: {path}")
    real = Path(os.path.realpath(folder))
    for other in outside:
        if other and real.is_relative_to(os.path.realpath(other)):
            raise _unsafe(folder, "lies inside the judged checkout")


def read_oracle(store: Store, entries: Sequence[Entry], blake3: Callable[[bytes], str]) -> list[OracleFile]:
    """The entries of `oracle/` as the audit wants them; `entries` are those below it, folders left out.

    `blake3` gives the hex digest of bytes. Links and submodules come without content.
    """
    regular = [e for e in entries if e.mode in REGULAR_MODES]
    blobs = store.contents([e.oid for e in regular])
    files = [file_of(entry, blob.data, blake3) for entry, blob in zip(regular, blobs, strict=True)]
    files += [file_of(entry, None, blake3) for entry in entries if entry.mode not in REGULAR_MODES]
    return sorted(files, key=lambda f: f.path)


def export_candidate(store: Store, entries: Iterable[Entry], policy: Policy, folder: Path) -> None:
    """Write the files below `candidate.path` of a tree to `folder`, never oracle, gate or also.

    Raises RefusedError with `base-candidate` for a submodule or an LFS pointer, whose files are not in the tree.
    """
    mine = [e for e in entries if is_candidate(e.path, policy)]
    # A link that base has stays out: it could point anywhere; what needs it fails on base too.
    if broken := next((e for e in mine if e.mode == "160000"), None):
        raise RefusedError(Finding("base-candidate", "a submodule's files are not in the repository", broken.path))
    regular = [e for e in mine if e.mode in REGULAR_MODES]
    store.export(regular, folder)
    for entry in regular:
        with (folder / entry.path).open("rb") as file:
            if file.read(len(_LFS)) == _LFS:
                raise RefusedError(Finding("base-candidate", "an LFS pointer, not the file itself", entry.path))


def export_oracle(store: Store, files: Iterable[OracleFile], folder: Path) -> None:
    """Write base's oracle to `folder` (paths relative to `oracle/`)."""
    store.export([Entry(f.mode, f.oid, f.path) for f in files], folder, "oracle/")


def digests(folder: Path, blake3: Callable[[bytes], str]) -> dict[str, str]:
    """What a stage holds now: path relative to it → BLAKE3 hex; anything but a plain file counts as changed."""
    found = {}
    for root, folders, names in os.walk(folder, onerror=_unreadable):
        for name in (*names, *(d for d in folders if (Path(root) / d).is_symlink())):
            path = Path(root) / name
            plain = path.is_file() and not path.is_symlink()
            found[path.relative_to(folder).as_posix()] = blake3(path.read_bytes()) if plain else "not a plain file"
    return found


def _unreadable(error: OSError) -> None:
    raise RefusedError(Finding("stage-changed", f"{error.filename} cannot be read"))
