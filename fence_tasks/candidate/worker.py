"""The candidate's side: one program of the standard library alone that answers `docs/protocol.md`.

Started as `python -s -S -B -X utf8 worker.py READ WRITE`, with the numbers of two pipes. 1. `hello` says what to
limit and what to import, the limits are set, this process gives up every privilege and is confined; 2. `import`
loads the candidate's API module; 3. requests are answered until the pipe ends.

From step 2 on nothing here can be trusted: the scorer checks every byte.
"""

from __future__ import annotations

import builtins
import importlib
import operator
import os
import sys
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from itertools import islice
from struct import Struct
from types import ModuleType
from typing import Any, NoReturn

VERSION = 1
VALUE, RAISED, REFUSED, MEMBER = range(4)
EXT_INT, EXT_TEXT, EXT_DECIMAL, EXT_COMPLEX, EXT_HANDLE = 1, 2, 3, 4, 5
LIST, TUPLE, DICT, SET, FROZENSET, FRACTION, DATE, TIME, DATETIME, TIMEDELTA, TIMEZONE = range(11)

U32, U64, PAIR = Struct(">I"), Struct(">Q"), Struct(">dd")
HEAD8, HEAD32, HEAD64 = Struct(">BB"), Struct(">BI"), Struct(">BQ")
FLOAT, SIGNED, EXT = Struct(">Bd"), Struct(">Bq"), Struct(">BIb")
#: First bytes of msgpack: leaves of a fixed form; what has a size, with the bytes that the size takes.
FIXED = {0xCB: Struct(">d"), 0xCC: Struct(">B"), 0xCD: Struct(">H"), 0xCE: U32, 0xCF: U64,
         0xD0: Struct(">b"), 0xD1: Struct(">h"), 0xD2: Struct(">i"), 0xD3: Struct(">q")}  # fmt: skip
SIMPLE = {0xC0: None, 0xC2: False, 0xC3: True}
SIZED = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4}

#: Bounds of an exception that crosses: characters of its text and of a name, names of its classes.
TEXT, NAME, NAMES = 2000, 200, 16

SCALARS = frozenset({type(None), bool, int, float, str, bytes, Decimal, Fraction, complex, datetime, date, time,
                     timedelta, timezone})  # fmt: skip


class TooBigError(Exception):
    """An answer is over a limit."""


def plain(value: Any) -> bool:
    """True if `value`, a key or an element of a set, crosses as itself and not as a handle."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(map(plain, value))
    if kind is datetime or kind is time:
        return value.tzinfo is None or type(value.tzinfo) is timezone
    return kind in SCALARS


def parts_of(kind: type, value: Any) -> tuple[int, list[Any]]:
    """The tag and the parts of a Fraction, a date or its like."""
    if kind is Fraction:
        return FRACTION, [value.numerator, value.denominator]
    if kind is timedelta:
        return TIMEDELTA, [value.days, value.seconds, value.microseconds]
    if kind is timezone:
        offset, *name = value.__getinitargs__()
        return TIMEZONE, [offset // timedelta(microseconds=1), name[0] if name else None]
    day = [] if kind is time else [value.year, value.month, value.day]
    if kind is date:
        return DATE, day
    clock = [value.hour, value.minute, value.second, value.microsecond, value.fold, value.tzinfo]
    return TIME if kind is time else DATETIME, day + clock


def built(raw: Any) -> Any:
    """The value that loaded msgpack stands for: each array starts with a tag."""
    if type(raw) is not list:
        return raw
    tag, parts = raw[0], [built(part) for part in raw[1:]]
    if tag == LIST:
        return parts
    if tag == TUPLE:
        return tuple(parts)
    if tag == DICT:
        return dict(zip(parts[::2], parts[1::2]))  # noqa: B905 - the candidate's Python may be older than the kit's
    if tag in {SET, FROZENSET}:
        return set(parts) if tag == SET else frozenset(parts)
    if tag == FRACTION:
        return Fraction(*parts)
    if tag == TIMEZONE:
        offset = timedelta(microseconds=parts[0])
        return timezone(offset) if parts[1] is None else timezone(offset, parts[1])
    if tag in {TIME, DATETIME}:
        make: Any = time if tag == TIME else datetime
        return make(*parts[:-2], parts[-1], fold=parts[-2])
    return {DATE: date, TIMEDELTA: timedelta}[tag](*parts)


OPS = {
    **{name: getattr(operator, name) for name in (
        "eq", "ne", "lt", "le", "gt", "ge", "getitem", "contains", "neg", "pos", "abs", "invert", "add", "sub", "mul",
        "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "index",
    )},
    "str": str, "repr": repr, "format": format, "len": len, "bool": bool, "hash": hash, "int": int, "float": float,
    "complex": complex, "bytes": bytes, "round": round, "divmod": divmod, "isinstance": isinstance, "iter": iter,
    "reversed": reversed, "type": lambda value: type(value).__name__,
    "await": lambda value: importlib.import_module("asyncio").run(value),  # few candidates need it
}  # fmt: skip


def described(error: BaseException) -> list[Any]:
    """An exception as data: the names of its classes, those that are builtin, its text, a missing module's name."""
    kinds = type(error).__mro__[:NAMES]
    try:
        text = str.__str__(str(error))[:TEXT]
    except BaseException:  # noqa: BLE001 - it is the candidate's own __str__
        text = "(its text cannot be had)"
    missing = error.name if type(error) is ModuleNotFoundError and type(error.name) is str else ""
    known = [kind.__name__ for kind in kinds if getattr(builtins, kind.__name__, None) is kind]
    return [[kind.__name__[:NAME] for kind in kinds], known, text, missing[:NAME]]


