"""The oracle as the next commit will hold it: the index's entries as the audit wants them, and the LOCK for them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .. import checkout, git
from ..model import REGULAR_MODES, Finding, RefusedError
from ..oracle import freezes, lock, policy
from ..oracle.audit import OracleFile, file_of
from .refusals import broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..model import Entry
    from ..oracle.policy import Policy


def oracle(root: str, blake3: Callable[[bytes], str], *, without: Sequence[str] = ()) -> list[OracleFile]:
    """The index's files below `oracle/`, sorted by path, those `without` left out.

    Raises RefusedError: `not-adopted` if there is none, `merge-conflict` for an unmerged one.
    """
    later = checkout.intended(root, policy.ORACLE)
    entries = [e for e in checkout.index(root, policy.ORACLE, without=without)
               if e.path.startswith(policy.ORACLE) and e.path not in later]  # fmt: skip
    if not entries:
        raise RefusedError(Finding("not-adopted", "the index has no oracle/", "oracle"))
    content = contents(root, [e for e in entries if e.mode in REGULAR_MODES])
    return [file_of(e, content.get(e.path), blake3) for e in sorted(entries, key=lambda e: e.path)]


def contents(root: str, entries: Sequence[Entry]) -> dict[str, bytes]:
    """The blobs of regular files, by path."""
    with tempfile.TemporaryDirectory() as scratch, git.Store(git.locate(root), Path(scratch) / "git") as store:
        blobs = store.contents([e.oid for e in entries])
        return {e.path: blob.data for e, blob in zip(entries, blobs, strict=True)}


def content_of(files: Iterable[OracleFile], path: str) -> bytes | None:
    """What a file holds whose content the audit reads; None if it is not there."""
    return next((f.content for f in files if f.path == path), None)


def policy_of(files: Iterable[OracleFile]) -> Policy:
    """The staged policy. Raises RefusedError with `policy-malformed`."""
    raw = content_of(files, policy.PATH)
    if raw is None:
        raise RefusedError(Finding("policy-malformed", "there is no such file in the index", policy.PATH))
    return policy.parse(raw)


def cases_of(files: Iterable[OracleFile]) -> tuple[freezes.Case, ...]:
    """The staged manifest's cases. Raises RefusedError with `manifest-malformed`."""
    raw = content_of(files, freezes.PATH)
    if raw is None:
        raise RefusedError(Finding("manifest-malformed", "there is no such file in the index", freezes.PATH))
    return freezes.parse(raw)


def lock_of(files: Iterable[OracleFile], blake3: Callable[[bytes], str], put: Mapping[str, bytes]) -> bytes:
    """The LOCK of an oracle's files once those of `put` (path → content) are added or replaced.

    Raises TaskError for an entry that no LOCK can hold: a link, a submodule, a name with a newline or a backslash.
    """
    digests = {}
    for file in files:
        if not file.blake3 or "\n" in file.path or "\\" in file.path:
            raise broken("oracle-entry", "LOCK holds plain files with plain names only",
                         f"git rm --cached -- '{file.path}', or make it a plain file", file.path)  # fmt: skip
        digests[file.path] = file.blake3
    digests |= {path: blake3(data) for path, data in put.items()}
    return lock.render({p.removeprefix(policy.ORACLE): d for p, d in digests.items() if p != lock.PATH})


def not_staged(root: str) -> list[str]:
    """Files below `oracle/` that differ from the index or that git does not track, ignored ones too; what Python
    leaves behind does not count."""
    found = {*checkout.unstaged(root, policy.ORACLE), *checkout.ignored(root, policy.ORACLE)}
    return sorted(p for p in found if "/__pycache__/" not in p and not p.endswith(".pyc"))
