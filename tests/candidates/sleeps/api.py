import time


def flip(data):
    time.sleep(3600)
