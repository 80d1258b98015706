"""Whether a patch recreates a frozen case: its path, its content or a retired name (design, section 6.7)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..model import Finding, text_of
from ..oracle.names import below, fold
from ..oracle.tests_in import definitions, parsed, tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..oracle.freezes import Case

SHORTEST = 64  # bytes of a frozen case, as stored and normalised, below which a copy proves nothing
#: Comments as one line can show them: to its end, within it, and the lines of a block.
_COMMENT = re.compile(rb"^\s*\*(?!\w).*|/\*.*?(?:\*/|$)|(?:#|//|--\s).*")
_NOISE = re.compile(rb"[\s'\"`]+")


@dataclass(frozen=True, slots=True)
class Frozen:
    """A case with the content of its frozen file (b"" if it has none), and whether base has the retired path."""

    case: Case
    content: bytes
    stays: bool


@dataclass(frozen=True, slots=True)
class Text:
    """One regular file that the merge result adds or changes: its path, content, and base's content (b"")."""

    path: str
    new: bytes
    old: bytes = b""


def normalise(content: bytes) -> bytes:
    """Content without white space, quotes and line comments.

    Line by line and without context, so that nothing around a pasted case (an open quote, a comment's start) can
    make the same lines read as other ones.
    """
    return b"".join(_NOISE.sub(b"", _COMMENT.sub(b"", line)) for line in content.splitlines())


def by_path(frozen: Sequence[Frozen], added: Iterable[str]) -> list[Finding]:
    """`frozen-path` for each path that base lacks and that is, or lies below, a retired one under any folding."""
    retired = [(f, fold(f.case.retired_src_path)) for f in frozen if not f.stays]
    if not retired:
        return []
    return [
        Finding("frozen-path", f"case {f.case.id!r} of {f.case.owner!r} retired it", path)
        for path in added
        for f, folded in retired
        # fold() first: it is cheap and cached, and decides nearly every pair.
        if fold(path) == folded or fold(path).startswith(folded + "/") or ("~" in path and below(path, folded))
    ]


def by_content(frozen: Sequence[Frozen], texts: Sequence[Text]) -> list[Finding]:
    """`frozen-content` for each file that newly holds a frozen case's content or body, normalised."""
    needles = [(f, [n for n in _needles(f) if len(n) >= SHORTEST]) for f in frozen if len(f.content) >= SHORTEST]
    if not any(found for _, found in needles):
        return []
    findings = []
    for text in texts:
        new, old = normalise(text.new), normalise(text.old)
        for f, wanted in needles:
            if any(n in new and n not in old for n in wanted):
                findings.append(Finding("frozen-content", f"holds the content of case {f.case.id!r}", text.path))
    return findings


def _needles(frozen: Frozen) -> list[bytes]:
    """The whole case and, for Python, the body of each test in it, so that a renamed copy is one too."""
    whole = [] if frozen.stays else [normalise(frozen.content)]
    tree = parsed(frozen.content)
    if tree is None:
        return whole or [normalise(frozen.content)]
    lines = frozen.content.splitlines(keepends=True)
    wanted = set(frozen.case.retired_names or ())
    bodies = [
        normalise(b"".join(lines[node.body[0].lineno - 1 : node.end_lineno]))
        for name, node in tests(tree)
        if not frozen.stays or name in wanted
    ]
    return whole + bodies


def by_name(frozen: Sequence[Frozen], texts: Sequence[Text]) -> list[Finding]:
    """`frozen-name` for each retired test that is newly defined in its class or its file."""
    return [
        Finding("frozen-name", f"{name!r} is retired by case {f.case.id!r}", text.path)
        for f in frozen
        for text in texts
        for name in f.case.retired_names or ()
        # A bare name is banned in its own file only, a name with its class anywhere.
        if "." in name or fold(text.path) == fold(f.case.retired_src_path)
        if _defines(text.new, name, text.path) and not _defines(text.old, name, text.path)
    ]


def _defines(content: bytes, name: str, path: str) -> bool:
    """True if `content` defines `name` ("test_x" or "Class.test_x"), as whatever."""
    text = text_of(content)  # not bytes, where a letter with an accent ends a word
    if not _word(name.rsplit(".", 1)[-1], text):
        return False
    tree = parsed(content) if path.endswith(".py") else None
    if tree is not None:
        return name in {found for found, _ in definitions(tree)}
    # Other languages by token: the name, and its class if it has one.
    return all(_word(part, text) for part in name.split("."))


def _word(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None
