"""The Nox sessions of `score`. Importing this does nothing; a noxfile calls `register()`.

Every way in which Nox can end a run early without a verdict ends non-zero here: a step is believed only if its record,
under this run's id, is in the run folder, and the last session turns the recorded verdict into the exit code.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nox
import nox.command
import nox.registry

from . import cli, steps
from .model import Finding, RefusedError
from .rules import Code

if TYPE_CHECKING:
    from collections.abc import Callable

KIT = Path(__file__).resolve().parent
#: What an install step may see of the caller's environment: where packages come from, nothing that says where they go.
_INSTALL_KEEPS = (
    "HOME", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_TRUSTED_HOST", "PIP_CERT",
    "PIP_CLIENT_CERT", "PIP_PROXY", "PIP_CONFIG_FILE", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES", "UV_DEFAULT_INDEX",
    "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NO_INDEX", "UV_OFFLINE", "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS", "UV_INSECURE_HOST", "UV_HTTP_TIMEOUT", "UV_CONFIG_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
    "all_proxy", "no_proxy",
)  # fmt: skip


def register(*, default: bool = True) -> None:
    """Register `score` and its steps; `default` says whether a bare `nox` runs the self-check.

    Raises RefusedError with `usage` where a session of one of these names is there already: Nox would let the later
    one win in silence.
    """
    sessions: dict[str, Callable[[nox.Session], None]] = {
        "score": score, "score-fence": score_fence, "score-candidate": score_candidate,
        "score-fixtures": score_fixtures, "score-properties": score_properties, "score-verdict": score_verdict,
    }  # fmt: skip
    for name, function in sessions.items():
        if name in nox.registry.get():
            raise RefusedError(Finding("usage", f"a session named {name!r} is there already; rename it"))
        if name == "score":
            _pinned(nox.session(name=name, venv_backend="none", default=default)(function))
        else:
            leaf = nox.session(name=name, venv_backend="uv|virtualenv", default=False, reuse_venv=False)
            _pinned(leaf(function))


def _pinned(session: Any) -> None:
    """Keep a registered session on Nox's own interpreter.

    `--force-python` sets the session's `python`; where that interpreter is missing, Nox skips the session before any
    line of ours, and ends with 0. As a property that cannot be set, it makes Nox end with 3, "no sessions selected".
    """
    unchanging = property(lambda _: None, lambda _, wanted: None)  # noqa: ARG005 - a setter that does nothing
    session.__class__ = type("PinnedSession", (type(session),), {"python": unchanging})


def score(session: nox.Session) -> None:
    """Judge a patch: -- --base REV --head REV [--onto REF]; without revisions, check this repository itself."""
    parser = cli.Parser(prog="nox -s score --", allow_abbrev=False, add_help=False,
                        epilog="example: nox -s score -- --base main --head my-branch")  # fmt: skip
    cli.score_options(parser)
    parser.add_argument("-h", "--help", action="store_true")
    try:
        options = parser.parse_args(session.posargs)
        if options.help:
            # Not 0: a job that reads the exit code alone must not take a help page for a pass.
            parser.print_help()
            raise SystemExit(int(Code.USAGE))
        request = cli.request_of(options, os.environ)
        called_from = session.invoked_from
        request["repo"] = os.path.join(called_from, request["repo"])  # noqa: PTH118 - absolute stays absolute
        request["out"] = request["out"] and os.path.join(called_from, request["out"])  # noqa: PTH118
        run = steps.begin(request)
    except RefusedError as error:
        raise SystemExit(cli.refuse(error, session.posargs, session.invoked_from)) from error
    session.notify("score-fence", ["--run", str(run.folder), *(["--quiet"] if options.quiet else [])])


def score_fence(session: nox.Session) -> None:
    """Judge git objects; if the fence holds, queue the evidence, and in any case the verdict."""
    run = _run(session)
    after = ["score-verdict"]
    try:
        _step(session, run, steps.FENCE, "fence.txt")
        after = ["score-candidate", "score-fixtures", "score-properties", "score-verdict"]
    finally:
        for name in after:
            session.notify(name, session.posargs)


def score_candidate(session: nox.Session) -> None:
    """Make the candidate's environment: its own interpreter, its hashed requirements, its own package cache."""
    run = _run(session)
    settings = (run.read(steps.NAMES[steps.FENCE]) or {})["candidate"]
    site: list[str] = []
    try:
        python = _candidate_python(session, run, settings["python"])
        if settings["requirements"]:
            path = run.stage / settings["requirements"]
            _install(session, path, cache=run.folder / "candidate-cache", python=python)
            site = [_purelib(python)]
    except nox.command.CommandFailed:
        _unavailable(run, steps.CANDIDATE, "the candidate's environment could not be made")
        raise
    extra = [part for folder in site for part in ("--site", folder)]
    _step(session, run, steps.CANDIDATE, None, "--python", python, *extra)


