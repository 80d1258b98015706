"""The worker's last act before anything of the candidate is read: limits, privileges, confinement, all for good.

The worker runs this file from its source, so it is of the standard library alone.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: prctl(2) and capset(2): death of the parent, dumps and ptrace, privileges of programs, version 3 capabilities.
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _CAPABILITIES_V3 = 1, 4, 38, 0x20080522
#: The version of Landlock that knows truncate(2).
_TRUNCATES = 3


def limit(resources: dict[str, int]) -> None:
    """Set limits by the names of getrlimit(2). One that is lower already stays. Raises OSError, ValueError."""
    for name, value in resources.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def give_up_privileges() -> None:
    """No capabilities (root could read the scorer's memory), no ptrace by another worker, death with the scorer."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()
    failed = [
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        libc.capset(header, data),
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0),
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
    ]
    if any(failed):
        raise OSError(ctypes.get_errno(), f"privileges could not be given up: {failed}")


def confine(readable: list[str], writable: list[str], *, hidden: bool, load: Callable[[str], dict[str, Any]]) -> None:
    """Leave this process nothing but `readable` and `writable`, by Landlock and seccomp.

    `hidden` says that other files cannot even be named; `load` gives what a file of this folder defines.
    Raises OSError.
    """
    landlock, seccomp = load("landlock"), load("seccomp")
    machine = seccomp["machine"]()
    if not machine:
        raise OSError("there is no seccomp filter for this machine")
    version = landlock["restrict"](readable, writable)
    seccomp["install"](seccomp["program"](machine, os.getpid(), hidden=hidden, truncate=version >= _TRUNCATES))
