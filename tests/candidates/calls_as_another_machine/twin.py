import os


def flip(data):
    os.getpid()
    return data[::-1]
