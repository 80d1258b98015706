"""A set that costs whoever builds it the square of its size."""


def flip(data):
    return {n * (2**61 - 1) for n in range(1500)}
