"""Which confinement this machine has: tried for real, with the interpreter that the candidate gets.

What counts is a live probe in the very profile of a candidate: `probe/acts.py` tries what is forbidden, and what was
refused decides. The levels, strongest first: bubblewrap, Landlock and seccomp; Landlock and seccomp (both are
`confined`); limits alone (`any`).
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..model import Finding, RefusedError
from . import landlock, seccomp
from .errors import CandidateFault
from .launch import BUBBLEWRAP, LANDLOCK, LIMITS, Launch, bubblewrap
from .process import HEADER, Process, make_undumpable
from .worker import REFUSED, VALUE, Worker, built

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONFINED, ANY = "confined", "any"
_PROBE = str(Path(__file__).with_name("probe"))
_SECONDS, _FRAME, _LINES = 20.0, 1 << 20, 300
#: What each confinement leaves open. Landlock does not hide names (stat), and a file without a name is not counted.
NOT_COVERED = {
    BUBBLEWRAP: (),
    LANDLOCK: ("names, sizes, times and attributes of other files", "space of files that are open and have no name"),
    LIMITS: ("network", "writes outside scratch", "reading other files", "signals", "processes"),
}
#: Forbidden acts that need no path: (what the verdict calls it, the act, its arguments).
_FORBIDDEN = (
    ("TCP", "socket", "AF_INET", "SOCK_STREAM"), ("UDP", "socket", "AF_INET", "SOCK_DGRAM"),
    ("TCP over IPv6", "socket", "AF_INET6", "SOCK_STREAM"), ("Unix sockets", "socket", "AF_UNIX", "SOCK_STREAM"),
    ("Unix datagrams", "socketpair", "AF_UNIX", "SOCK_DGRAM"), ("netlink", "socket", "AF_NETLINK", "SOCK_RAW"),
    ("start a process", "fork"), ("share memory", "shared memory"), ("make a namespace", "namespace"),
)  # fmt: skip
_OF_THE_SCORER = (
    ("signal the scorer", "signal"), ("trace the scorer", "trace"), ("read the scorer's memory", "memory"),
    ("limit the scorer", "limits"), ("have the scorer signalled", "signal owner"),
)  # fmt: skip
_ALLOWED = ("work in scratch", "read its own", "threads", "event loop", "libraries")
#: Asked of the candidate's interpreter; its own environment's, since a worker gets no other.
_INTERPRETER = """
import json, os, sys
try:
    with open("/proc/self/maps") as file:
        mapped = sorted({os.path.dirname(l.split(None, 5)[5].strip()) for l in file if ".so" in l and "/" in l})
except OSError:
    mapped = []
base = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
print(json.dumps([base, *sys.path, os.path.join(sys.base_prefix, "lib"), *mapped]))
"""


@dataclass(frozen=True, slots=True)
class Isolation:
    """What is in force: `level` (CONFINED or ANY), `applied`, what the probe's acts came to, what is `not_covered`,
    and `missing`: why nothing stronger is in force, with what to do. The rest is for a `Launch`."""

    level: str = ANY
    applied: tuple[str, ...] = ("limits",)
    probe: dict[str, str] = field(default_factory=dict)
    not_covered: tuple[str, ...] = NOT_COVERED[LIMITS]
    missing: tuple[str, ...] = ()
    python: str = ""
    confinement: str = LIMITS
    readable: tuple[str, ...] = ()


def measure(python: str, site: Sequence[str], hidden: Mapping[str, str]) -> Isolation:
    """The strongest confinement whose probe is refused everything.

    `python` and `site` are the candidate's; `hidden` are absolute paths by what the verdict calls them, which no
    candidate may read. Raises RefusedError (`environment`) if the interpreter does not work at all.
    """
    make_undumpable()
    base, *readable = _interpreter(python)
    missing, probed = [], dict[str, str]()
    for confinement in (BUBBLEWRAP, LANDLOCK, LIMITS):
        if confinement != LIMITS and (why := _lacks(confinement)):
            missing.append(why)
            continue
        launch = Launch(
            base, tuple(site), (_PROBE,), "acts", "", 1 << 30, _SECONDS, confinement=confinement,
            readable=(base, *readable),
        )  # fmt: skip
        probed, why = _probe(launch, hidden)
        if confinement == LIMITS:
            break
        if why:
            missing.append(f"{confinement}: {why}{_advice(confinement)}")
        else:
            return Isolation(CONFINED, _applied(confinement), probed, NOT_COVERED[confinement], tuple(missing), base,
                             confinement, (base, *readable))  # fmt: skip
    return Isolation(probe=probed, missing=tuple(missing), python=python)


def missing_finding(isolation: Isolation, path: str) -> Finding:
    """The finding (69) where the policy `path` asks for `confined` and it cannot be met."""
    why = "; ".join(isolation.missing) or "it cannot be had on this machine"
    remedy = 'mend that, or run where it is not so; people may set candidate.isolation = "any" in the policy'
    return Finding("isolation-missing", f'isolation = "confined" cannot be met: {why}', path, remedy=remedy)


def _applied(confinement: str) -> tuple[str, ...]:
    both = (f"Landlock ABI {landlock.abi()}", "limits", "seccomp")
    return ("bubblewrap", *both) if confinement == BUBBLEWRAP else both


def _lacks(confinement: str) -> str:
    """Why `confinement` need not be tried, with what to do; "" if it may work."""
    if not sys.platform.startswith("linux"):
        return f"{confinement}: is made for Linux"
    if confinement == BUBBLEWRAP:
        return "" if bubblewrap() else "bubblewrap: is not in /usr/bin; install the package bubblewrap (it is optional)"
    if not seccomp.machine():
        return f"seccomp: there is no filter for {os.uname().machine}, only for {', '.join(seccomp.MACHINES)} (64-bit)"
    try:
        landlock.abi()
    except OSError as error:
        return _LANDLOCK.get(error.errno or 0, f"Landlock: {error.strerror}")
    return ""


#: What landlock_create_ruleset(2) says, with what to do.
_LANDLOCK = {
    errno.ENOSYS: "Landlock: this kernel has none, or a container refuses it; it takes Linux 5.13 with "
                  "CONFIG_SECURITY_LANDLOCK=y, and a container engine whose seccomp profile knows Landlock",
    errno.EOPNOTSUPP: "Landlock: is not enabled; start the kernel with landlock first in its list lsm=",
    errno.EPERM: "Landlock: a container's seccomp profile refuses it; update the container engine, or allow the "
                 "landlock_* calls there",
}  # fmt: skip


def _advice(confinement: str) -> str:
    if confinement != BUBBLEWRAP:
        return ""
    restricted = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if restricted.is_file() and restricted.read_text("ascii").strip() == "1":
        return "; sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 allows it (it is optional)"
    return "; it needs user namespaces (it is optional)"


def _interpreter(python: str) -> list[str]:
    """The interpreter itself, without its virtual environment, and what it reads: its library, shared objects."""
    try:
        done = subprocess.run([python, "-I", "-S", "-B", "-c", _INTERPRETER], env={}, stdin=subprocess.DEVNULL,  # noqa: S603
                              capture_output=True, timeout=_SECONDS, check=True)  # fmt: skip
        found: list[str] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        why = f"the candidate's interpreter does not work: {error!r:.300}"
        raise RefusedError(Finding("environment", why)) from error
    return found


# The probe


def _probe(launch: Launch, hidden: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """What the acts came to by what the verdict calls them, and why this confinement does not count ("" if it does)."""
    with tempfile.TemporaryDirectory(prefix="fence-probe-") as place:
        elsewhere = Path(place, "elsewhere")
        elsewhere.mkdir(mode=0o700)
        (elsewhere / "file").write_text("nobody's", "ascii")
        there = {"another folder": str(elsewhere), "another file": str(elsewhere / "file"),
                 **{name: path for name, path in hidden.items() if os.access(path, os.R_OK)}}  # fmt: skip
        forbidden = [
            *((f"read {name}", "read", path) for name, path in there.items()),
            ("write to another folder", "write", str(elsewhere)),
            ("change another file", "change", str(elsewhere / "file")),
            *_FORBIDDEN, ("execute a program", "execute", launch.python),
            *((name, act, str(os.getpid())) for name, act in _OF_THE_SCORER),
        ]  # fmt: skip
        try:
            acts = [act for _, *act in forbidden] + [[name] for name in _ALLOWED]
            came = _attempted(replace(launch, scratch=str(Path(place, "scratch"))), acts)
        except (OSError, ValueError, CandidateFault) as error:
            return {}, f"the probe did not run: {error}"
    probed = {name: "refused" if word else "allowed" for (name, *_), word in zip(forbidden, came, strict=False)}
    done = [name for name, word in probed.items() if word == "allowed"]
    undone = [f"{name} ({word})" for name, word in zip(_ALLOWED, came[len(forbidden) :], strict=True) if word]
    if done:
        return probed, f"the probe could {', '.join(done)}"
    return probed, f"the probe could not {', '.join(undone)}" if undone else ""


def _attempted(launch: Launch, acts: list[list[str]]) -> list[str]:
    """What `acts.attempt` answers to each of `acts`. Raises OSError, ValueError, CandidateFault."""
    Path(launch.scratch).mkdir(mode=0o700)
    with Path(launch.scratch, "output.log").open("w+b") as log:
        process = launch.start(log.fileno(), _FRAME)
        try:
            limits = {"frame": _FRAME, "nodes": 1000, "depth": 10, "integer": 8, "exponent": 0}
            _ask(process, "hello", [], [launch.hello(limits)])
            _ask(process, "import", [], [])
            return [str(_ask(process, "call", ["attempt"], act)) for act in acts]
        except CandidateFault as fault:
            log.seek(0)
            said = log.read().decode("utf-8", "replace").strip()[-_LINES:]
            raise ValueError(f"{fault.message}: {said}" if said else fault.message) from fault
        finally:
            process.kill()


def _ask(process: Process, verb: str, names: list[str], arguments: Sequence[Any]) -> Any:
    """One exchange in the worker's own codec, which needs no package. Raises ValueError, CandidateFault."""
    codec, out = Worker(), [b"\x97\x00\x90"]
    for part in (verb, None):
        codec.pack(part, out)
    for parts in (names, arguments, []):
        out.append(bytes((0x90 | len(parts),)))
        for part in parts:
            codec.pack(part, out)
    content = b"".join(out)
    answer = bytes(process.exchange(HEADER.pack(len(content)) + content, monotonic() + _SECONDS))
    (_, status, value), _ = codec.load(answer, 0)
    if status != VALUE:
        raise ValueError(str(built(value) if status == REFUSED else built(value)[2]))
    return built(value)
