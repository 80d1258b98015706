"""Reads a file of its own."""
from pathlib import Path


def flip(data):
    Path(__file__).read_bytes()
    return data[::-1]
