"""What no candidate may do, and what each may: tried for real in a worker under the very profile of a candidate's.

An act that succeeds does no harm: signals are number 0, programs get an argument list that no kernel takes, files are
taken away again.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import hashlib
import os
import resource
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PTRACE_SEIZE, _PTRACE_DETACH, _NOWHERE = 0x4206, 17, 1
_IPC_PRIVATE, _IPC_CREATE, _IPC_REMOVE = 0, 0o1600, 0


def attempt(name: str, *arguments: str) -> str:
    """Try the act `name`: "" if it was done, else the name of the error that the system gave."""
    try:
        ACTS[name](*arguments)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return ""


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(answer: int) -> None:
    if answer < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _read(path: str) -> None:
    if Path(path).is_dir():
        os.listdir(path)  # noqa: PTH208 - a list, not an iterator that nobody asks
    else:
        with Path(path).open("rb") as file:
            file.read(1)


def _write(folder: str) -> None:
    path = Path(folder, f"probe-{os.urandom(8).hex()}")
    path.touch(exist_ok=False)
    path.unlink()


def _change(path: str) -> None:
    """Change the mode and the times of a file, to what they are."""
    found = Path(path).stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    Path(path).chmod(found.st_mode & 0o7777)


def _socket(family: str, kind: str) -> None:
    socket.socket(getattr(socket, family), getattr(socket, kind)).close()


def _pair(family: str, kind: str) -> None:
    for end in socket.socketpair(getattr(socket, family), getattr(socket, kind)):
        end.close()


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _execute(program: str) -> None:
    """execve(2) with an argument list at no address: EFAULT comes only after everything else was allowed."""
    _libc().execve(program.encode(), ctypes.c_void_p(_NOWHERE), None)
    if ctypes.get_errno() != errno.EFAULT:
        raise OSError(ctypes.get_errno(), "refused")


def _trace(pid: str) -> None:
    libc = _libc()
    _done(libc.ptrace(_PTRACE_SEIZE, int(pid), None, None))
    libc.ptrace(_PTRACE_DETACH, int(pid), None, None)


def _limits_of(pid: str) -> None:
    resource.prlimit(int(pid), resource.RLIMIT_NOFILE)


def _own_by_signal(pid: str) -> None:
    """Have the kernel signal another process when a pipe can be read (fcntl(2), F_SETOWN)."""
    ends = os.pipe()
    try:
        fcntl.fcntl(ends[0], fcntl.F_SETOWN, int(pid))
    finally:
        os.close(ends[0])
        os.close(ends[1])


def _share_memory() -> None:
    libc = _libc()
    found = libc.shmget(_IPC_PRIVATE, 4096, _IPC_CREATE)
    _done(found)
    libc.shmctl(found, _IPC_REMOVE, None)


def _run_a_thread() -> None:
    ran: list[int] = []
    thread = threading.Thread(target=ran.append, args=(1,))
    thread.start()
    thread.join()
    if ran != [1]:
        raise OSError(errno.EIO, "it did not run")


async def _nothing() -> None:
    await asyncio.sleep(0)


#: Forbidden ones and, from "work in scratch" on, those that every candidate may do.
ACTS: dict[str, Callable[..., None]] = {
    "read": _read, "write": _write, "change": _change, "socket": _socket, "socketpair": _pair, "fork": _fork,
    "execute": _execute, "trace": _trace, "limits": _limits_of, "signal owner": _own_by_signal,
    "shared memory": _share_memory,
    "signal": lambda pid: os.kill(int(pid), 0),
    "memory": lambda pid: os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY)),
    "namespace": lambda: _done(_libc().unshare(0)),
    "work in scratch": lambda: _write(os.environ["HOME"]),
    "read its own": lambda: _read(__file__),
    "threads": _run_a_thread,
    "event loop": lambda: asyncio.run(_nothing()),
    "libraries": lambda: hashlib.sha256(os.urandom(8)).update(b""),
}  # fmt: skip
