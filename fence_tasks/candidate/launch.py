"""How a worker is started: its command line, environment and confinement, from plain data. It needs no package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .process import Process

VERSION = 1
#: What is in force when the candidate's first line runs. Limits and no privileges always are.
LIMITS, LANDLOCK, BUBBLEWRAP = "limits", "landlock", "bubblewrap"
#: PATH is not asked: an earlier step of a job may have put a folder of its own in front (attack B67).
_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
_HERE = Path(__file__).parent
_WORKER = str(_HERE / "worker.py")
#: What the worker reads of this folder before it is confined.
_OWN = tuple(str(_HERE / f"{name}.py") for name in ("worker", "restrict", "landlock", "seccomp"))
_FILE_BYTES, _OPEN_FILES = 64 << 20, 256
#: Bytes of a candidate's scratch folder as a whole.
SCRATCH_BYTES = 256 << 20
#: What libraries of the system read, where it is there: code, the loader's cache, OpenSSL's settings, time zones.
_SYSTEM = (
    "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/mime.types", "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/openssl.cnf", "/etc/crypto-policies", "/usr/share/crypto-policies", "/usr/share/zoneinfo",
)  # fmt: skip
_DEVICES = ("/dev/zero", "/dev/random", "/dev/urandom")
_NULL = "/dev/null"
#: bwrap(1). `/` is a file system in memory that holds the folders that are bound, and is read-only too. There is no
#: /proc: nothing that a candidate needs is in it.
_APART = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--cap-drop", "ALL",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Launch:
    """How one revision's candidate is started.

    `python` is an absolute interpreter, `site` the folders of its installed requirements, `imports` absolute
    folders that come first, `api` the module's name, `scratch` an absolute folder (0700) that is its working
    folder, HOME and TMPDIR, `memory` bytes of address space, `call_seconds` the longest call, `cpu_seconds` of all
    its threads together (0 is no limit). `confinement` is LIMITS, LANDLOCK or BUBBLEWRAP; `readable` are absolute
    paths that a confined candidate may read besides: its interpreter's, and its own folder of the stage.
    """

    python: str
    site: tuple[str, ...]
    imports: tuple[str, ...]
    api: str
    scratch: str
    memory: int
    call_seconds: float
    cpu_seconds: int = 0
    confinement: str = LIMITS
    readable: tuple[str, ...] = ()

    def argv(self) -> list[str]:
        """The worker's command line, without the numbers of the pipes.

        Not `-I`: it implies `-E`, and then no hash seed can be set, so that a candidate that walks over a set
        would answer differently in each run. The environment is ours alone, and the worker drops its own folder
        from the path. No `pycache_prefix`: it would compile the standard library at each start; the worker loads
        no bytecode from the candidate's folders instead.
        """
        command = [self.python, "-s", "-S", "-B", "-X", "utf8", _WORKER]
        return [*self._bubblewrap(), *command] if self.confinement == BUBBLEWRAP else command

    def environment(self) -> dict[str, str]:
        """All that the worker's environment holds; nothing of the caller's."""
        return {
            "PATH": os.defpath, "HOME": self.scratch, "TMPDIR": self.scratch, "LANG": "C.UTF-8", "TZ": "UTC",
            "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        }  # fmt: skip

    def hello(self, limits: dict[str, int]) -> dict[str, Any]:
        """What the worker is told first (docs/protocol.md); `limits` are those of one frame."""
        resources = {"RLIMIT_AS": self.memory, "RLIMIT_FSIZE": _FILE_BYTES, "RLIMIT_NOFILE": _OPEN_FILES,
                     "RLIMIT_CORE": 0}  # fmt: skip
        if self.cpu_seconds:
            resources["RLIMIT_CPU"] = self.cpu_seconds
        confine: dict[str, Any] | None = None
        if self.confinement != LIMITS:
            confine = {"readable": [*self.reads(), *_DEVICES], "writable": [self.scratch, _NULL],
                       "hidden": self.confinement == BUBBLEWRAP}  # fmt: skip
        return {
            "version": VERSION, "api": self.api, "imports": list(self.imports), "site": list(self.site),
            "limits": limits, "resources": resources, "confine": confine,
        }  # fmt: skip

    def start(self, output: int, largest: int) -> Process:
        """Start the worker; see `Process`. Raises OSError."""
        process = Process(self.argv(), cwd=self.scratch, env=self.environment(), output=output, largest=largest)
        process.wrapped = self.confinement == BUBBLEWRAP
        return process

    def reads(self) -> list[str]:
        """All that a confined candidate may read and not write, without what lies below another path of it."""
        kept: list[str] = []
        for path in sorted({*_SYSTEM, *self.readable, *self.site, *self.imports}):
            if not kept or not f"{path}/".startswith(f"{kept[-1].rstrip('/')}/"):
                kept.append(path)
        return kept

    def _bubblewrap(self) -> list[str]:
        binds = [part for path in (*self.reads(), *_OWN) for part in ("--ro-bind-try", path, path)]
        devices = [part for path in (*_DEVICES, _NULL) for part in ("--dev-bind-try", path, path)]
        own = ["--size", str(SCRATCH_BYTES), "--tmpfs", self.scratch, "--remount-ro", "/", "--chdir", self.scratch]
        return [bubblewrap() or "bwrap", *_APART, *binds, *devices, *own, "--"]


def bubblewrap() -> str:
    """The absolute path of the system's bubblewrap, or "" if it has none."""
    found = (f"{folder}/bwrap" for folder in _FOLDERS)
    return next((path for path in found if os.access(path, os.X_OK)), "")

