import os
from pathlib import Path


def flip(data):
    os.truncate(Path(__file__).parents[1] / "oracle/spare.txt", 0)
    return data[::-1]
