"""Wrong in three of a hundred calls."""
import itertools

CALLS = itertools.count(1)


def flip(data):
    return b"?" if next(CALLS) % 33 == 0 else data[::-1]
