"""`invoke add-fixture`: an input and the digest of the output it owes, under the input's own digest."""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import checkout
from ..model import Entry
from ..oracle import fixtures, lock
from . import base_answer, staged
from .refusals import blake3_hex, broken, usage
from .writing import MODE, put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..oracle.audit import OracleFile

EXAMPLE = "invoke add-fixture --input in.bin --expected out.bin"
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True, slots=True)
class Ask:
    """What was typed: files relative to the folder the person is in, "" for an option that was not given."""

    input: str
    expected: str = ""
    function: str = ""
    from_base: bool = False
    reason: str = ""


def run(folder: str, ask: Ask, *, dry: bool = False) -> list[str]:
    """Store and stage a fixture and LOCK; answer what to tell the person. The same fixture again changes nothing.

    Raises TaskError: `usage` for bad input; `clash` where the input is there with another expectation, which only a
    person's own edit may move; RefusedError as `relock` does.
    """
    _check(ask)
    root = checkout.root_of(folder)
    given = _bytes_of(folder, "--input", ask.input)
    blake3 = blake3_hex()
    files = staged.oracle(root, blake3)
    rules = staged.policy_of(files)
    place = _place(ask.function, rules.fixtures.function)
    stem = place + hashlib.sha256(given).hexdigest()
    if not ask.from_base:
        owed = hashlib.sha256(_bytes_of(folder, "--expected", ask.expected)).hexdigest()
    elif dry:
        return [f"would ask HEAD's candidate, and store its answer's digest as {stem}.expected"]
    else:
        function = ask.function or rules.fixtures.function
        question = base_answer.Question(given, function, _adapter(root, place, files))
        owed = base_answer.digest(root, rules, question)
    pair = {f"{stem}.in": given, f"{stem}.expected": f"{owed}\n".encode()}
    missing = {path: data for path, data in pair.items() if not _is_there(root, files, path, data)}
    if not missing:
        return [f"{stem}.in is there already, with this expectation; nothing changed"]
    if not dry:
        put(root, {**missing, lock.PATH: staged.lock_of(files, blake3, missing)})
    return _told(ask, [*missing, lock.PATH], "would write and stage" if dry else "written and staged")


def _told(ask: Ask, paths: Sequence[str], done: str) -> list[str]:
    message = f"Add a fixture: HEAD's own answer, because {ask.reason}" if ask.from_base else "Add a fixture"
    lines = [f"{done}: {path}" for path in paths]
    if ask.from_base:
        lines.append("the expectation is what HEAD's code answers now, right or wrong: the reviewer should know")
    return [*lines, f"next: {shlex.join(['git', 'commit', '-m', message])}", "then: invoke check"]


def _check(ask: Ask) -> None:
    if not ask.input:
        raise usage("--input is missing", EXAMPLE)
    if bool(ask.expected) == ask.from_base:
        raise usage("give exactly one of --expected FILE and --from-base", EXAMPLE)
    if ask.from_base and not ask.reason.strip():
        raise usage("--from-base needs --reason: why is base's answer the right one?", EXAMPLE)
    if ask.function and not _FUNCTION.fullmatch(ask.function):
        raise usage(f"--function {ask.function!r} is not a function's name", EXAMPLE)


def _bytes_of(folder: str, option: str, name: str) -> bytes:
    try:
        return Path(folder, name).read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise usage(f"{option} {name}: {why}", EXAMPLE) from error


def _place(asked: str, default: str) -> str:
    """The fixture's folder: fixtures of another function than the policy's have one of their own."""
    function = asked or default
    if not function:
        raise usage("the policy's [fixtures] function is empty, so say --function NAME", EXAMPLE)
    return fixtures.FOLDER if function == default else f"{fixtures.FOLDER}{function}/"


def _adapter(root: str, place: str, files: Sequence[OracleFile]) -> dict[str, bytes]:
    """The Python files beside the fixtures of a function with a folder of its own."""
    mine = [f for f in files if f.path.startswith(place) and f.path.endswith(".py") and place != fixtures.FOLDER]
    content = staged.contents(root, [Entry(f.mode, f.oid, f.path) for f in mine])
    return {path.removeprefix(place): data for path, data in content.items()}


def _is_there(root: str, files: Sequence[OracleFile], path: str, data: bytes) -> bool:
    """True if the index holds this content, False if neither it nor the work tree has such a file.

    Raises TaskError where one holds something else: a digest that moved is a decision, not a repetition.
    """
    digest = hashlib.sha256(data).hexdigest()
    if found := next((f for f in files if f.path == path), None):
        held = found.sha256 if path.endswith(".in") else hashlib.sha256(found.content).hexdigest()
    else:
        target = Path(root, path)
        held = hashlib.sha256(target.read_bytes()).hexdigest() if target.is_file() else digest
    if held == digest:
        return found is not None and found.mode == MODE
    if path.endswith(".in"):
        raise broken("clash", "holds other bytes than its name says", f"git restore {path}, or remove it", path)
    remedy = f"if the answer is meant to change, write {data[:64].decode()} into it, git add it, invoke relock"
    raise broken("clash", "this input has another expectation", remedy, path)
