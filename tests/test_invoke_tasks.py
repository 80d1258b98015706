"""The door that people use: how Invoke is spoken to, and which of its traps are shut."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from invoke.collection import Collection
from invoke.exceptions import Exit
from invoke.tasks import Task

from fence_tasks import invoke_tasks
from tests.host import KIT, PROPERTIES, RETIRED, Host
from tests.people import environment, invoke, state

if TYPE_CHECKING:
    from collections.abc import Callable

    from invoke.context import Context

TASKS = ["add-fixture", "check", "freeze-case", "init-split", "relock"]


def run(host: Host, *args: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "invoke", *args], cwd=host.repo, env=environment(host),
                          capture_output=True, check=False)  # fmt: skip


@pytest.mark.parametrize("name", TASKS)
def test_help_shows_every_option_and_an_example_and_runs_nothing(host: Host, name: str) -> None:
    before = state(host)
    done = run(host, name, "--help")
    text = done.stdout.decode()
    assert done.returncode == 0
    assert f"invoke {name}" in re.sub(r"\s+", " ", text)
    assert "example:" in text
    options = [line for line in text.partition("Options:")[2].splitlines() if line.startswith("  --")]
    assert all(re.match(r"  --[a-z-]+(?:=[A-Z]+)? {2,}\S", line) for line in options), text
    assert not re.search(r"^  -[a-z],", text, re.MULTILINE), "an option has a letter of its own"
    assert state(host) == before


def test_no_task_takes_help_for_a_value(host: Host) -> None:
    before = state(host)
    for args in (["freeze-case", "x"], ["add-fixture", "x"], ["init-split", "."]):
        assert run(host, *args).returncode != 0
    assert state(host) == before


def test_the_tasks_are_listed_by_a_hosts_own_file_and_by_the_kits(host: Host) -> None:
    for args in (["--list"], ["-r", "fence_tasks", "--list"], ["-r", str(KIT), "--list"]):
        listed = run(host, *args).stdout.decode()
        assert re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE) == TASKS, listed


def test_importing_needs_invoke_and_the_standard_library_only() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import fence_tasks.invoke_tasks; "
        "print(sorted({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(KIT.parent)], capture_output=True, check=True, text=True)
    assert {"fence_tasks", "invoke"} <= set(re.findall(r"\w+", done.stdout))
    assert not {"blake3", "tomli_w", "rich", "nox", "msgspec", "hypothesis"} & set(re.findall(r"\w+", done.stdout))


def test_the_kits_modules_do_not_stand_in_for_others(host: Host) -> None:
    host.write("own.py", "import sys, importlib\n")
    code = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[1] + '/tasks.py'); "
        "import importlib.util as u; print([n for n in ('git', 'model', 'report', 'rules', 'cli') if u.find_spec(n)])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(KIT)], capture_output=True, check=True, text=True,
                          cwd=host.root)  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_a_host_with_tasks_of_its_own_joins_them(host: Host) -> None:
    host.write("tasks.py", (
        "import sys\nfrom invoke import Collection, task\nfrom fence_tasks.invoke_tasks import join\n\n"
        "@task\ndef check(c):\n    'Our own.'\n    print('ours')\n\n"
        "ns = join(Collection.from_module(sys.modules[__name__]))\n"
    ))  # fmt: skip
    assert run(host, "check").stdout == b"ours\n"
    assert b"is right already" in run(host, "fence.relock").stdout


def relock(_: Context) -> None:
    """A host's own task of a name that is ours."""


def test_a_name_that_is_taken_is_refused() -> None:
    ours = invoke_tasks.collection()
    own: Task[Callable[[Context], None]] = Task(relock)
    for add in (lambda: ours.add_task(own), lambda: ours.add_task(own, name="check"),
                lambda: ours.add_collection(Collection("check")), lambda: ours.add_task(own, "x", ("relock",)),
                lambda: invoke_tasks.join(Collection(fence=own)),
                lambda: invoke_tasks.join(Collection(fence=Collection()))):  # fmt: skip
        with pytest.raises(Exit) as caught:
            add()
        assert caught.value.code == 75
    assert ours.tasks["relock"] is invoke_tasks.relock