def score_fixtures(session: nox.Session) -> None:
    """Run base's fixtures on the candidate."""
    _step(session, _run(session), steps.FIXTURES, "scorer.txt")


def score_properties(session: nox.Session) -> None:
    """Run base's properties on the candidate."""
    _step(session, _run(session), steps.PROPERTIES, "scorer.txt")


def score_verdict(session: nox.Session) -> None:
    """Fold the records into one verdict; Nox's exit code is the verdict's."""
    run = _run(session)
    code = int(Code.INTERNAL)
    try:
        _call(session, run, "score-verdict", *session.posargs[2:])
    except nox.command.CommandFailed as failed:
        code = failed.return_code or code
    verdict = run.verdict()
    code = int(verdict.get("code", Code.INTERNAL)) if verdict.get("code") in {0, code} else int(Code.INTERNAL)
    if code:
        raise SystemExit(code)
    if verdict.get("verdict") not in {"pass", "review"}:
        raise SystemExit(int(Code.INTERNAL))


def _run(session: nox.Session) -> steps.Run:
    """This run, after refusing what would let a step run where something else may have written."""
    if session.posargs[:1] != ["--run"] or len(session.posargs) < 2:
        raise SystemExit(cli.refuse(RefusedError(Finding("usage", f"{session.name} is a step; run nox -s score"))))
    try:
        run = steps.resume(session.posargs[1])
        if session.venv_backend == "none":
            raise RefusedError(Finding("environment", "steps need an environment of their own: drop --no-venv and "
                                       "NOX_DEFAULT_VENV_BACKEND=none"))  # fmt: skip
        # Not public, so its absence counts as reuse: an environment that is used again may hold a planted .pth.
        if getattr(session.virtualenv, "_reused", True):
            raise RefusedError(Finding("environment", "an environment is used again: drop -r, -R and --reuse-venv"))
    except RefusedError as error:
        raise SystemExit(cli.refuse(error)) from error
    return run


def _step(session: nox.Session, run: steps.Run, step: str, requirements: str | None, *arguments: str) -> None:
    """Install what a step needs, run it, and believe it only by its record."""
    if requirements:
        try:
            _install(session, KIT / "requirements" / requirements, cache=_cache(step))
        except nox.command.CommandFailed:
            _unavailable(run, step, f"{requirements} could not be installed")
            raise
    _call(session, run, f"score-{step}", *arguments)
    if run.read(steps.NAMES[step]) is None:
        session.error(f"score-{step} recorded nothing")


def _call(session: nox.Session, run: steps.Run, verb: str, *arguments: str) -> None:
    session.run(
        f"{session.bin}/python", "-I", str(KIT / "__main__.py"), verb, "--run", str(run.folder), *arguments,
        env=_environment(os.environ, ("NO_COLOR",)), include_outer_env=False,
    )  # fmt: skip


def _environment(outer: os._Environ[str], keeps: tuple[str, ...]) -> dict[str, str | None]:
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", **{k: outer[k] for k in keeps if k in outer}}


def _install(session: nox.Session, requirements: Path, *, cache: Path, python: str = "") -> None:
    """Install a locked file with hashes, wheels only, from a package cache that no other trust domain uses."""
    env = {**_environment(os.environ, _INSTALL_KEEPS), "UV_CACHE_DIR": str(cache / "uv"), "UV_LINK_MODE": "copy",
           "PIP_CACHE_DIR": str(cache / "pip"), "UV_NO_CONFIG": None, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}  # fmt: skip
    arguments = ["--require-hashes", "--only-binary", ":all:", "-r", str(requirements)]
    if python and session.venv_backend == "uv":
        arguments = ["--python", python, *arguments]
    session.install(*arguments, env=env, include_outer_env=False)


def _cache(step: str) -> Path:
    """The package cache of a trust domain below the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(home) / "fence-tasks" / ("fence" if step == steps.FENCE else "scorer")


def _candidate_python(session: nox.Session, run: steps.Run, wanted: str) -> str:
    """The candidate's interpreter: the session's, or the one the policy names, which must be the same version.

    Nox has made the environment before the policy is read; another version is asked for by `nox --force-python`.
    """
    python = f"{session.bin}/python"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if wanted and wanted != version:
        _unavailable(run, steps.CANDIDATE, f"the policy wants Python {wanted}, this is {version}: run Nox with it")
        session.error(f"the candidate needs Python {wanted}")
    return python


def _purelib(python: str) -> str:
    folder = next(Path(python).parent.parent.glob("lib/python3*/site-packages"), None)
    return str(folder or "")


def _unavailable(run: steps.Run, step: str, why: str) -> None:
    """Record that a step could not start, so that the verdict says 69 and not merely that nothing was recorded."""
    finding = {"rule": "environment", "message": why, "path": "", "line": 0, "remedy": ""}
    empty = {"properties": [], "fixtures": [], "versions": {}, "repeatable": True, "timings": {}}
    run.record(steps.NAMES[step], {"plan": None, "findings": [finding], **empty})

