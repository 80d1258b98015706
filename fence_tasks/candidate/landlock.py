"""Landlock by system calls of its own: which files and folders a process can open from now on, for good.

The worker runs this file from its source, so it is of the standard library alone. Numbers and layouts are those of
`include/uapi/linux/landlock.h`; what each ABI version brought is in the kernel's `userspace-api/landlock.rst`.

Landlock does not stop stat, chmod, chown, utime, setxattr and fcntl on files outside (`seccomp` does, where it must);
rights to execute are given to nothing.
"""

from __future__ import annotations

import ctypes
import os
import stat
from struct import Struct

#: The same on every architecture (include/uapi/asm-generic/unistd.h); so are the values below.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION, _RULE_PATH_BENEATH, _PR_SET_NO_NEW_PRIVS = 1, 1, 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << n for n in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << n for n in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_READ = READ_FILE | READ_DIR
_WRITE = _READ | WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER
#: What a rule for a single file may name.
_OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
#: TCP from ABI 4 (bind, connect), abstract Unix sockets and signals from ABI 6; all of it is refused.
_NETWORK, _SCOPED = 0b11, 0b11

_RULESET, _BENEATH = Struct("=QQQ"), Struct("=Qi")


def abi() -> int:
    """The kernel's version of Landlock, from 1. Raises OSError: ENOSYS (not built, or a sandbox refuses it),
    EOPNOTSUPP (not enabled at boot), EPERM (a sandbox refuses it)."""
    return _call(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION)


def handled(version: int) -> tuple[int, int, int, int]:
    """What is refused unless a rule gives it, by ABI: rights on files, on the network, scopes; and the bytes of
    `struct landlock_ruleset_attr` that hold them."""
    files = MAKE_SYM * 2 - 1
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        files |= right if version >= since else 0
    network, scoped = _NETWORK if version >= 4 else 0, _SCOPED if version >= 6 else 0
    return files, network, scoped, 8 * (1 + bool(network) + bool(scoped))


def restrict(readable: list[str], writable: list[str]) -> int:
    """Leave this thread, and what it starts, only `readable` to read and `writable` to read and write; folders count
    with all below them, and what is not there is left out. The ABI is answered. Raises OSError."""
    version = abi()
    files, network, scoped, size = handled(version)
    ruleset = _call(_CREATE_RULESET, _RULESET.pack(files, network, scoped)[:size], size, 0)
    try:
        for paths, rights in ((readable, _READ), (writable, _WRITE)):
            for path in paths:
                _allow(ruleset, path, rights & files)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS failed")
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # what this account cannot reach needs no rule
    try:
        folder = stat.S_ISDIR(os.fstat(at).st_mode)
        attributes = _BENEATH.pack(rights if folder else rights & _OF_A_FILE, at)
        _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, attributes, 0)
    finally:
        os.close(at)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """syscall(2). Raises OSError."""
    given = [ctypes.c_char_p(a) if a is None or isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    answer: int = libc.syscall(ctypes.c_long(number), *given)
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return answer
