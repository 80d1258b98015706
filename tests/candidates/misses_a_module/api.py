"""A module of the standard library that is not there: the patch's own mistake."""
import distutils.no_such_module


def flip(data):
    return data[::-1]
