import os
import time
from pathlib import Path


def flip(data):
    for number in range(12_000):
        Path(os.environ["HOME"], str(number)).touch()
    time.sleep(3600)
