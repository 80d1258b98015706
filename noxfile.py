"""This repository's sessions: the gate's own `score`, and what its developers run."""

from __future__ import annotations

import sys
from pathlib import Path

import nox

nox.needs_version = ">=2026.7.11"
nox.options.sessions = ["score"]
nox.options.default_venv_backend = "uv|virtualenv"

_ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(_ROOT))  # the nox script does not
try:
    from fence_tasks import nox_sessions
finally:
    sys.path.pop(0)

nox_sessions.register()


def _install(session: nox.Session, name: str) -> None:
    session.install("--require-hashes", "--only-binary", ":all:", "-r", f"requirements/{name}.txt")


@nox.session(default=False)
def tests(session: nox.Session) -> None:
    """Run the test suite; what follows `--` goes to pytest."""
    _install(session, "tests")
    session.run("python", "-m", "pytest", "-q", "-n", "2", *session.posargs)


@nox.session(default=False)
def lint(session: nox.Session) -> None:
    """Run ruff over everything."""
    _install(session, "lint")
    session.run("ruff", "check", ".")


@nox.session(default=False)
def types(session: nox.Session) -> None:
    """Run mypy, strict, noxfile and tests included."""
    _install(session, "lint")
    session.run("mypy")


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Fence a small repository and score one patch per row of the decision table."""
    _install(session, "tests")
    session.run("python", "tests/demo/demo.py", *session.posargs)


@nox.session(default=False, venv_backend="virtualenv")
def realworld(session: nox.Session) -> None:
    """Fence three real libraries and score patches to them; then prove that a swapped expectation is noticed."""
    _install(session, "tests")
    command = ("python", "-m", "tests.realworld.realworld")  # virtualenv brings the pip that downloads the wheels
    session.run(*command, *session.posargs)
    if not session.posargs:
        for swap in ("verdicts", "fixtures"):
            session.run(*command, "--only", "semver", "--patch", "refactor", "--swap", swap, success_codes=[3])


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Write the generated pages again: docs/rules.md and docs/verdicts.md."""
    session.run("python", "tests/pages.py", "--write")


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Resolve every requirements file again, with hashes, for all platforms and Python 3.11 on."""
    session.install("uv")
    for name in ("fence_tasks/requirements/fence", "fence_tasks/requirements/scorer", "fence_tasks/requirements/tasks",
                 "fence_tasks/requirements/nox", "requirements/tests", "requirements/lint"):  # fmt: skip
        session.run(
            "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header", "--no-annotate",
            "--python-version", "3.11", f"{name}.in", "-o", f"{name}.txt", *session.posargs,
        )  # fmt: skip
