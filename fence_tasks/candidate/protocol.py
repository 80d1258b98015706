"""The scorer's side of the protocol: plain values to msgpack and back, strictly. `docs/protocol.md` is its text.

A leaf that msgpack lacks is an ext; whatever has parts is an array whose first element is a tag. What comes
back is hostile: every violation raises `ProtocolError`, before it can cost much memory or time.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

import msgspec

from .process import HEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

VERSION: Final = 1

#: Codes of ext values.
EXT_INT, EXT_TEXT, EXT_DECIMAL, EXT_COMPLEX, EXT_HANDLE = 1, 2, 3, 4, 5
#: Tags of arrays.
LIST, TUPLE, DICT, SET, FROZENSET, FRACTION, DATE, TIME, DATETIME, TIMEDELTA, TIMEZONE = range(11)

_COMPLEX = Struct(">dd")
_NUMBER = Struct(">Q")
_DECIMAL = re.compile(rb"-?(?:[0-9]+(?:\.[0-9]+)?(?:E[+-]?[0-9]+)?|Infinity|s?NaN[0-9]*)")
_NATIVE = frozenset({type(None), bool, float, bytes})
#: More values of one hash than this, in one set or among one answer's numbers, are an attack: honest hashes
#: spread, and 60,000 multiples of 2**61-1 keep a set busy for 25 s inside C, where no deadline reaches.
_SAME_HASH = 100
#: Frames shorter than this cannot hold enough nodes to hurt, so they are not scanned first.
_SCANNED = 1 << 16


class ProtocolError(Exception):
    """The candidate's bytes break the protocol; `too_big` says that they are merely over a limit."""

    def __init__(self, message: str, *, too_big: bool = False) -> None:
        """Raise with what was wrong."""
        super().__init__(message)
        self.too_big = too_big


class MisuseError(BaseException):
    """A property asked for something that cannot cross, or used a handle as a value. It says what to write."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one frame may hold: bytes, nodes, levels, bytes of one int, digits and exponent of a Decimal."""

    frame: int = 16 << 20
    nodes: int = 1 << 19
    depth: int = 200
    integer: int = 1 << 16
    digits: int = 100_000
    exponent: int = 100_000


