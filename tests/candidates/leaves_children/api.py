"""Starts a process in a session of its own, which outlives it, and answers honestly."""
import os
import subprocess
import sys

PATH = os.path.join(os.environ["HOME"], "child")


def flip(data):
    if not os.path.exists(PATH):
        child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(3600)"], start_new_session=True)
        with open(PATH, "w") as file:
            file.write(str(child.pid))
    return data[::-1]
