"""`oracle/LOCK`: the format of b3sum, one line a file in byte order of the paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from blake3 import blake3
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fence_tasks.model import RefusedError, bytes_of, text_of
from fence_tasks.oracle import lock

if TYPE_CHECKING:
    from pathlib import Path

A, B = "a" * 64, "b" * 64
#: Paths relative to `oracle/` as git may hold them: any bytes but NUL; `audit` refuses newlines and backslashes.
PATH = st.binary(min_size=1, max_size=24).map(lambda raw: text_of(raw.translate(None, b"\0\n\\") or b"x"))
DIGEST = st.text("0123456789abcdef", min_size=64, max_size=64)
relaxed = settings(deadline=None)

MALFORMED = (
    (f"{A}  x", 1, "newline"),
    (f"{A} x\n", 1, "blanks"),
    (f"{A} *x\n", 1, "blanks"),
    (f"{A[1:]}  x\n", 1, "hex"),
    (f"{A.upper()}  x\n", 1, "hex"),
    (f"{A}  \n", 1, "path"),
    (f"\\{A}  x\\\\y\n", 1, "hex"),
    (f"{A}  x\\y\n", 1, "path"),
    ("# a comment\n", 1, "hex"),
    ("\n", 1, "hex"),
    (f"{A}  x\n\n", 2, "hex"),
    (f"{A}  b\n{A}  a\n", 2, "order"),
    (f"{A}  a\n{B}  a\n", 2, "twice"),
    (f"{A}  a\n<<<<<<< ours\n{B}  b\n=======\n{A}  b\n>>>>>>> theirs\n", 2, "hex"),
)


def checked_by_hand(folder: Path, raw: bytes) -> list[str]:
    """The names that `b3sum --check` would report: its format is `digest`, two blanks, name, newline."""
    failed = []
    for line in raw.decode().splitlines():
        digest, name = line.split("  ", 1)
        if blake3((folder / name).read_bytes()).hexdigest() != digest:
            failed.append(name)
    return failed


def test_a_lock_verifies_by_hand_inside_the_oracle(tmp_path: Path) -> None:
    files = {"policy.toml": b"format = 1\n", "properties/p q.py": b"", "fixtures/LOCK": b"not the LOCK", "é.md": b"\xff\0"}
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    raw = lock.render({name: blake3(data).hexdigest() for name, data in files.items()})
    assert checked_by_hand(tmp_path, raw) == []
    (tmp_path / "policy.toml").write_bytes(b"format = 2\n")
    assert checked_by_hand(tmp_path, raw) == ["policy.toml"]


def test_the_order_is_that_of_bytes_on_every_machine() -> None:
    names = ["b", "a/b", "a-b", "a.b", "aa", "A", "é", "z", "\U0001f600", "\uffff", "\udcff"]
    lines = lock.render(dict.fromkeys(names, A)).splitlines()
    assert [line[66:] for line in lines] == sorted(bytes_of(name) for name in names)


@relaxed
@given(st.dictionaries(PATH, DIGEST, max_size=12))
@example({"a b  c": A, "  leading": B, "tab\t": A, "\r": B, "\u2028": A, "caf\udce9": B})
def test_what_is_rendered_is_read_back(digests: dict[str, str]) -> None:
    raw = lock.render(digests)
    assert lock.parse(raw) == digests
    assert lock.render(lock.parse(raw)) == raw


@relaxed
@given(st.binary(max_size=300))
def test_any_bytes_are_a_lock_or_malformed_and_a_lock_has_one_writing(raw: bytes) -> None:
    try:
        digests = lock.parse(raw)
    except RefusedError as refused:
        assert {f.rule for f in refused.findings} == {"lock-malformed"}  # noqa: PT017 - only one of both may happen
    else:
        assert lock.render(digests) == raw


@pytest.mark.parametrize(("text", "line", "says"), MALFORMED, ids=[ascii(text[60:90]) for text, _, _ in MALFORMED])
def test_a_bad_line_is_reported_with_its_number(text: str, line: int, says: str) -> None:
    with pytest.raises(RefusedError) as refused:
        lock.parse(text.encode())
    first = refused.value.findings[0]
    assert (first.rule, first.path, first.line) == ("lock-malformed", "oracle/LOCK", line)
    assert says in first.message


def test_every_bad_line_is_reported() -> None:
    with pytest.raises(RefusedError) as refused:
        lock.parse(f"x\n{A}  b\ny\n{A}  a\n".encode())
    assert [f.line for f in refused.value.findings] == [1, 3, 4]


@relaxed
@given(st.dictionaries(PATH, DIGEST, max_size=6), st.dictionaries(PATH, DIGEST, max_size=6))
def test_the_differences_are_exactly_the_paths_that_differ(locked: dict[str, str], actual: dict[str, str]) -> None:
    wanted = {p for p in {*locked, *actual} if locked.get(p) != actual.get(p)}
    found = [path for path, _ in lock.differences(locked, actual)]
    assert found == sorted(wanted, key=bytes_of)


def test_two_people_who_each_add_a_file_change_different_lines() -> None:
    base = {f"f{n:02}": A for n in range(0, 40, 2)}
    ours, theirs = {**base, "f01": B}, {**base, "f31": B}
    both = lock.render({**ours, **theirs}).splitlines()
    assert set(lock.render(ours).splitlines()) | set(lock.render(theirs).splitlines()) == set(both)
