import os


def flip(data):
    os.stat(__file__)
    return data[::-1]
