import shlex


def flip(data):
    shlex.quote(data.hex())
    return data[::-1]
