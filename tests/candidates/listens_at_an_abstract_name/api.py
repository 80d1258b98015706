import os
import socket


def flip(data):
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(f"\0fence-{os.getpid()}-{os.urandom(8).hex()}")
    return data[::-1]