class SourceOnly(SourceFileLoader):
    """Loads no bytecode: a `.pyc` in the candidate's folders may be another program than the source beside it."""

    def path_stats(self, path: str) -> NoReturn:
        """Say that nothing is known of `path`, so that its cached bytecode cannot be checked and is not used."""
        raise OSError(path)


def finder(folders: list[str]) -> Any:
    """A path hook for the candidate's `folders` alone; all else keeps its caches, or it would start slowly."""
    find = FileFinder.path_hook((ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceOnly, SOURCE_SUFFIXES))
    inside = tuple(folder.rstrip("/") + "/" for folder in folders)

    def hook(path: str) -> Any:
        if not f"{path}/".startswith(inside):
            raise ImportError(path)
        return find(path)

    return hook


def sibling(name: str) -> dict[str, Any]:
    """What a file of this folder defines, from its source: it is no module that an import could meet."""
    found: dict[str, Any] = {"__name__": name}
    with open(os.path.join(os.path.dirname(__file__), name + ".py"), "rb") as file:  # noqa: PTH118, PTH120, PTH123
        exec(compile(file.read(), file.name, "exec"), found)
    return found


class Worker:
    """The candidate's API module, the objects that the scorer has handles of, and the codec."""

    def __init__(self) -> None:
        self.limits = {"frame": 1 << 20, "nodes": 1 << 10, "depth": 10, "integer": 8, "exponent": 0}  # until hello
        self.objects: dict[int, Any] = {}
        self.last = 0
        self.name = ""
        self.module: Any = None

    # Packing: msgpack is appended to `out`.

    def pack(self, value: Any, out: list[bytes], depth: int = 0) -> None:
        """What is not plain stays in `objects`, and its number crosses."""
        kind = type(value)
        if value is None:
            out.append(b"\xc0")
        elif kind is bool:
            out.append(b"\xc3" if value else b"\xc2")
        elif kind is int:
            self._pack_int(value, out)
        elif kind is str:
            self._pack_text(value, out)
        elif kind is bytes:
            size = len(value)
            out.append(HEAD8.pack(0xC4, size) if size < 256 else HEAD32.pack(0xC6, size))
            out.append(value)
        elif kind is float:
            out.append(FLOAT.pack(0xCB, value))
        elif kind is list or kind is tuple:
            self._pack_array(LIST if kind is list else TUPLE, value, out, depth)
        elif kind is dict and all(map(plain, value)):
            self._pack_array(DICT, [part for pair in value.items() for part in pair], out, depth)
        elif (kind is set or kind is frozenset) and all(map(plain, value)):
            self._pack_array(SET if kind is set else FROZENSET, list(value), out, depth)
        elif kind is Decimal:
            if value.is_finite() and abs(value.adjusted()) > self.limits["exponent"]:
                raise TooBigError("the exponent of a Decimal is too big")
            self._pack_ext(EXT_DECIMAL, str(value).encode(), out)
        elif kind is complex:
            self._pack_ext(EXT_COMPLEX, PAIR.pack(value.real, value.imag), out)
        elif kind in SCALARS and plain(value):
            self._pack_array(*parts_of(kind, value), out, depth)
        else:
            self._pack_handle(value, out)

    def _pack_array(self, tag: int, parts: Any, out: list[bytes], depth: int) -> None:
        size = len(parts) + 1
        if depth >= self.limits["depth"]:
            raise TooBigError(f"an answer is nested more than {depth} deep")
        if size + len(out) // 2 > self.limits["nodes"]:
            raise TooBigError(f"an answer has more than {self.limits['nodes']} parts")
        out.append(HEAD8.pack(0x90 | size, tag) if size < 16 else HEAD32.pack(0xDD, size) + bytes((tag,)))
        for part in parts:
            self.pack(part, out, depth + 1)

    def _pack_int(self, value: int, out: list[bytes]) -> None:
        if 0 <= value < 128:
            out.append(bytes((value,)))
        elif -(1 << 63) <= value < 1 << 63:
            out.append(SIGNED.pack(0xD3, value))
        elif 0 < value < 1 << 64:
            out.append(HEAD64.pack(0xCF, value))
        elif (size := (value.bit_length() + 8) // 8) > self.limits["integer"]:
            raise TooBigError(f"an int takes {size} bytes")
        else:
            self._pack_ext(EXT_INT, value.to_bytes(size, "big", signed=True), out)

    def _pack_text(self, value: str, out: list[bytes]) -> None:
        try:
            raw = value.encode()
        except UnicodeEncodeError:
            return self._pack_ext(EXT_TEXT, value.encode("utf-8", "surrogatepass"), out)
        size = len(raw)
        head = HEAD8.pack(0xD9, size) if size < 256 else HEAD32.pack(0xDB, size)
        out += (bytes((0xA0 | size,)) if size < 32 else head, raw)
        return None

    def _pack_ext(self, code: int, raw: bytes, out: list[bytes]) -> None:
        out += (EXT.pack(0xC9, len(raw), code), raw)

    def _pack_handle(self, value: Any, out: list[bytes]) -> None:
        # A fresh number each time: the scorer may give up one of two handles of one object.
        self.last += 1
        self.objects[self.last] = value
        self._pack_ext(EXT_HANDLE, U64.pack(self.last), out)

    def load(self, raw: bytes, at: int) -> tuple[Any, int]:
        """The msgpack at offset `at`, arrays as lists, and the offset after it."""
        first = raw[at]
        at += 1
        if first < 0x80 or first >= 0xE0:
            return (first if first < 0x80 else first - 256), at
        if first in SIMPLE:
            return SIMPLE[first], at
        if first in FIXED:
            return FIXED[first].unpack_from(raw, at)[0], at + FIXED[first].size
        width = SIZED.get(first, 0)
        size = int.from_bytes(raw[at : at + width], "big") if width else first & (31 if first & 32 else 15)
        at += width
        if first < 0xA0 or first >= 0xDC:
            parts = []
            for _ in range(size):
                part, at = self.load(raw, at)
                parts.append(part)
            return parts, at
        if first < 0xC0 or first >= 0xD9:
            return raw[at : at + size].decode(), at + size
        if first < 0xC7:
            return raw[at : at + size], at + size
        return self._load_ext(raw, at, 1 << (first - 0xD4) if first >= 0xD4 else size)

    def _load_ext(self, raw: bytes, at: int, size: int) -> tuple[Any, int]:
        code, body, end = raw[at], raw[at + 1 : at + 1 + size], at + 1 + size
        if code == EXT_INT:
            return int.from_bytes(body, "big", signed=True), end
        if code == EXT_TEXT:
            return body.decode("utf-8", "surrogatepass"), end
        if code == EXT_DECIMAL:
            return Decimal(body.decode()), end
        if code == EXT_COMPLEX:
            return complex(*PAIR.unpack(body)), end
        return self.objects[U64.unpack(body)[0]], end

    # Answering.

    def answer(self, raw: bytes) -> bytes:
        """The frame that answers the request `raw`."""
        (number, released, *request), _ = self.load(raw, 0)
        for old in released:
            self.objects.pop(old, None)
        out: list[bytes] = [b"", b"\x93"]
        self._pack_int(number, out)
        start = len(out)
        try:
            self.reply(out, request)
            if (size := sum(map(len, out))) > self.limits["frame"]:
                raise TooBigError(f"an answer takes {size} bytes")
        except TooBigError as error:
            out[start:] = [bytes((REFUSED,))]
            self.pack(str(error), out)
        except BaseException as error:  # noqa: BLE001 - SystemExit too: whatever is raised crosses as data
            out[start:] = [bytes((RAISED,))]
            self.pack(described(error), out)
        out[0] = U32.pack(sum(map(len, out)))
        return b"".join(out)

    def reply(self, out: list[bytes], request: list[Any]) -> None:
        """Append status and value to `out`. Whatever the candidate raises comes out."""
        verb, root, names, args, kwargs = request
        status, value = VALUE, None
        if verb == "call":
            words = dict(zip(kwargs[::2], map(built, kwargs[1::2])))  # noqa: B905
            value = self.found(root, names)(*map(built, args), **words)
        elif verb == "get":
            value = self.found(root, names)
            if callable(value) or isinstance(value, ModuleType):
                status, value = MEMBER, None
        elif verb == "hold":
            out.append(bytes((VALUE,)))
            return self._pack_handle(self.found(root, names), out)
        elif verb == "fields":
            value = [getattr(root, name) for name in names]
        elif verb == "op":
            value = OPS[names[0]](*map(built, args))
            if names[0] in {"iter", "reversed"}:
                value = self.sequence(value)
        elif verb == "import":
            value = self.imported()
        else:
            value = self.hello(built(args[0]))
        out.append(bytes((status,)))
        return self.pack(value, out)

    def found(self, root: Any, names: list[str]) -> Any:
        """What the path `names` leads to, from an object or (None) from the API module."""
        value = self.module if root is None else root
        for name in names:
            value = getattr(value, name)
        return value

    def sequence(self, values: Any) -> list[Any]:
        """All that `values` yields, up to the limit on parts."""
        found = list(islice(values, self.limits["nodes"]))
        if len(found) == self.limits["nodes"]:
            raise TooBigError("an iterator does not end")
        return found

    def imported(self) -> list[str]:
        """Import the API module; its public names are answered."""
        self.module = importlib.import_module(self.name)
        # `__all__` adds to the plain names: libraries list what `import *` should give, which is less than their API.
        listed = [str(name) for name in getattr(self.module, "__all__", ())]
        return [*listed, *(name for name in dir(self.module) if name[:1] != "_")]

    def hello(self, wanted: dict[str, Any]) -> list[Any]:
        """Apply what the scorer wants, before anything of the candidate is read; what this side is."""
        self.limits, self.name = wanted["limits"], wanted["api"]
        here = __file__.rpartition("/")[0]  # the kit's own folder, which Python puts first for a program
        sys.path[:] = [*wanted["imports"], *(p for p in sys.path if p != here), *wanted["site"]]
        sys.path_hooks.insert(0, finder(wanted["imports"]))
        sys.argv[:] = ["candidate"]
        os.environ.pop("PWD", None)  # bubblewrap's
        restrict = sibling("restrict")
        restrict["limit"](wanted["resources"])
        restrict["give_up_privileges"]()
        if wanted["confine"] is not None:
            restrict["confine"](**wanted["confine"], load=sibling)
        return [VERSION, "Python " + sys.version.partition(" ")[0]]


def read(fd: int) -> bytes:
    """The content of the next request; b"" at the pipe's end."""
    buffer = bytearray(os.read(fd, 1 << 16))
    while buffer and (len(buffer) < 4 or len(buffer) < 4 + U32.unpack_from(buffer)[0]):
        more = os.read(fd, 1 << 20)
        if not more:
            return b""
        buffer += more
    return bytes(memoryview(buffer)[4:])


def main() -> None:
    """Answer requests until the scorer closes its pipe."""
    reading, writing = int(sys.argv[1]), int(sys.argv[2])
    for fd in (reading, writing):
        os.set_inheritable(fd, False)  # a program that the candidate starts must not keep them open
    worker = Worker()
    while raw := read(reading):
        frame = memoryview(worker.answer(raw))
        while frame:
            frame = frame[os.write(writing, frame) :]


if __name__ == "__main__":
    main()
