import fcntl
import os

ENDS = os.pipe()


def flip(data):
    fcntl.fcntl(ENDS[0], fcntl.F_SETFL, fcntl.fcntl(ENDS[0], fcntl.F_GETFL) | os.O_NONBLOCK)
    return data[::-1]
