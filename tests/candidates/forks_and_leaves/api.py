"""Its child keeps the pipe open, so that its end never shows there."""
import os
import time


def flip(data):
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)
