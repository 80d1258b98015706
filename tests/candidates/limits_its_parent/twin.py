import os
import resource


def flip(data):
    resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE)
    resource.getrlimit(resource.RLIMIT_AS)
    return data[::-1]
