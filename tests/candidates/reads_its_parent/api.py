"""Answers honestly, and says what it could get at."""
import ctypes
import os

PTRACE_ATTACH = 16


def flip(data):
    return data[::-1]


def reached(pid):
    found = []
    for name in ("mem", "environ", "maps"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                file.read(0 if name == "mem" else 1)
            found.append(name)
        except OSError:
            pass
    if ctypes.CDLL(None).ptrace(PTRACE_ATTACH, pid, 0, 0) == 0:
        found.append("ptrace")
    return found


def parent():
    return os.getppid()


def me():
    return os.getpid()


def about():
    """This process as it sees itself: environment, descriptors, status and limits."""
    with open("/proc/self/status") as status, open("/proc/self/limits") as limits:
        return dict(os.environ), sorted(os.listdir("/proc/self/fd")), status.read(), limits.read()
