"""`oracle/LOCK`: what `b3sum --check` reads inside `oracle/`, in byte order of the paths, and every line counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _kit import audit, none_of, refused

from fence_tasks.properties import at_most, cover, given, st

if TYPE_CHECKING:
    from collections.abc import Callable

#: Names as git may hold them, also such as are not UTF-8, where bytes and code points sort differently.
PARTS = st.sampled_from([b"a", b"B.py", b"LOCK", b"a  b", b"\xc3\xa9", b"\xe9", b"\x80", b"\xf0\x9f\x98\x80"])
PATHS = st.lists(PARTS, min_size=1, max_size=2).map(lambda parts: b"/".join(parts).decode("utf-8", "surrogateescape"))
DIGESTS = st.binary(min_size=32, max_size=32).map(bytes.hex)
LOCKS = st.dictionaries(PATHS, DIGESTS, min_size=1, max_size=8)
LINE = st.integers(0, 7)
REFUSED = "RefusedError: lock-malformed: "


def raw(path: str) -> bytes:
    """The path as git has it."""
    return path.encode("utf-8", "surrogateescape")


def lines(digests: dict[str, str]) -> list[bytes]:
    """The lines of a LOCK, by the format's own definition."""
    return [digests[path].encode() + b"  " + raw(path) + b"\n" for path in sorted(digests, key=raw)]


@given(digests=LOCKS)
def prop_a_rendered_lock_is_sorted_by_bytes_and_parses_back(api: Any, digests: dict[str, str]) -> bool:
    lock = audit(api).lock
    cover("another order of code points", sorted(digests) != sorted(digests, key=raw), at_least=0.05)
    return lock.render(digests) == b"".join(lines(digests)) and lock.parse(b"".join(lines(digests))) == digests


@given(digests=LOCKS, spot=st.integers(0, 511), edit=st.sampled_from(["drop", "digest", "path", "add"]), other=PATHS)
def prop_a_change_of_one_line_is_seen(api: Any, digests: dict[str, str], spot: int, edit: str, other: str) -> bool:
    path = sorted(digests)[spot // 64 % len(digests)]
    changed = dict(digests)
    if edit in {"drop", "path"}:
        del changed[path]
    if edit in {"path", "add"}:
        changed[other] = digests[path]
    if edit == "digest":
        digits = list(digests[path])
        digits[spot % 64] = "0" if digits[spot % 64] != "0" else "1"
        changed[path] = "".join(digits)
    differ = {p for p in {*digests, *changed} if digests.get(p) != changed.get(p)}
    cover("another LOCK", bool(differ), at_least=0.5)
    lock = audit(api).lock
    locked = lock.parse(b"".join(lines(changed)))
    return {found[0] for found in lock.differences(locked, digests)} == differ


#: What makes a line no line of a LOCK.
SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "upper case": lambda line: b"F" + line[1:],
    "short digest": lambda line: line[1:],
    "one blank": lambda line: line[:64] + line[65:],
    "binary mark": lambda line: line[:64] + b" *" + line[66:],
    "no path": lambda line: line[:66] + b"\n",
    "backslash": lambda line: line[:-1] + b"\\n\n",
    "empty line": lambda line: line + b"\n",
    "comment": lambda line: b"# " + line,
    "twice": lambda line: line + line,
    "conflict": lambda line: b"<<<<<<< ours\n" + line,
}


@at_most(30)
@given(digests=LOCKS, at=LINE)
def prop_what_is_no_lock_is_refused(api: Any, digests: dict[str, str], at: int) -> bool:
    rows = lines({**digests, "a": "a" * 64, "z": "b" * 64})
    at %= len(rows)
    bad = {how: b"".join([*rows[:at], spoil(rows[at]), *rows[at + 1 :]]) for how, spoil in SPOILT.items()}
    bad |= {"another order": b"".join(reversed(rows)), "no newline": b"".join(rows)[:-1]}
    taken = [how for how, raw in bad.items() if not refused(audit(api).lock.parse, raw).startswith(REFUSED)]
    return none_of(taken)
