"""A machine without git, or with an old one: in a mount namespace of the test's own, where the real one is covered."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fence_tasks.git import FOLDERS
from tests.host import plain

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host import Host

OLD = "#!/bin/sh\necho git version 2.37.9\n"


def fenced(host: Host, cover: Path) -> tuple[int, dict[str, object], str]:
    """`(code, verdict, output)` of the fence where every git that it could find is `cover`."""
    found = [f"{folder}/git" for folder in FOLDERS if os.path.lexists(f"{folder}/git")]
    gate = host.gate / "fence_tasks/__main__.py"
    command = [sys.executable, "-I", str(gate), "fence", "main", "agent", "--repo", str(host.repo), "--out",
               str(host.root / "run-git")]  # fmt: skip
    binds = [f"mount --bind {shlex.quote(str(cover))} {shlex.quote(os.path.realpath(git))}" for git in found]
    script = " && ".join([*binds, f"exec {shlex.join(command)}"])
    own = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    done = subprocess.run([*own, "sh", "-c", script], env=plain(host.root), capture_output=True, text=True, check=False)
    out = done.stdout + done.stderr
    return done.returncode, json.loads((host.root / "run-git/verdict.json").read_text()), out


@pytest.mark.parametrize(("rule", "says"), [("git-old", "2.37"), ("git-missing", "no git in /usr/local/bin")])
def test_the_verdict_is_69_and_says_what_to_install(rule: str, says: str, host: Host) -> None:
    host.branch("agent")
    host.write("src/parsekit/more.py", "MORE = 1\n")
    host.commit("more")
    cover = host.root / "cover"
    cover.write_text(OLD)
    cover.chmod(0o755 if rule == "git-old" else 0o644)
    code, verdict, output = fenced(host, cover)
    assert code == 69, output
    assert (verdict["verdict"], verdict["code"]) == ("none", 69)
    assert says in output
    assert "install git 2.38 or newer" in output
