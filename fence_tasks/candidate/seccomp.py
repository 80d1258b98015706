"""A seccomp filter: which system calls a process can make from now on, for good (seccomp(2), classic BPF).

The worker runs this file from its source, so it is of the standard library alone.

A list of what is refused, not of what is allowed: a list of what CPython, glibc or musl, and compiled packages need
differs from version to version, and a call that it lacks would fail honest patches. What such a list is stronger in is
had otherwise: every call that is newer than this file (`NEWEST`) is ENOSYS, which libraries expect of an older kernel.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from struct import Struct

#: Machine (uname) → AUDIT_ARCH_* (linux/audit.h), and the column of `NUMBERS`. Others are not supported.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
#: cachestat (Linux 6.5). x86-64's x32 calls have numbers over 2**30, so they are newer too.
NEWEST = 451

#: Names → numbers on x86-64 (asm/unistd_64.h) and on aarch64 (asm-generic/unistd.h).
NUMBERS: dict[str, tuple[int, int | None]] = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281), "unshare": (272, 97),
    "setns": (308, 268),
    "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242),
    "socket": (41, 198), "sendmmsg": (307, 269),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "perf_event_open": (298, 241), "setpgid": (109, 154), "setsid": (112, 157),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181), "mq_notify": (244, 184),
    "mq_timedsend": (242, 182), "mq_timedreceive": (243, 183),
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_setup": (206, 0), "io_submit": (209, 2), "userfaultfd": (323, 282), "bpf": (321, 280), "seccomp": (317, 277),
    "inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "lookup_dcookie": (212, 18),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "move_mount": (429, 429),
    "open_tree": (428, 428), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "swapon": (167, 224), "swapoff": (168, 225),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "acct": (163, 89), "sysfs": (139, None), "uselib": (134, None),
    "nfsservctl": (180, 42),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "create_module": (174, None),
    "get_kernel_syms": (177, None), "query_module": (178, None), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116), "vhangup": (153, 58),
    "personality": (135, 92), "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
    "mknod": (133, None), "mknodat": (259, 33),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, None), "fchown": (93, 55),
    "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None), "utimensat": (280, 88),
    "futimesat": (261, None), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "truncate": (76, 45),
    "clone3": (435, 435), "openat2": (437, 437),
    "clone": (56, 220), "kill": (62, 129), "tgkill": (234, 131), "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122), "socketpair": (53, 199), "sendto": (44, 206), "ioctl": (16, 29),
    "fcntl": (72, 25), "prctl": (157, 167), "open": (2, None), "openat": (257, 56),
}  # fmt: skip

#: What changes files without opening them: Landlock does not see it.
CHANGES = frozenset({
    "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat",
    "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
})  # fmt: skip
#: As if the kernel were older: libraries then use calls whose arguments a filter can see.
OLDER = frozenset({"clone3", "openat2"})

# include/uapi/linux: sched.h, socket.h, net.h, prctl.h, fcntl.h, ioctls.h.
_THREAD, _NAMESPACES = 0x00010000, 0x7E020000
_UNIX, _STREAM, _TYPE = 1, 1, 0xF
_PDEATHSIG, _DUMPABLE, _MM, _PTRACER = 1, 4, 35, 0x59616D61
_SETOWN, _SETSIG, _SETOWN_EX, _SETLEASE, _NOTIFY = 8, 10, 15, 1024, 1026
_TRUNCATE_UNWRITTEN, _TRUNC = 0x203, 0x200
#: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2. Others steer devices, file systems
#: (FS_IOC_SETFLAGS) and whom a descriptor signals (FIOSETOWN).
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
_ANY = 0xFFFFFFFF

_INSTRUCTION = Struct("=HBBI")
_LOAD, _AND, _EQUAL, _GREATER, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2


def machine() -> str:
    """The machine of this process as `MACHINES` names it; "" if it is another, or this is a 32-bit process."""
    name = os.uname().machine
    return name if name in MACHINES and sys.maxsize > 2**32 and sys.byteorder == "little" else ""


def program(name: str, pid: int, *, hidden: bool, truncate: bool = True) -> bytes:
    """The filter for the process `pid` on the machine `name`.

    `hidden` says that other files cannot even be named, so that changing modes and times of its own is harmless;
    `truncate`, that truncate(2) is left to Landlock.
    """
    arch, column = MACHINES[name]
    code = [_load(1), _step(_EQUAL, arch, 1, 0), _return(_KILL_PROCESS), _load(0),
            _step(_GREATER, NEWEST, 0, 1), _error(errno.ENOSYS)]  # fmt: skip
    checked = _checked(pid)
    for call, numbers in NUMBERS.items():
        number = numbers[column]
        if number is None or (call in CHANGES and hidden) or (call == "truncate" and (truncate or hidden)):
            continue
        block = checked.get(call) or [_error(errno.ENOSYS if call in OLDER else errno.EPERM)]
        code += [_step(_EQUAL, number, 0, len(block)), *block]
    code.append(_return(_ALLOW))
    return b"".join(code)


def _checked(pid: int) -> dict[str, list[bytes]]:
    """The calls that are decided by their arguments: what follows once the number has matched."""
    unwritten = (_TRUNC, _TRUNCATE_UNWRITTEN)
    return {
        # Threads, and no process: a kernel takes CLONE_THREAD only together with CLONE_VM and CLONE_SIGHAND.
        "clone": _only((0, 0, _THREAD | _NAMESPACES, (_THREAD,))),
        "kill": _only((0, 0, _ANY, (pid,))),  # raise() and abort() use tgkill
        "tgkill": _only((0, 0, _ANY, (pid,))),
        "prlimit64": _only((0, 0, _ANY, (0, pid))),  # a limit on the scorer's CPU time would kill it
        "sched_setaffinity": _only((0, 0, _ANY, (0, pid))),
        # asyncio wakes itself by such a pair; of other types than streams one end can be connected elsewhere.
        "socketpair": _only((0, 0, _ANY, (_UNIX,)), (1, 0, _TYPE, (_STREAM,))),
        "sendto": _only((4, 0, _ANY, (0,)), (4, 1, _ANY, (0,))),
        "ioctl": _only((1, 0, _ANY, _IOCTLS), error=errno.ENOTTY),
        # F_SETOWN and its like have the kernel send a signal to any process of the same user.
        "fcntl": _never(1, _ANY, (_SETOWN, _SETSIG, _SETOWN_EX, _SETLEASE, _NOTIFY)),
        "prctl": _never(0, _ANY, (_PDEATHSIG, _DUMPABLE, _MM, _PTRACER)),
        # O_TRUNC on a descriptor that is not opened for writing: Landlock before ABI 3 asks for no right to write.
        "open": _never(1, _TRUNCATE_UNWRITTEN, unwritten),
        "openat": _never(2, _TRUNCATE_UNWRITTEN, unwritten),
    }


def install(code: bytes) -> None:
    """Put this process under the filter `code`. Raises OSError."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))

    libc = ctypes.CDLL(None, use_errno=True)
    filters = Program(len(code) // _INSTRUCTION.size, code)
    failed = libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if failed or libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filters), 0, 0):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


