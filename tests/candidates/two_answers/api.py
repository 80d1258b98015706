import itertools

CALLS = itertools.count()


def flip(data):
    return data[::-1] + bytes(next(CALLS) % 2)
