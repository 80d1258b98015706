"""What holds for every answer, whatever was asked: no stale pass, no leaked code, the same twice, before it lands."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.host import inconsistent, plain

from .edits import better, propose
from .jobs import weaker

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host import Host

REFUSED = {
    "an empty head": ("main", ""),
    "an empty base": ("", "agent"),
    "an unknown head": ("main", "agnet"),
    "an expression": ("main", "agent~0"),
    "nothing to judge": ("main", "main"),
}


@pytest.mark.parametrize("question", REFUSED.values(), ids=REFUSED)
def test_a_pass_of_yesterday_does_not_survive_a_refusal(host: Host, question: tuple[str, str]) -> None:
    propose(host, better)
    out = host.root / "runs"
    assert host.fence("main", "agent", "--out", str(out)).code == 0
    assert host.fence(*question, "--out", str(out)).code == 64
    verdict = json.loads((out / "verdict.json").read_bytes())
    assert (verdict["verdict"], verdict["code"]) == ("none", 64)


@pytest.mark.parametrize("command", ["fence", "score"])
def test_the_same_question_has_the_same_answer_byte_for_byte(host: Host, command: str) -> None:
    propose(host, better)
    ask = host.fence if command == "fence" else host.score
    files = []
    for name in ("one", "two"):
        result = ask("main", "agent", "--out", str(host.root / name))
        assert result.code == 0, str(result)
        files.append((host.root / name / "verdict.json").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("args", [
    [], ["fence"], ["fence", "main"], ["fence", "main", "agent", "more"], ["fence", "main", "agent", "--unknown"],
    ["unknown"], ["fence", "main", "agent", "--out"], ["score", "--base", "main"], ["score", "--head", "agent"],
    ["score", "--base", "main", "--head", "agent", "--seed", "x"], ["score", "--base", "", "--head", ""],
], ids=" ".join)  # fmt: skip
def test_a_command_line_that_cannot_be_read_is_64(host: Host, args: list[str]) -> None:
    propose(host, better)
    assert command(host, args, host.repo).returncode == 64


def test_a_folder_that_is_no_repository_is_69(host: Host) -> None:
    propose(host, better)
    result = host.fence("main", "agent", "--repo", str(host.root / "home"))
    assert (result.code, inconsistent(result)) == (69, ""), str(result)
    assert "not-a-repository" in result.rules


LANDINGS = {
    "merge": (["merge", "--quiet", "--no-ff", "--no-edit", "agent"],),
    "squash": (["merge", "--quiet", "--squash", "agent"], ["commit", "--quiet", "--message", "squashed"]),
    "rebase": (["rebase", "--quiet", "main", "agent"], ["checkout", "--quiet", "-B", "main", "agent"]),
}


@pytest.mark.parametrize("method", LANDINGS)
def test_each_method_of_the_verdict_lands_what_was_judged(host: Host, method: str) -> None:
    propose(host, better)
    assert method in host.fence("main", "agent").verdict["methods"]
    host.checkout("main")
    for args in LANDINGS[method]:
        host.git(*args)
    assert landed(host) == 0


def test_a_branch_that_moved_after_it_was_judged_does_not_land_unnoticed(host: Host) -> None:
    propose(host, better)
    assert host.fence("main", "agent").code == 0
    weaker(host)
    host.commit("one more")
    host.checkout("main")
    host.merge("agent")
    assert landed(host) == 1


def landed(host: Host) -> int:
    """What `landed` says of HEAD and of the last run's verdict."""
    verdict = host.root / f"run-{host.runs}" / "verdict.json"
    return command(host, ["landed", "HEAD", "--verdict", str(verdict)], host.repo).returncode


@pytest.mark.parametrize(("honest", "code"), [(True, 0), (False, 2)], ids=["honest", "hostile"])
def test_a_servers_hook_judges_a_push_before_its_objects_are_kept(host: Host, *, honest: bool, code: int) -> None:
    server, out = host.clone("server", "--bare"), host.root / "hook-run"
    install(server, out)
    propose(host, better if honest else weaker)
    pushed = push(host, server)
    assert (pushed.returncode == 0) is honest, pushed.stderr
    assert json.loads((out / "verdict.json").read_bytes())["code"] == code
    assert ("agent" in server.git("branch", "--list", "agent")) is honest


def install(server: Host, out: Path) -> None:
    """Put a hook into a bare repository that asks the gate about each push."""
    gate = [sys.executable, "-I", str(server.gate / "fence_tasks" / "__main__.py"), "fence"]
    hook = server.path("hooks/pre-receive")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        "#!/bin/sh\nread old new ref\n"
        f'exec {shlex.join(gate)} refs/heads/main "$new" --repo . --out {shlex.quote(str(out))} >&2\n'
    )
    hook.chmod(0o755)


def push(host: Host, server: Host) -> subprocess.CompletedProcess[str]:
    """Push the branch, as a proposer does."""
    args = ["git", "push", "--quiet", str(server.repo), "agent:refs/heads/agent"]
    return subprocess.run(args, cwd=host.repo, env=plain(host.root), capture_output=True, text=True, check=False)


def command(host: Host, args: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """The gate's command line, exactly as given."""
    gate = str(host.gate / "fence_tasks" / "__main__.py")
    return subprocess.run([sys.executable, "-I", gate, *args], cwd=cwd, env=plain(host.root), capture_output=True,
                          text=True, check=False, timeout=300)  # fmt: skip
