class UnsatisfiedAssumption(Exception):
    __module__ = "hypothesis.errors"
    __qualname__ = "UnsatisfiedAssumption"


def flip(data):
    raise UnsatisfiedAssumption
