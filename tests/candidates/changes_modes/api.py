"""Makes files outside unreadable, without opening them."""
import os
from pathlib import Path


def flip(data):
    os.chmod(Path(__file__).parents[1] / "oracle/spare.txt", 0o600)
    return data[::-1]
