import os
import tempfile
from pathlib import Path


def flip(data):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one").write_bytes(data)
        os.rename(Path(folder, "one"), Path(folder, "two"))
        os.truncate(Path(folder, "two"), 0)
        Path(folder, "link").symlink_to("two")
    return data[::-1]
