import os
from pathlib import Path


def flip(data):
    one, two = Path(os.environ["HOME"], "one"), Path(os.environ["HOME"], "two")
    one.write_bytes(data)
    two.unlink(missing_ok=True)
    os.link(one, two)
    return data[::-1]
