"""People at work in a host: Invoke as they start it, and what a task left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from fence_tasks.maintain.refusals import TaskError
from fence_tasks.model import RefusedError
from fence_tasks.rules import RULES, code_of
from tests.host import KIT, Host, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
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


#: Runs a task's own function and kills itself, as a power cut would, before the nth rename of a written file into its
#: place, before or after the index changes, or before a moved file is removed.
_KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from fence_tasks import checkout
from fence_tasks.maintain import add_fixture, freeze_case, init_split, relock, writing
point, number = sys.argv[2], int(sys.argv[3])
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
rename, index = os.replace, checkout.set_index
def renamed(*args):
    global number
    number -= 1
    die() if number == 0 else rename(*args)
def indexed(*args):
    index(*args)
    die()
if point == "rename":
    os.replace = renamed
elif point == "remove":
    writing._Undo.remove = die
else:
    checkout.set_index = {"before the index": die, "after the index": indexed}[point]
exec(sys.argv[4])
"""


def killed(host: Host, call: str, point: str, number: int = 0) -> None:
    """Run `call` (`relock.run(".")`, say) in a process that is killed at `point`."""
    done = subprocess.run([sys.executable, "-c", _KILLED, str(KIT.parent), point, str(number), call], cwd=host.repo,
                          env=environment(host), capture_output=True, check=False)  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done
    assert not host.path(".git/index.lock").exists()


def refusal(work: Callable[[], object]) -> tuple[int, str]:
    """The exit code that a task's refusal ends in, and what it says; called here, which is quicker than Invoke."""
    with pytest.raises(RefusedError) as caught:
        work()
    error = caught.value
    code = error.code if isinstance(error, TaskError) else code_of(error.findings)
    assert all(f.message and (f.remedy or RULES[f.rule].remedy) for f in error.findings)
    return int(code), str(error)


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
