"""The codec: plain values cross exactly, and hostile bytes cost little and are refused by name."""

from __future__ import annotations

import re
import struct
import time
from collections import namedtuple
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from datetime import time as clock
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fence_tasks.candidate import worker
from fence_tasks.candidate.protocol import Codec, Limits, MisuseError, ProtocolError
from fence_tasks.score import shown

if TYPE_CHECKING:
    from collections.abc import Callable

CODEC = Codec()
SMALL = Codec(Limits(frame=1 << 20, nodes=1000, depth=10, integer=16, digits=30, exponent=50))

zones = st.none() | st.builds(
    timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23)), st.text(st.characters(), max_size=5)
) | st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23)))  # fmt: skip
surrogates = st.text(st.characters(exclude_categories=()), max_size=8)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.floats(), surrogates, st.binary(),
    st.decimals(), st.fractions(), st.complex_numbers(), st.dates(), st.timedeltas(),
    st.datetimes(timezones=zones), st.times(timezones=zones), zones,
)  # fmt: skip
keys = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), surrogates, st.binary(), st.dates()),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.lists(inner, max_size=4).map(tuple), st.dictionaries(keys, inner, max_size=3),
        st.sets(keys, max_size=4), st.frozensets(keys, max_size=4),
    ),
    max_leaves=12,
)  # fmt: skip
EXACT: list[Any] = [
    None, True, False, 0, -1, 127, 128, -32, -33, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**500,
    0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 5e-324, "", "a" * 31, "a" * 32, "é" * 300, "\ud800",
    "a\udcffb", "\U0001f600", b"", b"\xff" * 300, b"x" * 70_000, [], [[]], (), ((),), {}, {1: [2], "a": {}}, set(),
    {1, "a", (2, b"")}, frozenset(), frozenset({frozenset({1}), 2}), Decimal("1.50"), Decimal("-0E-3"),
    Decimal("Infinity"), Decimal("-NaN12"), Decimal("sNaN"), Decimal("1E+400"), Fraction(-1, 3), Fraction(10**50, 3),
    complex(-0.0, float("inf")), date(1, 1, 1), date.max,
    datetime.min, datetime(2020, 2, 29, 1, 2, 3, 4, fold=1),  # noqa: DTZ901, DTZ001
    datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=5.5), "IST")),
    clock(1, 2, 3, 4, tzinfo=timezone(timedelta(seconds=-1)), fold=1), timedelta.min, timedelta(-1, 2, 3), UTC,
    timezone(timedelta(0), "UTC"), timezone(timedelta(microseconds=1)), list(range(100_000)),
]  # fmt: skip


def same(one: Any, other: Any) -> bool:
    """Equality that tells 1 from True and 1.0, 0.0 from -0.0, and takes a NaN for itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one), list(other)) and same(list(one.values()), list(other.values()))
    if isinstance(one, set | frozenset):
        return shown.value(one) == shown.value(other)
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    return repr(one) == repr(other)


def there_and_back(value: Any) -> Any:
    """What comes back when the real worker's codec reads a value and sends it again."""
    frame = bytes(CODEC.frame([1, [], "", None, [], [CODEC.pack(value)], []]))[4:]
    side = worker.Worker()
    side.limits = {"frame": 1 << 24, "nodes": 1 << 19, "depth": 200, "integer": 1 << 16, "exponent": 100_000}
    (_, _, _, _, _, arguments, _), end = side.load(frame, 0)
    assert end == len(frame)
    out: list[bytes] = []
    side.pack([worker.built(arguments[0])], out)
    assert not side.objects
    return CODEC.undigested(b"".join(out))[0]


# By number: the text of a set differs between processes.
@pytest.mark.parametrize("value", EXACT, ids=[f"{n}-{type(v).__name__}" for n, v in enumerate(EXACT)])
def test_a_plain_value_crosses_exactly(value: Any) -> None:
    assert same(there_and_back(value), value)
    assert same(CODEC.undigested(CODEC.digest_form([value])), [value])


@settings(max_examples=300, deadline=None)
@given(values)
def test_any_plain_value_crosses_exactly(value: Any) -> None:
    assert same(there_and_back(value), value)


def test_the_digest_form_of_a_set_does_not_depend_on_its_order() -> None:
    words = [f"word{n}" for n in range(50)]
    assert CODEC.digest_form(set(words)) == CODEC.digest_form({*words[25:], *words})
    assert CODEC.digest_form({1, 2}) != CODEC.digest_form(frozenset({1, 2})) != CODEC.digest_form([1, 2])


class Text(str):
    """A subclass of a plain type, which is no plain value."""

    __slots__ = ()


