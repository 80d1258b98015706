import os


def flip(data):
    with open(f"/proc/{os.getppid()}/mem", "rb"):
        pass
    return data[::-1]