class Codec:
    """Packs and unpacks values. `pack` maps a client's own types (handles) to a function that gives an ext's
    number; `unpack` makes such a value from its number."""

    def __init__(
        self,
        limits: Limits | None = None,
        pack: dict[type, Callable[[Any], int]] | None = None,
        unpack: Callable[[int], object] | None = None,
    ) -> None:
        """Make a codec; without `pack` and `unpack` it knows no handles."""
        self.limits = limits or Limits()
        self._pack = pack or {}
        self._unpack = unpack
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(ext_hook=self._ext)
        self._leaves: frozenset[type] = frozenset({*_NATIVE, int, str, Decimal, complex, *self._pack})
        self._hashes: dict[int, Any] = {}
        self._groups: dict[int, set[Any]] = {}

    # Towards the candidate.

    def frame(self, message: list[Any]) -> bytearray:
        """One frame for `message`, whose values are packed already. Raises MisuseError if it is too big."""
        out = bytearray(HEADER.size)
        self._encoder.encode_into(message, out, HEADER.size)
        size = len(out) - HEADER.size
        if size > self.limits.frame:
            raise MisuseError(f"the arguments take {size} bytes; a frame holds {self.limits.frame}")
        HEADER.pack_into(out, 0, size)
        return out

    def digest_form(self, value: object) -> bytes:
        """The one encoding of a plain value, for digests. Raises MisuseError for anything else."""
        return self._encoder.encode(self.pack(value))

    def undigested(self, form: bytes) -> Any:
        """The value whose `digest_form` is `form`."""
        return self.unpack(self.message(form))

    def pack(self, value: Any, depth: int = 0) -> Any:
        """`value` in the protocol's form. Raises MisuseError for what is not plain: types count exactly."""
        kind = type(value)
        if kind in _NATIVE:
            return value
        if kind is str:
            return value if value.isascii() else _text(value)
        if kind is int:
            return self._int(value)
        if depth >= self.limits.depth:
            raise MisuseError(f"a value is nested more than {self.limits.depth} deep")
        depth += 1
        if kind is list or kind is tuple:
            return [LIST if kind is list else TUPLE, *self._items(value, depth)]
        if kind is dict:
            flat = (part for pair in value.items() for part in pair)
            return [DICT, *self._items(flat, depth)]
        if kind is set or kind is frozenset:
            # In the order of their bytes, so that a request does not depend on the scorer's hash seed.
            items = sorted(self._items(value, depth), key=self._encoder.encode)
            return [SET if kind is set else FROZENSET, *items]
        if kind in self._pack:
            return self.reference(self._pack[kind](value))
        return self._scalar(kind, value)

    def reference(self, number: int) -> Any:
        """The ext that stands for the handle of `number`."""
        return msgspec.msgpack.Ext(EXT_HANDLE, _NUMBER.pack(number))

    def _items(self, values: Iterable[Any], depth: int) -> list[Any]:
        return [v if type(v) in _NATIVE else self.pack(v, depth) for v in values]

    def _int(self, value: int) -> Any:
        if -(1 << 63) <= value < 1 << 64:
            return value
        size = (value.bit_length() + 8) // 8
        if size > self.limits.integer:
            raise MisuseError(f"an int takes {size} bytes; the limit is {self.limits.integer}")
        return msgspec.msgpack.Ext(EXT_INT, value.to_bytes(size, "big", signed=True))

    def _scalar(self, kind: type, value: Any) -> Any:
        if kind is Decimal:
            return msgspec.msgpack.Ext(EXT_DECIMAL, str(value).encode())
        if kind is complex:
            return msgspec.msgpack.Ext(EXT_COMPLEX, _COMPLEX.pack(value.real, value.imag))
        if kind is Fraction:
            return [FRACTION, self._int(value.numerator), self._int(value.denominator)]
        if kind is datetime:
            zone = _zone(value.tzinfo)
            clock = [value.hour, value.minute, value.second, value.microsecond, value.fold, zone]
            return [DATETIME, value.year, value.month, value.day, *clock]
        if kind is date:
            return [DATE, value.year, value.month, value.day]
        if kind is time:
            zone = _zone(value.tzinfo)
            return [TIME, value.hour, value.minute, value.second, value.microsecond, value.fold, zone]
        if kind is timedelta:
            return [TIMEDELTA, value.days, value.seconds, value.microseconds]
        if kind is timezone:
            return _zone(value)
        raise MisuseError(f"a value of type {kind.__name__} cannot be sent: only plain values of exact types cross")

    # From the candidate.

    def message(self, raw: bytes | bytearray | memoryview) -> list[Any]:
        """The outer array of a frame's content, its values still packed. Raises ProtocolError."""
        if len(raw) > _SCANNED:
            self._scan(raw)
        self._hashes.clear()
        self._groups.clear()
        try:
            message = self._decoder.decode(raw)
        except (msgspec.DecodeError, RecursionError, MemoryError, ValueError) as error:
            raise ProtocolError(f"not msgpack: {error}") from None
        if type(message) is not list:
            raise ProtocolError("the frame is not an array")
        return message

    def unpack(self, raw: Any, depth: int = 0) -> Any:
        """The value that `raw` (decoded msgpack) stands for. Raises ProtocolError."""
        kind = type(raw)
        if kind in self._leaves:
            return raw
        if kind is not list:
            raise ProtocolError("a value is a map or a timestamp, which the protocol does not use")
        if depth >= self.limits.depth:
            raise ProtocolError(f"an answer is nested more than {self.limits.depth} deep", too_big=True)
        if not raw or type(raw[0]) is not int:
            raise ProtocolError("an array has no tag")
        tag, items = raw[0], raw[1:]
        if tag > FROZENSET:
            return self._record(tag, items)
        leaves, depth = self._leaves, depth + 1
        values = [v if type(v) in leaves else self.unpack(v, depth) for v in items]
        if tag == LIST:
            return values
        if tag == TUPLE:
            return tuple(values)
        if tag == DICT:
            return _dict(values)
        if tag in {SET, FROZENSET}:
            _hashable(values)
            found = set(values) if tag == SET else frozenset(values)
            if len(found) != len(values):
                raise ProtocolError("a set holds one element twice")
            return found
        raise ProtocolError(f"unknown tag {tag}")

    def _scan(self, raw: bytes | bytearray | memoryview) -> None:
        """Count nodes without building any (8 MiB of `[]` would become 632 MB). Raises ProtocolError."""
        at, todo, nodes, end = 0, 1, 0, len(raw)
        while todo:
            if todo > end - at:
                raise ProtocolError("not msgpack: truncated")
            skip, width, parts = _HEADS[raw[at]]
            at += 1
            if width:
                length = int.from_bytes(raw[at : at + width], "big")
                at += width if parts else width + length
                parts *= length
            at += skip
            todo += parts - 1
            nodes += 1
            if nodes + todo > self.limits.nodes:
                raise ProtocolError(f"an answer has more than {self.limits.nodes} parts", too_big=True)

    def _ext(self, code: int, data: memoryview) -> object:
        raw = bytes(data)
        if code == EXT_INT:
            if not 0 < len(raw) <= self.limits.integer:
                raise ProtocolError(f"an int of {len(raw)} bytes", too_big=bool(raw))
            return self._counted(int.from_bytes(raw, "big", signed=True))
        if code == EXT_TEXT:
            return _decoded(raw)
        if code == EXT_DECIMAL:
            return self._decimal(raw)
        if code == EXT_COMPLEX and len(raw) == _COMPLEX.size:
            return complex(*_COMPLEX.unpack(raw))
        if code == EXT_HANDLE and len(raw) == _NUMBER.size and self._unpack is not None:
            return self._unpack(_NUMBER.unpack(raw)[0])
        raise ProtocolError(f"an ext of code {code} and {len(raw)} bytes")

    def _counted(self, number: Any) -> Any:
        """`number`, unless one answer holds many of one hash: a set that a property makes of them would hang."""
        first = self._hashes.setdefault(key := hash(number), number)
        if first != number:
            group = self._groups.setdefault(key, {first})
            group.add(number)
            if len(group) > _SAME_HASH:
                raise ProtocolError(f"more than {_SAME_HASH} numbers of one hash")
        return number

    def _decimal(self, raw: bytes) -> Any:
        if len(raw) > self.limits.digits + 32:
            raise ProtocolError("a Decimal has too many digits", too_big=True)
        if not _DECIMAL.fullmatch(raw):
            raise ProtocolError("a Decimal is not written as one")
        try:
            value = Decimal(raw.decode())
        except ArithmeticError:
            raise ProtocolError("a Decimal is out of range", too_big=True) from None
        if value.is_finite() and abs(value.adjusted()) > self.limits.exponent:
            raise ProtocolError("a Decimal's exponent is out of range", too_big=True)
        return value if value.is_nan() else self._counted(value)  # a signalling NaN has no hash

    def _record(self, tag: int, items: list[Any]) -> object:
        """A value that has parts of its own kinds: a Fraction, a date and its like. Raises ProtocolError."""
        size, make = _RECORDS.get(tag, (0, None))
        if make is None or len(items) != size:
            raise ProtocolError(f"unknown tag {tag}, or a wrong number of parts")
        last: object = None
        if tag in {TIME, DATETIME}:
            last = items.pop()
            last = self._record(TIMEZONE, last[1:]) if type(last) is list and last[:1] == [TIMEZONE] else last
            if last is not None and type(last) is not timezone:
                raise ProtocolError("a time zone is not one")
        elif tag == TIMEZONE:
            last = items.pop()
        if not all(type(item) is int for item in items):
            raise ProtocolError(f"a value of tag {tag} has a part of a wrong type")
        try:
            value = make(items, last)
        except (ValueError, TypeError, ArithmeticError):
            raise ProtocolError(f"a value of tag {tag} is out of range") from None
        return self._counted(value) if tag == FRACTION else value


