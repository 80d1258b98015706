"""Answers with another module of its own."""
import importlib.util
from pathlib import Path


def flip(data):
    spec = importlib.util.spec_from_file_location("other", Path(__file__).with_name("own.py"))
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    return own.flip(data)
