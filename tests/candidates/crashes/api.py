import ctypes


def flip(data):
    return ctypes.string_at(1)
