"""What HEAD's own candidate answers to an input, asked as a scoring run asks it: by a scorer of its own process."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import checkout, files, git
from ..model import REGULAR_MODES, Finding
from ..oracle.policy import is_candidate
from ..oracle.supported import unsupported
from ..rules import Code
from .refusals import TaskError, broken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..oracle.policy import Policy

_ASKS = "0" * 64  # an expectation that nothing meets: the scorer then tells the digest that came


@dataclass(frozen=True, slots=True)
class Question:
    """The input, the API function it goes to, and the Python files of an adapter (file name → content), if any."""

    data: bytes
    function: str
    adapter: Mapping[str, bytes]


def digest(root: str, policy: Policy, question: Question) -> str:
    """The SHA-256 of the bytes that HEAD's candidate answers.

    Raises TaskError: 69 where this machine or this version cannot ask, 75 where no bytes come back, or two answers.
    """
    _able(policy)
    with tempfile.TemporaryDirectory(prefix="fence-") as folder:
        place = Path(folder)
        _candidate(root, policy, place)
        store = place / "oracle/fixtures" / question.function
        store.mkdir(parents=True)
        stem = hashlib.sha256(question.data).hexdigest()
        (store / f"{stem}.in").write_bytes(question.data)
        (store / f"{stem}.expected").write_text(f"{_ASKS}\n", "ascii")
        for name, content in question.adapter.items():
            (store / name).write_bytes(content)
        answer = _asked(place, _job(place, policy), 60 + 3 * policy.candidate.budget_seconds)
    found = answer["fixtures"][0]["actual"] if answer["fixtures"] else ""
    if not found:
        said = [line for f in answer["fixtures"] for line in f["diff"]] + [f["message"] for f in answer["findings"]]
        raise broken("no-answer", f"HEAD's candidate gives no bytes for it: {'; '.join(said)}",
                     "give the output that is owed with --expected")  # fmt: skip
    return str(found)


def _able(policy: Policy) -> None:
    """Refuse what a scoring run would refuse, and what needs an environment that only a scoring run makes."""
    missing = [name for name in ("msgspec", "hypothesis") if importlib.util.find_spec(name) is None]
    if missing:
        remedy = f"{sys.executable} -m pip install --require-hashes -r {files.KIT_PATH}requirements/scorer.txt"
        why = f"{', '.join(missing)} not installed"
        raise TaskError(Code.UNAVAILABLE, Finding("package-missing", why, remedy=remedy))
    if found := unsupported(policy):
        raise TaskError(Code.UNAVAILABLE, *found)
    if policy.candidate.requirements:
        why = "--from-base cannot install the candidate's requirements"
        raise TaskError(Code.UNAVAILABLE, Finding("feature-missing", why, remedy="give the output with --expected"))


def _candidate(root: str, policy: Policy, place: Path) -> None:
    """Export HEAD's candidate, as a scoring run does: `candidate.path`, never oracle, gate or also."""
    with git.Store(git.locate(root), place / "git") as store:
        entries = store.listing(store.commit_and_tree(checkout.head(root))[1])
        mine = [e for e in entries if e.mode in REGULAR_MODES and is_candidate(e.path, policy)]
        store.export(mine, place / "candidate")


def _job(place: Path, policy: Policy) -> dict[str, Any]:
    """The scorer's job (score/suite.py, `Job`): HEAD's candidate stands on both sides."""
    launches = {}
    for side in ("head", "base"):
        (place / side).mkdir(mode=0o700)
        launches[side] = {
            "python": sys.executable, "site": [], "api": policy.candidate.api, "scratch": str(place / side),
            "imports": [str(place / "candidate" / path) for path in policy.candidate.imports or ("./",)],
            "memory": policy.candidate.memory, "call_seconds": policy.candidate.call_seconds,
        }  # fmt: skip
    return {
        "oracle": str(place / "oracle"), **launches, "seed": 0, "examples": 1, "min_effective": 0.0,
        "budget_seconds": policy.candidate.budget_seconds, "function": "", "only": "", "pending": [], "retiring": [],
    }  # fmt: skip


def _asked(place: Path, job: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The scorer's answer. A Ctrl-C reaches it too, so that it ends the candidate before it ends itself."""
    (place / "job.json").write_bytes(files.as_json(job))
    command = [sys.executable, "-I", str(files.KIT / "__main__.py"), "scorer", "fixtures", "job.json"]
    with (place / "log").open("wb") as log, (place / "result.json").open("wb") as result:
        scorer = subprocess.Popen(  # noqa: S603 - this very kit
            command, cwd=place, stdin=subprocess.DEVNULL, stdout=result, stderr=log,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(place), "TMPDIR": str(place)},
        )  # fmt: skip
        try:
            scorer.wait(seconds)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
            scorer.send_signal(signal.SIGINT)
            try:
                scorer.wait(10)
            except subprocess.TimeoutExpired:
                scorer.kill()
            if isinstance(error, KeyboardInterrupt):
                raise
    try:
        answer: dict[str, Any] = json.loads((place / "result.json").read_bytes())
    except (OSError, ValueError) as error:
        last = (place / "log").read_text("utf-8", "replace").strip()[-2000:]
        raise broken("no-answer", f"the scorer gave no result: {last}", "give the output with --expected") from error
    return answer
