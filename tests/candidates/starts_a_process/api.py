import os


def flip(data):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return data[::-1]
