"""Values as text for people: bounded, the same in every run, and free of addresses and temporary paths.

Hostile characters are left as they are: whoever prints them escapes them.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LONGEST = 2000
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,16}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")
_LINES, _WIDTH, _CONTEXT, _HEX = 40, 200, 3, 64
#: An int beyond this many bits is shown in base 16: CPython refuses to print 4,300 digits.
_DECIMAL_BITS = 1000


def cut(text: str, longest: int = _LONGEST) -> str:
    """`text`, at most `longest` characters and a note of how many were left out."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more characters)"


def scrubbed(text: str, folders: Iterable[str] = ()) -> str:
    """`text` without memory addresses and without the absolute `folders`, of which only the last name stays."""
    for folder in sorted(set(folders), key=len, reverse=True):
        if len(folder) > 1:
            text = text.replace(folder, "…/" + folder.rstrip("/").rsplit("/", 1)[-1])
    return _ADDRESS.sub("0x…", text)


def arguments(values: Mapping[str, Any]) -> str:
    """Arguments as readable text, `name=value, …`."""
    return cut(", ".join(f"{name}={value(part)}" for name, part in values.items()))


def value(thing: Any) -> str:
    """Like `repr`, but sets are sorted, and long ints and broken `__repr__`s do no harm."""
    kind = type(thing)
    if kind is int and thing.bit_length() > _DECIMAL_BITS:
        return hex(thing)
    if kind is list:
        return f"[{', '.join(map(value, thing))}]"
    if kind is tuple:
        return f"({', '.join(map(value, thing))}{',' if len(thing) == 1 else ''})"
    if kind is dict:
        return f"{{{', '.join(f'{value(k)}: {value(v)}' for k, v in thing.items())}}}"
    if kind in {set, frozenset} and thing:
        inside = f"{{{', '.join(sorted(map(value, thing)))}}}"
        return inside if kind is set else f"frozenset({inside})"
    try:
        return scrubbed(repr(thing))
    except Exception as error:  # noqa: BLE001 - a property's own type
        return f"<{kind.__name__} whose repr raises {type(error).__name__}>"


def error(raised: BaseException) -> str:
    """An exception's class and text, bounded."""
    try:
        text = str(raised)
    except Exception:  # noqa: BLE001 - it may hold a handle, which has no str()
        text = "(its text cannot be had)"
    name = type(raised).__name__
    return cut(text if text.startswith(f"{name}:") or name.startswith("Candidate") else f"{name}: {text}", 500)


def diff(base: bytes, head: bytes) -> tuple[str, ...]:
    """Lines that show where two outputs first differ: unified for text, in base 16 otherwise. () if they do not."""
    if base == head:
        return ()
    at = _first_difference(base, head)
    where = f"base gives {len(base)} bytes, head {len(head)}; the first difference is at byte {at}"
    texts = [_text(base), _text(head)]
    if None in texts:
        return (where, *_hex("-", base, at), *_hex("+", head, at))
    before = base.count(b"\n", 0, at)
    first = max(0, before - _CONTEXT)
    # A bounded window: difflib is quadratic, and the candidate chooses what it compares.
    old, new = ((text or "").splitlines()[first : first + 2 * _LINES] for text in texts)
    lines = list(difflib.unified_diff(old, new, "base", "head", lineterm="", n=_CONTEXT))
    return (f"{where} (line {before + 1})", *(cut(line, _WIDTH) for line in lines[: _LINES + 3]))


def _text(raw: bytes) -> str | None:
    """`raw` as text, or None if it is binary."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def _first_difference(one: bytes, other: bytes) -> int:
    """The first offset at which two byte strings differ, by halving (a loop over 16 MiB would take seconds)."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _hex(sign: str, raw: bytes, at: int) -> list[str]:
    start = max(0, at - at % 16 - 16)
    rows = range(start, min(len(raw), start + _HEX), 16)
    return [f"{sign}{row:08x}  {raw[row : row + 16].hex(' ')}" for row in rows] or [f"{sign}(nothing from {start:08x})"]
