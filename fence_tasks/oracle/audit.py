"""`audit`: what is wrong with an oracle, whoever asks: the fence of base's, `check` of the index, a review of
head's."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ..model import Finding, RefusedError
from . import fixtures, freezes, lock, pending, policy
from .names import below, oddity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model import Entry

ROOT = "oracle/"
T = TypeVar("T")
#: Files whose content the audit reads; of all others it needs digests alone.
READ = (policy.PATH, lock.PATH, freezes.PATH, pending.PATH, "oracle/strength.toml")


@dataclass(frozen=True, slots=True)
class OracleFile:
    """One entry below `oracle/`: path from the repository's root, mode, blob id, size in bytes, digests of its
    content in hex (`sha256` only for `.in` files), and the content where `wants_content` says so, else b""."""

    path: str
    mode: str
    oid: str
    size: int = 0
    blake3: str = ""
    sha256: str = ""
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Audit:
    """What an oracle holds and what is wrong with it. `policy` is None if it could not be read."""

    policy: policy.Policy | None
    cases: tuple[freezes.Case, ...]
    findings: tuple[Finding, ...]
    lock_digest: str = ""
    pending: pending.Pending = field(default_factory=pending.Pending)
    properties: tuple[str, ...] = ()
    fixtures: tuple[str, ...] = ()
    files: tuple[OracleFile, ...] = field(default=(), repr=False)


def wants_content(path: str) -> bool:
    """True for the files whose content `audit` reads."""
    return path in READ or (path.startswith(fixtures.FOLDER) and path.endswith(".expected"))


def file_of(entry: Entry, data: bytes | None, blake3: Callable[[bytes], str]) -> OracleFile:
    """An entry with its content (None for a link or a submodule) as the audit wants it; `blake3` gives hex."""
    if data is None:
        return OracleFile(entry.path, entry.mode, entry.oid)
    return OracleFile(
        entry.path, entry.mode, entry.oid, len(data), blake3(data),
        hashlib.sha256(data).hexdigest() if entry.path.endswith(".in") else "",
        data if wants_content(entry.path) else b"",
    )  # fmt: skip


def audit(files: Iterable[OracleFile]) -> Audit:
    """Check an oracle's entries: names and modes, policy, LOCK, store, manifest, in that order.

    An oracle without `policy.toml` is malformed: whether there is an oracle at all is for the caller to say.
    """
    listed = list(files)
    by_path = {file.path: file for file in listed}
    findings = [fault for file in by_path.values() for fault in _entry(file)]
    paths = [file.path for file in listed]
    if len(paths) > len(by_path):
        twins = sorted({path for path in paths if paths.count(path) > 1})
        findings += [Finding("oracle-entry", "the name stands twice in its folder", path) for path in twins]
    rules = _read(policy.PATH, by_path, policy.parse, findings, missing="policy-malformed")
    locked = _read(lock.PATH, by_path, lock.parse, findings, missing="lock-missing")
    cases = _read(freezes.PATH, by_path, freezes.parse, findings, missing="manifest-malformed")
    waiting = pending.Pending()
    if pending.PATH in by_path:
        waiting = _read(pending.PATH, by_path, pending.parse, findings, missing="") or waiting
    findings += _unknown(waiting, by_path)
    if locked is not None:
        actual = {f.path.removeprefix(ROOT): f.blake3 for f in by_path.values() if f.path != lock.PATH}
        findings += [Finding("lock-mismatch", why, ROOT + path) for path, why in lock.differences(locked, actual)]
    stored = [f for f in by_path.values() if f.path.startswith(fixtures.FOLDER)]
    findings += fixtures.audit(fixtures.Stored(f.path, f.sha256, f.content) for f in stored)
    findings += _frozen(cases or (), by_path)
    return Audit(
        rules, cases or (), tuple(findings), by_path[lock.PATH].blake3 if lock.PATH in by_path else "",
        waiting,
        tuple(sorted(p for p in by_path if p.startswith("oracle/properties/") and p.endswith(".py"))),
        tuple(sorted(f.path for f in stored if f.path.endswith(".in"))), tuple(by_path.values()),
    )  # fmt: skip


def _entry(file: OracleFile) -> list[Finding]:
    """An oracle's entry is a plain, portable, not executable file (design, section 5)."""
    if file.mode != "100644":
        return [Finding("oracle-entry", f"has mode {file.mode}, not 100644", file.path)]
    odd = oddity(file.path)
    if odd:
        return [Finding("oracle-entry", odd[1], file.path)]
    if below(file.path, lock.PATH) and file.path != lock.PATH:
        return [Finding("oracle-entry", "some file systems open this name as oracle/LOCK", file.path)]
    return []


def _read(
    path: str, files: dict[str, OracleFile], parse: Callable[[bytes], T], findings: list[Finding], *, missing: str
) -> T | None:
    if path not in files:
        findings.append(Finding(missing, "there is no such file", path))
        return None
    try:
        return parse(files[path].content)
    except RefusedError as error:
        findings += error.findings
        return None


def _unknown(waiting: pending.Pending, files: dict[str, OracleFile]) -> list[Finding]:
    """Pending evidence that is not there: a typing error would let the evidence that was meant count again."""
    names = {e.id: e.id.partition("::")[0] for e in waiting.all}
    there = {path.removeprefix(ROOT).removesuffix(".in") for path in files}
    return [Finding("pending-malformed", f"{id_!r} is not in the oracle", pending.PATH)
            for id_, name in names.items() if name not in there]  # fmt: skip


def _frozen(cases: tuple[freezes.Case, ...], files: dict[str, OracleFile]) -> list[Finding]:
    """A manifest names files that are there, and none twice."""
    return [
        Finding("manifest-malformed", f"{case.id!r}: frozen_path is not in the oracle", freezes.PATH)
        for case in cases
        if case.frozen_path and case.frozen_path not in files
    ]
