import os
import signal
import time


def flip(data):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)