class Number(IntEnum):
    """Enum members are no plain ints."""

    ONE = 1


Zone: Any = type("Zone", (tzinfo,), {})


Pair = namedtuple("Pair", "a b")  # noqa: PYI024
REFUSED: list[Any] = [
    Text("a"), Number.ONE, Pair(1, 2), object(), print, bytearray(b"a"), memoryview(b"a"), range(3), ...,
    type("B", (bytes,), {})(b""), datetime(2020, 1, 1, tzinfo=Zone()), [object()], {object(): 1}, {Text("a")}, (Text(""),),
]  # fmt: skip


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
def test_what_is_not_plain_cannot_be_sent(value: Any) -> None:
    with pytest.raises(MisuseError):
        CODEC.pack(value)


def test_values_over_a_limit_cannot_be_sent() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(MisuseError, match="deep"):
        CODEC.pack(loop)
    with pytest.raises(MisuseError, match="an int takes"):
        CODEC.pack(1 << (8 << 16))
    with pytest.raises(MisuseError, match="frame"):
        CODEC.frame([CODEC.pack(bytes(17 << 20))])


def encoded(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


def ext(code: int, data: bytes) -> bytes:
    return encoded(msgspec.msgpack.Ext(code, data))


PRIME = 2**61 - 1
BAD = {
    "empty": b"", "no msgpack": b"\xc1", "truncated": b"\x92\x01", "trailing": b"\x90\x01", "not an array": b"\x01",
    "map": encoded([{}]), "map with array keys": b"\x91\x81\x91\x01\x01", "timestamp": b"\x91\xd6\xff\x00\x00\x00\x01",
    "text that is no UTF-8": b"\x91\xa1\xff", "surrogate as a plain text": b"\x91\xa3\xed\xa0\x80",
    "no tag": encoded([[]]), "tag no int": encoded([["a", 1]]), "tag a Boolean": encoded([[True]]),
    "unknown tag": encoded([[11, 1]]), "negative tag": encoded([[-1, 1]]), "huge tag": encoded([[1 << 63]]),
    "unknown ext": b"\x91" + ext(9, b"x"), "negative ext": b"\x91" + ext(-5, b"x"), "handle": b"\x91" + ext(5, b"\0" * 8),
    "empty int": b"\x91" + ext(1, b""), "long int": b"\x91" + ext(1, b"\1" * 17), "short complex": b"\x91" + ext(4, b"\0"),
    "text ext no UTF-8": b"\x91" + ext(2, b"\xff"), "decimal spaces": b"\x91" + ext(3, b" 1"),
    "decimal underscores": b"\x91" + ext(3, b"1_0"), "decimal digits": b"\x91" + ext(3, b"1" * 70),
    "decimal exponent": b"\x91" + ext(3, b"1E+51"), "decimal giant exponent": b"\x91" + ext(3, b"1E+1000000000"),
    "decimal absurd exponent": b"\x91" + ext(3, b"1E+9999999999999999999"), "decimal zero": b"\x91" + ext(3, b"0E+60"),
    "odd dict": encoded([[2, 1]]), "dict key twice": encoded([[2, 1, 2, 1, 3]]), "equal keys": encoded([[2, 1, 2, 1.0, 3]]),
    "list as a key": encoded([[2, [0], 1]]), "dict as a key": encoded([[2, [2], 1]]),
    "element twice": encoded([[3, 1, 1]]), "list in a set": encoded([[3, [0]]]), "signalling NaN in a set": b"\x91\x92\x03" + ext(3, b"sNaN"),
    "fraction over 0": encoded([[5, 1, 0]]), "fraction not reduced": encoded([[5, 2, 4]]), "negative bottom": encoded([[5, 1, -2]]),
    "fraction of floats": encoded([[5, 1.0, 2]]), "fraction of Booleans": encoded([[5, True, 2]]), "short fraction": encoded([[5, 1]]),
    "day 31 of February": encoded([[6, 2020, 2, 31]]), "year 0": encoded([[6, 0, 1, 1]]), "huge year": encoded([[6, 1 << 63, 1, 1]]),
    "hour 24": encoded([[7, 24, 0, 0, 0, 0, None]]), "fold 2": encoded([[7, 1, 0, 0, 0, 2, None]]),
    "zone a number": encoded([[7, 1, 0, 0, 0, 0, 5]]), "zone a list": encoded([[7, 1, 0, 0, 0, 0, [0]]]),
    "zone in a zone": encoded([[8, 1, 1, 1, 1, 0, 0, 0, 0, [8, 1, 1, 1, 1, 0, 0, 0, 0, None]]]),
    "endless timedelta": encoded([[9, 1 << 40, 0, 0]]), "offset of a day": encoded([[10, 86_400_000_000, None]]),
    "zone named by a number": encoded([[10, 0, 5]]), "short datetime": encoded([[8, 2020, 1, 1]]), "empty record": encoded([[8]]),
    "too deep": b"\x92\x00" * 12 + b"\x00", "far too deep": b"\x91" * 5_000_000, "a map far too deep": b"\x81\x01" * 1_000_000,
    "many nodes": b"\xdd\x00\x0f\xff\xff" + b"\x90" * 0xFFFFF, "array that is not there": b"\xdd\xff\xff\xff\xff" * 20_000,
    "map that is not there": b"\xdf\xff\xff\xff\xff" * 20_000, "bytes that are not there": b"\x91\xc6\xff\xff\xff\xff" + bytes(70_000),
}  # fmt: skip


def unpacked(codec: Codec, raw: bytes) -> list[Any]:
    return [codec.unpack(part) for part in codec.message(raw)]


@pytest.mark.parametrize("what", BAD)
def test_hostile_bytes_are_refused_at_once(what: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ProtocolError) as refusal:
        unpacked(SMALL, BAD[what])
    assert time.perf_counter() - start < 1
    big = ("deep", "many", "long", "digits", "exponent", "decimal zero", "that is not there")
    assert refusal.value.too_big == (any(word in what for word in big) and "bytes" not in what)


NUMBERS: dict[str, Callable[[int], Any]] = {
    "ints": lambda n: Codec().pack(n * PRIME),
    "decimals": lambda n: Codec().pack(Decimal(n * PRIME)),
    "fractions": lambda n: Codec().pack(Fraction(n * PRIME)),
    "tuples": lambda n: [1, Codec().pack(n * PRIME)],
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("tag", [0, 2, 3, 4])
def test_values_of_one_hash_are_refused_before_a_set_is_made(kind: str, tag: int) -> None:
    parts = [NUMBERS[kind](n) for n in range(5, 20_000)]
    raw = encoded([[tag, *([x for part in parts for x in (part, None)] if tag == 2 else parts)]])
    start = time.perf_counter()
    with pytest.raises(ProtocolError, match="of one hash"):
        CODEC.unpack(CODEC.message(raw)[0])
    assert time.perf_counter() - start < 2


def test_many_equal_and_many_small_numbers_are_no_attack() -> None:
    honest = [2**100] * 5000 + [Decimal(-1), Decimal(-2)] * 5000 + [Fraction(n, 7) for n in range(5000)]
    assert there_and_back(honest) == honest
    assert there_and_back(set(range(-50_000, 50_000))) == set(range(-50_000, 50_000))


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_plain_values_or_one_error(raw: bytes) -> None:
    try:
        found = unpacked(SMALL, raw)
    except ProtocolError:
        return
    assert same(unpacked(SMALL, encoded(list(map(CODEC.pack, found)))), found)


@settings(max_examples=300, deadline=None)
@given(values, st.data())
def test_a_changed_byte_gives_plain_values_or_one_error(value: Any, data: st.DataObject) -> None:
    raw = bytearray(encoded([CODEC.pack(value)]))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        for part in CODEC.message(bytes(raw)):
            CODEC.pack(CODEC.unpack(part))
    except ProtocolError:
        pass


def test_the_two_sides_agree_on_every_constant() -> None:
    from fence_tasks.candidate import client, protocol

    names = [name for name in vars(worker) if name.startswith("EXT_")]
    names += ["LIST", "TUPLE", "DICT", "SET", "FROZENSET", "FRACTION", "DATE", "TIME", "DATETIME", "TIMEDELTA",
              "TIMEZONE", "VERSION"]  # fmt: skip
    assert [getattr(worker, name) for name in names] == [getattr(protocol, name) for name in names]
    assert [getattr(client, f"_{name}") for name in ("VALUE", "RAISED", "REFUSED", "MEMBER")] == [0, 1, 2, 3]


def test_the_examples_of_the_page_are_what_is_sent() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "protocol.md").read_text(encoding="utf-8")
    rows = re.findall(r"^(request|answer) +((?:[0-9a-f]{2} )+) +\[(.+)\]$", page, re.MULTILINE)
    assert len(rows) == 4
    for kind, digits, text in rows:
        raw, parts = bytes.fromhex(digits), eval(f"[{text}]", {"nil": None})
        if kind == "request":
            assert bytes(CODEC.frame([*parts[:5], [CODEC.pack(a) for a in parts[5]], parts[6]]))[4:] == raw
        else:
            message = CODEC.message(raw)
            assert [*message[:2], CODEC.unpack(message[2])] == parts