def test_a_clash_in_a_hosts_file_ends_invoke_with_75(host: Host) -> None:
    host.write("tasks.py", (
        "from invoke import task\nfrom fence_tasks.invoke_tasks import collection\n\n"
        "@task\ndef check(c):\n    pass\n\nns = collection()\nns.add_task(check)\n"
    ))  # fmt: skip
    done = run(host, "check")
    assert (done.returncode, b"is there already" in done.stderr) == (75, True), done


def test_a_refusal_shows_what_where_and_what_to_type(host: Host) -> None:
    host.replace("oracle/policy.toml", "seed = 20261201", 'seed = "x"')
    host.people("a policy with a fault")
    (host.root / "in").write_bytes(b"x")
    done = invoke(host, "add-fixture", "--input", "../in", "--expected", "../in")
    assert done.code == 65, done
    lines = done.err.splitlines()
    assert lines[0] == "REFUSED 65  policy-malformed: nothing was changed"
    assert re.match(r"oracle/policy\.toml:\d+: properties\.seed: ", lines[1]), lines
    assert lines[2].startswith("  -> ")


def test_a_terminal_without_unicode_gets_an_answer(host: Host) -> None:
    host.write("oracle/properties/ähm.py", "x = 1\n")
    done = invoke(host, "relock", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LANG": "C"})
    assert (done.code, r"\xe4hm.py" in done.out) == (0, True), done


def test_settings_that_turn_failures_into_success_have_no_hold(host: Host) -> None:
    host.git("rm", "-rq", "oracle")
    for env in ({"INVOKE_RUN_WARN": "1"}, {"INVOKE_RUN_DRY": "1"}, {"INVOKE_TASKS_DEDUPE": "0"}):
        assert invoke(host, "relock", env=env).code == 75
    host.write("invoke.yaml", "run:\n  warn: true\n  hide: both\n")
    assert run(host, "relock").returncode == 75


def test_git_variables_of_an_outer_command_do_not_lead_elsewhere(host: Host) -> None:
    other = host.clone("other")
    env = {"GIT_DIR": str(other.path(".git")), "GIT_WORK_TREE": str(other.repo), "GIT_PREFIX": "src/"}
    before = state(other)
    host.write("oracle/properties/new.py", "x = 1\n")
    host.git("add", "--all")
    assert invoke(host, "relock", env=env).code == 0
    assert "new.py" in host.path("oracle/LOCK").read_text()
    assert state(other) == before


def test_a_persons_first_day(host: Host) -> None:
    host.checkout("legacy")
    steps = [
        ["init-split", "--into", ".", "--production", "src/", "--api", "parsekit.api", "--function", "normalise"],
        ["add-fixture", "--input", "../in", "--expected", "../out"],
        ["relock"],
        ["freeze-case", "--id", "timeout", "--path", RETIRED, "--owner", "protocols", "--reason", "drops datagrams",
         "--repro-cmd", "true", "--observed-failures", "3", "--observed-runs", "200"],
    ]  # fmt: skip
    (host.root / "in").write_bytes(b" A ")
    (host.root / "out").write_bytes(b"a")
    flaky = host.path(RETIRED).read_bytes()
    for step in steps:
        if step == ["relock"]:
            host.write("oracle/properties/roundtrip.py", PROPERTIES)
            host.git("add", "oracle/properties")
        done = invoke(host, *step)
        assert done.code == 0, done
        base = host.commit(step[0], everything=False)
    assert b"\nall is well: 1 property files, 1 fixtures, 1 frozen cases" in run(host, "check").stdout
    assert host.git("status", "--porcelain") == ""
    for code, name, content in ((0, "src/parsekit/new.py", b"NEW = True\n"), (4, RETIRED, flaky)):
        host.git("checkout", "--quiet", "-B", "patch", base)
        host.write(name, content)
        head, out = host.commit(f"a patch for {code}"), host.root / f"run-{code}"
        gate = [
            sys.executable,
            "-I",
            str(KIT / "__main__.py"),
            "score",
            "--base",
            base,
            "--head",
            head,
            "--out",
            str(out),
        ]
        done_gate = subprocess.run(gate, cwd=host.repo, env=environment(host), capture_output=True, check=False)
        assert done_gate.returncode == code, done_gate.stdout.decode()
        assert b"gate-differs" not in done_gate.stdout
