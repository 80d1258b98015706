"""Gives a file outside another name, in its own folder."""
import os
from pathlib import Path


def flip(data):
    name = Path(os.environ["HOME"], "other-name")
    name.unlink(missing_ok=True)
    os.link(Path(__file__).parents[1] / "oracle/properties/flip.py", name)
    return data[::-1]
