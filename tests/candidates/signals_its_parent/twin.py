import os
import signal

signal.signal(signal.SIGUSR1, lambda *_: None)


def flip(data):
    os.kill(os.getpid(), 0)
    signal.raise_signal(signal.SIGUSR1)
    return data[::-1]
