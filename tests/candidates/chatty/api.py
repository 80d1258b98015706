"""Honest, and prints far more than a pipe holds."""
import sys


def flip(data):
    print("passed " * 20_000)
    print("1 passed in 0.01s", file=sys.stderr)
    return data[::-1]
