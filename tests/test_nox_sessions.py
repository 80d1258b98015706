"""No way to start Nox turns a patch that must be refused into 0."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo import demo


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fenced repository with a patch that falsifies a property."""
    host = demo.plain(tmp_path_factory.mktemp("traps"))
    demo.fence(host)
    demo.propose(host, "property")
    return host


@pytest.fixture
def host(template: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return Path(shutil.copytree(template, tmp_path / "host", symlinks=True))


def nox(host: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Nox as a job starts it."""
    environment = {k: v for k, v in demo.environment().items() if k != "CI"}
    return subprocess.run([sys.executable, "-m", "nox", *arguments], cwd=host, env={**environment, **env}, text=True,
                          capture_output=True, check=False)  # fmt: skip


def asked(out: Path) -> tuple[str, ...]:
    """The arguments that judge the bad patch."""
    return ("--", "--base", "main", "--head", "patch-property", "--out", str(out))


TRAPS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "no environments": (("--no-venv", "-s", "score"), {}),
    "no environments by default": (("-s", "score"), {"NOX_DEFAULT_VENV_BACKEND": "none"}),
    "no environments by force": (("--force-venv-backend", "none", "-s", "score"), {}),
    "environments used again": (("-R", "-s", "score"), {}),
    "environments always used again": (("--reuse-venv=always", "-s", "score"), {}),
    "install only": (("--install-only", "-s", "score"), {}),
    "no install": (("--no-install", "-s", "score"), {}),
    "no dependencies": (("--no-dependencies", "-s", "score"), {}),
    "in parallel": (("-j", "2", "-s", "score"), {}),
    "in parallel by force": (("-j", "2", "--allow-parallel", "-s", "score"), {}),
    "stop at the first error": (("-x", "-s", "score"), {}),
    "a step alone": (("-s", "score-verdict"), {}),
    "steps by pattern": (("-s", "score-fixtures", "score-properties"), {}),
    "another interpreter": (("--force-python", "3.99", "-s", "score"), {}),
    "another interpreter, none missed": (
        ("--no-error-on-missing-interpreters", "--force-python", "3.99", "-s", "score"), {}),
    "Python steered": (("-s", "score"), {"PYTHONPATH": "src", "PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "ignore"}),
    "pytest steered": (("-s", "score"), {"PYTEST_ADDOPTS": "--collect-only"}),
    "pip steered": (("-s", "score"), {"PIP_TARGET": "elsewhere", "UV_LINK_MODE": "hardlink"}),
    "Hypothesis steered": (("-s", "score"), {"HYPOTHESIS_PROFILE": "none", "CI": "true"}),
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_a_bad_patch_is_never_passed(trap: str, host: Path, tmp_path: Path) -> None:
    options, env = TRAPS[trap]
    out = tmp_path / "run"
    done = nox(host, *options, *asked(out), **env)
    assert done.returncode != 0, done.stdout + done.stderr
    if (out / "verdict.json").exists():
        assert json.loads((out / "verdict.json").read_text())["verdict"] != "pass"


@pytest.mark.parametrize("trap", ["Python steered", "pytest steered", "pip steered", "Hypothesis steered"])
def test_the_environment_does_not_reach_a_step(trap: str, host: Path, tmp_path: Path) -> None:
    options, env = TRAPS[trap]
    done = nox(host, *options, *asked(tmp_path / "run"), **env)
    assert done.returncode == 6, done.stdout + done.stderr


@pytest.mark.parametrize("trap", ["no environments", "no environments by force", "environments always used again"])
def test_an_environment_that_cannot_be_trusted_is_refused(trap: str, host: Path, tmp_path: Path) -> None:
    nox(host, "-s", "score", *asked(tmp_path / "first"))  # so that there is something to use again
    done = nox(host, *TRAPS[trap][0], *asked(tmp_path / "run"))
    assert done.returncode == 69, done.stdout + done.stderr
    assert "environment" in done.stderr


def test_a_help_page_is_no_pass(host: Path) -> None:
    done = nox(host, "-s", "score", "--", "--help")
    assert done.returncode == 64
    assert "example: nox -s score -- --base main" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [("--base", "", "--head", ""), ("--base", "main"), ("--base", "main", "--head", ""), ("--bogus",), ("main",),
     ("--seed", "x"), ("--onto", "main"), ("--self-check", "--base", "main", "--head", "main")],
)  # fmt: skip
def test_bad_arguments_are_64(arguments: tuple[str, ...], host: Path, tmp_path: Path) -> None:
    done = nox(host, "-s", "score", "--", *arguments, "--out", str(tmp_path / "run"))
    assert done.returncode == 64, done.stdout + done.stderr
    assert json.loads((tmp_path / "run/verdict.json").read_text())["code"] == 64


def test_a_self_check_in_ci_must_be_asked_for(host: Path, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "run"))
    assert nox(host, "-s", "score", "--", *out, CI="true").returncode == 64
    assert nox(host, "-s", "score", "--", *out, GITHUB_HEAD_REF="x").returncode == 64
    asked_for = nox(host, "-s", "score", "--", "--self-check", *out, CI="true")
    assert asked_for.returncode == 0, asked_for.stdout + asked_for.stderr
    verdict = json.loads((tmp_path / "run/verdict.json").read_text())
    assert (verdict["subject"], verdict["binding"]) == ("self", False)


def test_a_host_with_its_own_noxfile_uses_the_kits(host: Path, tmp_path: Path) -> None:
    (host / "noxfile.py").write_text("raise SystemExit('the host has its own')\n", "utf-8")
    demo.commit(host, "its own noxfile")
    done = nox(host, "-f", "fence_tasks/noxfile.py", "-s", "score", *asked(tmp_path / "run"))
    assert done.returncode == 6, done.stdout + done.stderr
    assert not (host / "fence_tasks/.nox").exists()


def test_two_sessions_of_one_name_are_refused(host: Path, tmp_path: Path) -> None:
    text = (host / "noxfile.py").read_text("utf-8")
    mine = "\n\n@nox.session(name='score')\ndef mine(session):\n    pass\n\n\n"
    (host / "noxfile.py").write_text(text.replace("# The nox command", mine + "# The nox command", 1), "utf-8")
    done = nox(host, "-s", "score", *asked(tmp_path / "run"))
    assert done.returncode != 0
    assert "is there already" in done.stdout + done.stderr


def test_relative_paths_are_relative_to_where_nox_was_called(host: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nox", "-f", str(host / "noxfile.py"), "-s", "score", "--", "--base", "main", "--head",
         "patch-property", "--repo", "host", "--out", "run"],
        cwd=tmp_path, env={k: v for k, v in os.environ.items() if k != "CI"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 6, done.stdout + done.stderr
    assert (tmp_path / "run/verdict.json").exists()
