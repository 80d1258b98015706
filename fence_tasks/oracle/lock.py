"""`oracle/LOCK`: one line a file, so that `b3sum --check LOCK` inside `oracle/` verifies it by hand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..model import Finding, RefusedError, bytes_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH = "oracle/LOCK"
#: b3sum escapes a name that holds a newline or a backslash; `audit` allows neither, so no line is ever escaped.
_LINE = re.compile(rb"([0-9a-f]{64})  ([^\\\n]+)")


def render(digests: Mapping[str, str]) -> bytes:
    """The LOCK of `digests` (path relative to `oracle/` → BLAKE3 hex): sorted by the path's bytes."""
    rows = sorted((bytes_of(path), digest) for path, digest in digests.items())
    return b"".join(digest.encode() + b"  " + path + b"\n" for path, digest in rows)


def parse(raw: bytes) -> dict[str, str]:
    """The digests of a LOCK (path relative to `oracle/` → BLAKE3 hex).

    Raises RefusedError with one `lock-malformed` finding a bad line: not a digest and a path, out of order, twice,
    or no newline at the end.
    """
    faults = []
    lines = raw.split(b"\n")
    if lines.pop():
        faults.append(Finding("lock-malformed", "the last line has no newline", PATH, len(lines) + 1))
    digests: dict[str, str] = {}
    last = b""
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if not match:
            faults.append(Finding("lock-malformed", "not 64 hex digits, two blanks and a path", PATH, number))
        elif match.group(2) <= last:
            faults.append(Finding("lock-malformed", "not in byte order of the paths, or twice", PATH, number))
        else:
            last = match.group(2)
            digests[text_of(last)] = match.group(1).decode()
    if faults:
        raise RefusedError(*faults)
    return digests


def differences(locked: Mapping[str, str], actual: Mapping[str, str]) -> list[tuple[str, str]]:
    """`(path, what is wrong)` for each path where LOCK and the oracle's files differ, in byte order."""
    found = []
    for path in sorted({*locked, *actual}, key=bytes_of):
        if path not in actual:
            found.append((path, "in LOCK, but there is no such file"))
        elif path not in locked:
            found.append((path, "not in LOCK"))
        elif locked[path] != actual[path]:
            found.append((path, f"LOCK has {locked[path][:16]}…, the file is {actual[path][:16]}…"))
    return found