# Instructions of classic BPF (linux/filter.h). `struct seccomp_data`: number, architecture, pointer, six arguments of
# 64 bits; a filter loads 32 bits at a time, and both machines have the lower half first.


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, yes, no, value)


def _load(word: int) -> bytes:
    return _step(_LOAD, 4 * word)


def _return(action: int) -> bytes:
    return _step(_RETURN, action)


def _error(number: int) -> bytes:
    return _return(_ERRNO | number)


def _only(*checks: tuple[int, int, int, tuple[int, ...]], error: int = errno.EPERM) -> list[bytes]:
    """Allowed if each check holds: argument, 1 for its upper half, mask, and the values that the half may have."""
    code: list[bytes] = []
    for argument, half, mask, values in checks:
        code += [_load(4 + 2 * argument + half), _step(_AND, mask)]
        code += [_step(_EQUAL, value, len(values) - n) for n, value in enumerate(values)]
        code.append(_error(error))
    return [*code, _return(_ALLOW)]


def _never(argument: int, mask: int, values: tuple[int, ...]) -> list[bytes]:
    """Allowed unless the masked lower half of an argument is one of the values."""
    code = [_load(4 + 2 * argument), _step(_AND, mask)]
    code += [_step(_EQUAL, value, len(values) - n) for n, value in enumerate(values)]
    return [*code, _return(_ALLOW), _error(errno.EPERM)]
