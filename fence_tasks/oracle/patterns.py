"""gitignore's patterns (gitignore(5), "PATTERN FORMAT") as a predicate over paths, without negation."""

from __future__ import annotations

import re
from functools import lru_cache


def matches(pattern: str, path: str) -> bool:
    """True if the pattern matches `path` (POSIX, relative to the root) or one of the folders above it."""
    expression, folders_only = _compile(pattern)
    parts = path.split("/")
    prefixes = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    if folders_only:
        prefixes.pop()
    return any(expression.fullmatch(prefix) for prefix in prefixes)


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> tuple[re.Pattern[str], bool]:
    body = pattern.removesuffix("/")
    anchored = "/" in body
    pieces = [".*"] if body == "**" else [_piece(p) for p in body.removeprefix("/").split("/")]
    text = "/".join(pieces).replace(_DEEP + "/", "(?:.*/)?").replace("/" + _DEEP, "/.*").replace(_DEEP, ".*")
    return re.compile(text if anchored else f"(?:.*/)?{text}", re.DOTALL), pattern.endswith("/")


_DEEP = "\0"


def _piece(component: str) -> str:
    if component == "**":
        return _DEEP
    out, rest = "", component
    while rest:
        if match := re.match(r"\[([!^]?)(\]?[^\]]*)\]", rest):
            out += "[" + ("^" if match.group(1) else "") + match.group(2).replace("\\", "\\\\") + "]"
        elif match := re.match(r"\*+", rest):
            out += "[^/]*"
        elif match := re.match(r"\\(.)", rest):
            out += re.escape(match.group(1))
        else:
            match = re.match(r".", rest, re.DOTALL)
            assert match  # noqa: S101 - rest is not empty
            out += "[^/]" if rest[0] == "?" else re.escape(rest[0])
        rest = rest[match.end() :]
    return out
