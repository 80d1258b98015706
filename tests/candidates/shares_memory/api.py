import ctypes

IPC_PRIVATE, IPC_CREAT, IPC_RMID = 0, 0o1600, 0


def flip(data):
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.shmget(IPC_PRIVATE, 4096, IPC_CREAT)
    if found < 0:
        raise OSError(ctypes.get_errno(), "refused")
    libc.shmctl(found, IPC_RMID, None)
    return data[::-1]
