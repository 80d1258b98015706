"""The fixture store: `<sha256 of the input>.in` beside `<same>.expected`, and nothing else."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fence_tasks.oracle import fixtures
from fence_tasks.oracle.fixtures import Stored

TOP = "oracle/fixtures/"
DATA = b"an input"
ONE = hashlib.sha256(DATA).hexdigest()
TWO = hashlib.sha256(b"another").hexdigest()
OWED = ("0" * 64 + "\n").encode()


def given_(digest: str = ONE, folder: str = "", sha256: str = "") -> Stored:
    """The half that holds an input."""
    return Stored(f"{TOP}{folder}{digest}.in", sha256 or digest)


def owed(digest: str = ONE, folder: str = "", content: bytes = OWED) -> Stored:
    """The half that holds the expected digest."""
    return Stored(f"{TOP}{folder}{digest}.expected", "", content)


def found(*files: Stored) -> list[tuple[str, str]]:
    """(rule, path below the store) of each finding."""
    return [(f.rule, f.path.removeprefix(TOP)) for f in fixtures.audit(files)]


SOUND = {
    "nothing": (),
    "a pair": (given_(), owed()),
    "two pairs": (owed(), given_(TWO), given_(), owed(TWO)),
    "another function's pair": (given_(folder="encode/"), owed(folder="encode/")),
    "one input for two functions": (given_(), owed(), given_(folder="encode/"), owed(folder="encode/")),
    "an adapter and what it imports": (given_(folder="f/"), owed(folder="f/"), Stored(f"{TOP}f/run.py"), Stored(f"{TOP}f/a/b.py")),
    "a read-me": (Stored(f"{TOP}README.md"), Stored(f"{TOP}f/readme.txt")),
}  # fmt: skip
CORRUPT = {
    "a changed input": ((given_(sha256=TWO), owed()), [("fixture-name", f"{ONE}.in")]),
    "no expectation": ((given_(),), [("fixture-half", f"{ONE}.in")]),
    "no input": ((owed(),), [("fixture-half", f"{ONE}.expected")]),
    "halves in two folders": ((given_(), owed(folder="f/")), [("fixture-half", f"{ONE}.in"), ("fixture-half", f"f/{ONE}.expected")]),
    "an upper-case name": ((Stored(f"{TOP}{ONE.upper()}.in", ONE),), [("fixture-name", f"{ONE.upper()}.in")]),
    "a short name": ((Stored(f"{TOP}{ONE[1:]}.in", ONE),), [("fixture-name", f"{ONE[1:]}.in")]),
    "a second ending": ((Stored(f"{TOP}{ONE}.in.bak", ONE),), [("fixture-name", f"{ONE}.in.bak")]),
    "a stray file": ((Stored(f"{TOP}notes.txt"),), [("fixture-name", "notes.txt")]),
    "an adapter for no function": ((Stored(f"{TOP}run.py"),), [("fixture-name", "run.py")]),
    "a folder too deep": ((given_(folder="f/g/"), owed(folder="f/g/")),
                          [("fixture-name", f"f/g/{ONE}.in"), ("fixture-name", f"f/g/{ONE}.expected")]),
    "a hidden file": ((Stored(f"{TOP}.DS_Store"),), [("fixture-name", ".DS_Store")]),
}  # fmt: skip
MALFORMED = (b"", b"0" * 64, b"0" * 64 + b"\r\n", b"0" * 64 + b"\n\n", b"0" * 63 + b"\n", b"A" * 64 + b"\n", b" " + OWED,
             OWED * 2, b"\xef\xbb\xbf" + OWED, b"sha256:" + OWED, b"\xff" * 65)  # fmt: skip


@pytest.mark.parametrize("files", SOUND.values(), ids=SOUND)
def test_a_sound_store_has_no_findings(files: tuple[Stored, ...]) -> None:
    assert found(*files) == []


@pytest.mark.parametrize(("files", "wanted"), CORRUPT.values(), ids=CORRUPT)
def test_a_corrupt_store_is_found_where_it_is(files: tuple[Stored, ...], wanted: list[tuple[str, str]]) -> None:
    assert found(*files) == wanted
    assert found(*files, given_(TWO), owed(TWO)) == wanted, "a sound pair beside it changes nothing"


@pytest.mark.parametrize("content", MALFORMED, ids=[ascii(c[:12]) for c in MALFORMED])
def test_an_expectation_is_64_lower_case_hex_digits_and_a_newline(content: bytes) -> None:
    assert found(given_(), owed(content=content)) == [("expected-malformed", f"{ONE}.expected")]
    assert fixtures.expected_of(content) is None


def test_an_expectation_is_the_digest_of_the_output_not_the_output() -> None:
    assert fixtures.expected_of(OWED) == "0" * 64


@settings(deadline=None)
@given(st.binary(max_size=40), st.integers(0, 7), st.data())
def test_any_changed_bit_of_an_input_is_a_wrong_name(content: bytes, bit: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, max(len(content) - 1, 0)))
    flipped = bytes(b ^ (1 << bit) if n == at else b for n, b in enumerate(content)) or b"x"
    name, now = hashlib.sha256(content).hexdigest(), hashlib.sha256(flipped).hexdigest()
    assert found(given_(name, sha256=now), owed(name)) == [("fixture-name", f"{name}.in")]
