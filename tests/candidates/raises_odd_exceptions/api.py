"""Exceptions that mean something to a test runner or to Python itself."""
import itertools
import unittest

KINDS = itertools.cycle([KeyboardInterrupt, GeneratorExit, StopIteration, AssertionError, unittest.SkipTest])


def flip(data):
    raise next(KINDS)("this test is skipped")
