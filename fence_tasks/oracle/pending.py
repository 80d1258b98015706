"""`oracle/pending.toml`: evidence that base is known to miss, and evidence that an agreed change will break."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from ..model import Finding, RefusedError

PATH = "oracle/pending.toml"
_KEYS = {"id": str, "owner": str, "ticket": str, "expires_unix": int}
_ID = re.compile(r"(properties|fixtures)/.+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of evidence that does not count for now: its id, who answers for it, why, and until when (seconds,
    UTC)."""

    id: str
    owner: str
    ticket: str
    expires_unix: int


@dataclass(frozen=True, slots=True)
class Pending:
    """`pending`: base misses it; meeting it is reported as fixed. `retiring`: either answer is accepted."""

    pending: tuple[Entry, ...] = ()
    retiring: tuple[Entry, ...] = ()

    @property
    def all(self) -> tuple[Entry, ...]:
        """Both lists."""
        return (*self.pending, *self.retiring)


def parse(raw: bytes) -> Pending:
    """The entries of a `pending.toml`: tables `[[pending]]` and `[[retiring]]`, each with exactly the keys of `Entry`.

    Raises RefusedError with a `pending-malformed` finding a fault.
    """
    try:
        text = raw.decode("utf-8")
        document = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        line = re.search(r"at line (\d+)", str(error))
        number = int(line.group(1)) if line else 1
        raise RefusedError(Finding("pending-malformed", f"not TOML: {error}", PATH, number)) from error
    faults: list[str] = [f"unknown key {key!r}" for key in document if key not in {"pending", "retiring"}]
    lists = {kind: _entries(kind, document.get(kind, []), faults) for kind in ("pending", "retiring")}
    ids = [entry.id for entries in lists.values() for entry in entries]
    faults += [f"{i!r} stands twice" for i in sorted(set(ids)) if ids.count(i) > 1]
    if faults:
        lines = text.splitlines()
        raise RefusedError(*(Finding("pending-malformed", fault, PATH, _line(fault, lines)) for fault in faults))
    return Pending(**lists)


def _entries(kind: str, rows: Any, faults: list[str]) -> tuple[Entry, ...]:
    if not isinstance(rows, list):
        faults.append(f"{kind!r} is not a list of tables")
        return ()
    entries = []
    for number, row in enumerate(rows):
        name = f"{kind}[{number}]"
        if not isinstance(row, dict):
            faults.append(f"{name} is not a table")
            continue
        mine = [f"{name}: unknown key {key!r}" for key in row if key not in _KEYS]
        mine += [f"{name}: {key!r} is missing or is not a {kind_.__name__}" for key, kind_ in _KEYS.items()
                 if type(row.get(key)) is not kind_ or row[key] == ""]  # fmt: skip
        if not mine and not _ID.fullmatch(row["id"]):
            mine.append(f"{name}: {row['id']!r} is neither properties/… nor fixtures/…")
        faults += mine
        if not mine:
            entries.append(Entry(**row))
    return tuple(entries)


def _line(fault: str, lines: list[str]) -> int:
    quoted = re.search(r"'([^']+)'", fault)
    return next((n for n, line in enumerate(lines, 1) if quoted and quoted.group(1) in line), 1)
