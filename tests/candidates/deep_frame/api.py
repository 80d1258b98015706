"""Very many nested arrays, past its own worker's limits."""
import os
import struct


def flip(data):
    frame = b"\x91" * 100_000 + b"\x00"
    for fd in range(3, 64):
        try:
            os.write(fd, struct.pack(">I", len(frame)) + frame)
        except OSError:
            pass
    return data[::-1]
