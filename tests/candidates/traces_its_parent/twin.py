import ctypes


def flip(data):
    return ctypes.string_at(data, len(data))[::-1]
