import sys


def flip(data):
    sys.exit(0)
