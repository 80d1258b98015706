"""Honest objects, exceptions and values of every kind, for the client's tests."""
import dataclasses
import enum
from collections import namedtuple

__all__ = [
    "LIMIT", "Colour", "Point", "Pair", "echo", "raises", "points", "counted", "waits", "nested", "words", "fields", "endless",
]
LIMIT = 64
Pair = namedtuple("Pair", "a b")


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 0

    @classmethod
    def at(cls, x, *, y=0):
        return cls(x, y)

    def moved(self, by):
        return Point(self.x + by, self.y)

    @property
    def twin(self):
        return Point(self.x, self.y)

    def __len__(self):
        return 2

    def __getitem__(self, key):
        return (self.x, self.y)[key]


class ParseError(ValueError):
    pass


def echo(*args, **kwargs):
    if kwargs:
        return (*args, kwargs)
    return args[0] if len(args) == 1 else args


def raises(name, text=""):
    import builtins

    raise ParseError(text) if name == "ParseError" else getattr(builtins, name)(text)


def points(count):
    return [Point(n) for n in range(count)]


def counted():
    yield from range(3)


async def waits():
    return 5


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


def words():
    return list({"b", "a", "c", "e", "d"})


def fields():
    return "a function of this name"


def endless():
    while True:
        yield 1


def _private():
    return None
