import os


def flip(data):
    os.fork()
    return data[::-1]