def _fraction(items: list[int], _: Any) -> Fraction:
    value = Fraction(*items)
    if value.denominator != items[1]:
        raise ValueError(items[1])
    return value


def _timezone(items: list[int], name: Any) -> timezone:
    offset = timedelta(microseconds=items[0])
    return timezone(offset) if name is None else timezone(offset, name)


#: For each tag of a record: how many parts it has, and what makes it of the ints and the last part.
_RECORDS: Final[dict[int, tuple[int, Callable[[list[int], Any], object]]]] = {
    FRACTION: (2, _fraction),
    DATE: (3, lambda parts, _: date(*parts)),
    TIME: (6, lambda parts, zone: time(*parts[:4], zone, fold=parts[4])),  # type: ignore[misc,arg-type]
    DATETIME: (9, lambda parts, zone: datetime(*parts[:7], zone, fold=parts[7])),  # type: ignore[misc,arg-type]  # noqa: DTZ001
    TIMEDELTA: (3, lambda parts, _: timedelta(*parts)),
    TIMEZONE: (2, _timezone),
}


def _text(value: str) -> Any:
    """`value` itself, or an ext if it holds a lone surrogate, which UTF-8 cannot carry."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return msgspec.msgpack.Ext(EXT_TEXT, value.encode("utf-8", "surrogatepass"))
    return value


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise ProtocolError("a text is not UTF-8") from None


def _zone(zone: Any) -> Any:
    if zone is None:
        return None
    if type(zone) is not timezone:
        raise MisuseError(f"a zone of type {type(zone).__name__} cannot be sent: only fixed-offset timezones cross")
    offset, *name = zone.__getinitargs__()  # type: ignore[attr-defined]
    micros = (offset.days * 86400 + offset.seconds) * 1_000_000 + offset.microseconds
    return [TIMEZONE, micros, _text(name[0]) if name else None]


def _hashable(values: list[Any]) -> None:
    """Raise ProtocolError if `values` cannot be hashed, or would keep a set busy by sharing a hash."""
    try:
        hashes = [hash(value) for value in values]
    except TypeError:
        raise ProtocolError("a key or an element of a set cannot be hashed") from None
    if len(hashes) > _SAME_HASH and max(Counter(hashes).values()) > _SAME_HASH:
        raise ProtocolError(f"more than {_SAME_HASH} keys of one hash")


def _dict(values: list[Any]) -> dict[Any, Any]:
    keys = values[::2]
    if len(values) % 2:
        raise ProtocolError("a dict has a key without a value")
    _hashable(keys)
    found = dict(zip(keys, values[1::2], strict=True))
    if len(found) != len(keys):
        raise ProtocolError("a dict has one key twice")
    return found


def _heads() -> list[tuple[int, int, int]]:
    """For each first byte of msgpack: bytes to skip, bytes of its length field, parts (per unit of length)."""
    table = [(0, 0, 0)] * 256
    for n in range(16):
        table[0x80 | n], table[0x90 | n] = (0, 0, 2 * n), (0, 0, n)
    for n in range(32):
        table[0xA0 | n] = (n, 0, 0)
    for n, width in enumerate((1, 2, 4)):
        table[0xC4 + n] = table[0xD9 + n] = (0, width, 0)
        table[0xC7 + n] = (1, width, 0)
    for n, width in enumerate((2, 4)):
        table[0xDC + n], table[0xDE + n] = (0, width, 1), (0, width, 2)
    for n in range(4):
        table[0xCC + n] = table[0xD0 + n] = (1 << n, 0, 0)
    for n in range(5):
        table[0xD4 + n] = (1 + (1 << n), 0, 0)
    table[0xCA], table[0xCB] = (4, 0, 0), (8, 0, 0)
    return table


_HEADS: Final = _heads()
