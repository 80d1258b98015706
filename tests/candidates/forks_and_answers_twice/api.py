import os


def flip(data):
    for _ in range(3):  # eight answers, so that some come before the next question's
        os.fork()
    return data[::-1]
