import os
import signal


def flip(data):
    os.kill(os.getpid(), signal.SIGSTOP)
    return data[::-1]
