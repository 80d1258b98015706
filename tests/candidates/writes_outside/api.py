"""Leaves something for the next run."""
from pathlib import Path


def flip(data):
    (Path(__file__).parents[1] / "left-behind").write_bytes(data)
    return data[::-1]
