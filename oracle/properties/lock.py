"""`oracle/LOCK`: what `b3sum --check` reads inside `oracle/`, in byte order of the paths, and every line counts."""

from __future__ import annotations

from typing import Any

from _kit import audit, refused

from fence_tasks.properties import cover, given, st

#: Names as git may hold them, also such as are not UTF-8, where bytes and code points sort differently.
PARTS = st.sampled_from([b"a", b"A", b"b.py", b"LOCK", b"a b", b"  ", b"\xc3\xa9", b"\xe9", b"\x80", b"\xf0\x9f\x98\x80"])
PATHS = st.lists(PARTS, min_size=1, max_size=3).map(lambda parts: b"/".join(parts).decode("utf-8", "surrogateescape"))
DIGESTS = st.binary(min_size=32, max_size=32).map(bytes.hex)
LOCKS = st.dictionaries(PATHS, DIGESTS, min_size=1, max_size=8)
LINE = st.integers(0, 7)


def raw(path: str) -> bytes:
    """The path as git has it."""
    return path.encode("utf-8", "surrogateescape")


def lines(digests: dict[str, str]) -> list[bytes]:
    """The lines of a LOCK, by the format's own definition."""
    return [digests[path].encode() + b"  " + raw(path) + b"\n" for path in sorted(digests, key=raw)]


@given(digests=LOCKS)
def prop_a_rendered_lock_is_sorted_by_bytes_and_parses_back(api: Any, digests: dict[str, str]) -> bool:
    lock = audit(api).lock
    cover("another order of code points", sorted(digests) != sorted(digests, key=raw), at_least=0.1)
    return lock.render(digests) == b"".join(lines(digests)) and lock.parse(b"".join(lines(digests))) == digests


@given(digests=LOCKS, at=LINE, edit=st.sampled_from(["drop", "twice", "digest", "path", "add"]), other=PATHS)
def prop_a_change_of_one_line_is_seen(api: Any, digests: dict[str, str], at: int, edit: str, other: str) -> bool:
    lock, rows = audit(api).lock, lines(digests)
    at %= len(rows)
    path = rows[at][66:-1].decode("utf-8", "surrogateescape")
    changed = dict(digests)
    if edit == "twice":
        return refused(lock.parse, b"".join([*rows[: at + 1], *rows[at:]])) != ""
    if edit in {"drop", "path"}:
        del changed[path]
    if edit in {"path", "add"}:
        changed[other] = digests[path]
    if edit == "digest":
        changed[path] = digests[path][1:] + digests[path][:1]
    differ = {p for p in {*digests, *changed} if digests.get(p) != changed.get(p)}
    cover("another LOCK", bool(differ), at_least=0.5)
    locked = lock.parse(b"".join(lines(changed)))
    return {found[0] for found in lock.differences(locked, digests)} == differ


@given(digests=LOCKS, at=LINE, edit=st.sampled_from(["swap", "upper", "blank", "star", "short", "cr", "end", "empty", "comment"]))
def prop_what_is_no_lock_is_refused(api: Any, digests: dict[str, str], at: int, edit: str) -> bool:
    rows = lines({**digests, "a": "a" * 64, "z": "b" * 64})
    at %= len(rows)
    bad = rows[at]
    edits = {
        "swap": [rows[at - 1], rows[at]] if at else [rows[1], rows[0]],
        "upper": [bad[:64].replace(bad[:1], b"F") + bad[64:]],
        "blank": [bad[:64] + b" " + bad[66:]],
        "star": [bad[:64] + b" *" + bad[66:]],
        "short": [bad[1:]],
        "cr": [bad[:64] + b"\t" + bad[65:]],
        "end": [bad[:-1]],
        "empty": [bad, b"\n"],
        "comment": [b"# " + bad],
    }
    whole = {"swap": rows[: at - 1] + edits["swap"][::-1] + rows[at + 1 :] if at else [rows[1], rows[0], *rows[2:]]}
    changed = whole.get(edit) or [*rows[:at], *edits[edit], *rows[at + 1 :]]
    return refused(audit(api).lock.parse, b"".join(changed)).startswith("RefusedError: lock-malformed")
