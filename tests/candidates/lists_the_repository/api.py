"""Looks round above its own folder."""
import os
from pathlib import Path


def flip(data):
    os.listdir(Path(__file__).parents[1])
    return data[::-1]
