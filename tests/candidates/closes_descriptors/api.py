import os


def flip(data):
    os.closerange(0, 64)
    return data[::-1]
