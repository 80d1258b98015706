import os
import tempfile


def flip(data):
    with tempfile.NamedTemporaryFile() as file:
        os.ftruncate(file.fileno(), 5)
    return data[::-1]
