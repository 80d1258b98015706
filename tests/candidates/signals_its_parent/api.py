import os


def flip(data):
    os.kill(os.getppid(), 0)
    return data[::-1]
