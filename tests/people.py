"""People at work in a host: Invoke as they start it, and what a task left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.host import KIT, Host, plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Done:
    """How one run of Invoke ended."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        """The run as one reads it in a failed assertion."""
        return f"exit {self.code}\n{self.out}\n{self.err}"


def command(*args: str, kit: Path = KIT) -> list[str]:
    """The command line of Invoke with the tasks of the kit under test."""
    return [sys.executable, "-m", "invoke", "-r", str(kit), *args]


def environment(host: Host, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """A person's environment: a home of their own, and no configuration of this machine."""
    who = {"GIT_CONFIG_NOSYSTEM": "1"}
    return {**plain(host.root), **who, **(env or {})}


def invoke(
    host: Host, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, kit: Path = KIT
) -> Done:
    """Run one task in the host's root, or in `cwd`."""
    done = subprocess.run(
        command(*args, kit=kit), cwd=cwd or host.repo, env=environment(host, env), capture_output=True, check=False,
        timeout=120,
    )  # fmt: skip
    out, err = (raw.decode("utf-8", "replace") for raw in (done.stdout, done.stderr))
    assert "Traceback" not in err, err
    return Done(done.returncode, out, err)


def state(host: Host) -> tuple[str, str, dict[str, bytes | str]]:
    """All that a refused task must leave as it was: HEAD, the index, and every file of the work tree."""
    files: dict[str, bytes | str] = {}
    for folder, folders, names in os.walk(host.repo):
        folders[:] = [f for f in folders if f not in {".git", "__pycache__"}]
        for name in (*names, *folders):
            path = os.path.join(folder, name)  # noqa: PTH118
            relative = os.path.relpath(path, host.repo)
            if os.path.islink(path):  # noqa: PTH114
                files[relative] = "-> " + os.readlink(path)  # noqa: PTH115
            elif os.path.isfile(path):  # noqa: PTH113
                with open(path, "rb") as file:  # noqa: PTH123
                    files[relative] = file.read()
            else:
                files[relative] = "a folder"
    return host.git("rev-parse", "--verify", "--quiet", "HEAD"), host.git("ls-files", "--stage"), files


def lock_is_right(host: Host) -> bool:
    """True if the staged LOCK is what the test world computes for the staged oracle, and the work tree agrees."""
    staged = host.git_bytes("show", ":oracle/LOCK")
    assert host.path("oracle/LOCK").read_bytes() == staged
    host.lock()
    return host.path("oracle/LOCK").read_bytes() == staged
