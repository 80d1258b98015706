"""The fixture store: `<sha256 of the input>.in` beside `<same>.expected`, the expected output's digest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..model import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "oracle/fixtures/"
ADAPTER = "run.py"
_NAME = re.compile(r"([0-9a-f]{64})\.(in|expected)")
_EXPECTED = re.compile(rb"([0-9a-f]{64})\n")


@dataclass(frozen=True, slots=True)
class Stored:
    """One file below `oracle/fixtures/`: its path, and SHA-256 hex of an `.in`, or content of an `.expected`."""

    path: str
    sha256: str = ""
    content: bytes = b""


def split(path: str) -> tuple[str, str, str] | None:
    """`(function folder or "", digest, "in" or "expected")` of a fixture's path below FOLDER, or None."""
    *folders, name = path.removeprefix(FOLDER).split("/")
    match = _NAME.fullmatch(name)
    if not match or len(folders) > 1:
        return None
    return "".join(folders), match.group(1), match.group(2)


def expected_of(content: bytes) -> str | None:
    """The digest that an `.expected` file holds, or None if it is not 64 hex digits and a newline."""
    match = _EXPECTED.fullmatch(content)
    return match.group(1).decode() if match else None


def audit(files: Iterable[Stored]) -> list[Finding]:
    """What is wrong with a store: names that are not the digest of their content, halves, stray files."""
    findings = []
    halves: dict[tuple[str, str], set[str]] = {}
    for file in files:
        parts = split(file.path)
        if parts is None:
            if not _beside(file.path):
                findings.append(Finding("fixture-name", "neither a fixture nor an adapter", file.path))
            continue
        folder, digest, half = parts
        halves.setdefault((folder, digest), set()).add(half)
        if half == "in" and file.sha256 != digest:
            findings.append(Finding("fixture-name", f"the content's SHA-256 is {file.sha256}", file.path))
        if half == "expected" and expected_of(file.content) is None:
            findings.append(Finding("expected-malformed", "not 64 hex digits and a newline", file.path, 1))
    for (folder, digest), found in sorted(halves.items()):
        if len(found) == 1:
            there, other = ("in", "expected") if "in" in found else ("expected", "in")
            stem = f"{FOLDER}{folder}/{digest}" if folder else f"{FOLDER}{digest}"
            findings.append(Finding("fixture-half", f"there is no .{other} beside it", f"{stem}.{there}"))
    return findings


def _beside(path: str) -> bool:
    """True for Python files in a function's folder (its adapter and what that imports) and for READMEs."""
    *folders, name = path.removeprefix(FOLDER).split("/")
    return (len(folders) >= 1 and name.endswith(".py")) or name.upper().startswith("README")
