"""Fence a small repository from scratch, with the commands a maintainer types, and score one patch per row of the
decision table in `docs/verdicts.md`. Exits 1 if a row gets another code than the table says.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parents[2]
API = '''"""A bounded parser: one length byte, then that many bytes, until the input ends."""


def parse(data: bytes, cap: int) -> dict[str, object]:
    """Split `data` into its chunks; refuse more than `cap` bytes and a chunk that is cut short."""
    refused: dict[str, object] = {"ok": False, "value": [], "written": 0}
    if len(data) > cap:
        return refused
    chunks, at = [], 0
    while at < len(data):
        size = data[at]
        chunk = data[at + 1 : at + 1 + size]
        if len(chunk) < size:
            return refused
        chunks.append(chunk)
        at += 1 + size
    return {"ok": True, "value": chunks, "written": len(data)}


def encode(chunks: list[bytes]) -> bytes:
    """The bytes that `parse` took apart."""
    return b"".join(bytes([len(chunk)]) + chunk for chunk in chunks)


def normalise(data: bytes) -> bytes:
    """One chunk a line, as text in lower case."""
    return b"".join(chunk.lower() + b"\\n" for chunk in parse(data, len(data))["value"])
'''
PROPERTIES = '''"""What must hold for any input of the parser."""

from fence_tasks.properties import given
from fence_tasks.properties import strategies as st

chunks = st.lists(st.binary(max_size=12), max_size=6)


@given(value=chunks, room=st.integers(0, 64))
def prop_roundtrip_under_cap(api, value, room):
    data = api.encode(value)
    answer = api.parse(data, len(data) + room)
    return answer["ok"] is True and answer["value"] == value and answer["written"] == len(data)


@given(value=chunks.filter(bool), short=st.integers(1, 64))
def prop_rejects_oversize(api, value, short):
    data = api.encode(value)
    answer = api.parse(data, max(0, len(data) - short))
    return answer["ok"] is False and answer["written"] == 0
'''
TEST = '''from parsekit.api import encode, parse


def test_what_was_encoded_is_parsed() -> None:
    assert parse(encode([b"one", b""]), 64)["value"] == [b"one", b""]
'''
FLAKY = '''import socket


def test_parse_timeout_udp_1472() -> None:
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(0.0001)
    receiver.sendto(bytes(1472), receiver.getsockname())
    assert len(receiver.recv(2048)) == 1472
'''
HOST = {
    "src/parsekit/__init__.py": '"""Chunks of bytes."""\n',
    "src/parsekit/api.py": API,
    "src/tests/test_parse.py": TEST,
    "src/tests/test_parse_timeout.py": FLAKY,
    "README.md": "# parsekit\n",
}
INPUTS = {b"\x03ONE\x03Two": b"one\ntwo\n", b"\x00\x01X": b"\nx\n"}
RETIRED = "src/tests/test_parse_timeout.py"
FREEZE = ("--id", "parse_timeout_udp_1472", "--path", RETIRED, "--owner", "protocols", "--reason",
          "late datagrams on the default runner", "--repro-cmd", f"python -m pytest {RETIRED}",
          "--observed-failures", "1", "--observed-runs", "72")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Score:
    """What one score gave."""

    code: int
    verdict: dict[str, Any]
    output: str


def environment() -> dict[str, str]:
    """The caller's environment without what would steer git, and with an author for commits."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PYTEST_", "COV_"))}
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "A Maintainer"), ("EMAIL", "maintainer@example.org"))}  # fmt: skip
    return {**kept, **who, "GIT_CONFIG_GLOBAL": os.devnull, "NO_COLOR": "1"}


def run(folder: Path, *command: str, allowed: Sequence[int] = (0,)) -> subprocess.CompletedProcess[str]:
    """One command in a folder. Raises AssertionError with its output where it ends otherwise than `allowed`."""
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode in allowed, f"{shlex.join(command)} ended in {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def git(host: Path, *arguments: str) -> str:
    """Standard output of git in the host."""
    return run(host, "git", *arguments).stdout.strip()


def invoke(folder: Path, *arguments: str, allowed: Sequence[int] = (0,)) -> subprocess.CompletedProcess[str]:
    """One of the maintainers' tasks."""
    return run(folder, sys.executable, "-m", "invoke", *arguments, allowed=allowed)


def commit(host: Path, message: str) -> None:
    """Commit everything."""
    git(host, "add", "--all")
    git(host, "commit", "--quiet", "--message", message)


def plain(folder: Path) -> Path:
    """The repository before it is fenced: a library with its tests, one of them flaky."""
    host = folder / "host"
    for name, content in HOST.items():
        (host / name).parent.mkdir(parents=True, exist_ok=True)
        (host / name).write_text(content, "utf-8")
    git(host, "init", "--quiet", "--initial-branch", "main")
    commit(host, "parsekit")
    return host


def fence(host: Path) -> None:
    """Day 0: bootstrap, evidence, LOCK, and the flake's freeze, each a commit of people's."""
    invoke(ROOT, "init-split", "--into", str(host), "--production", "src/", "--api", "parsekit.api",
           "--function", "normalise")  # fmt: skip
    git(host, "commit", "--quiet", "--message", "fence")
    (host / "oracle/properties/chunks.py").write_text(PROPERTIES, "utf-8")
    for number, (given, owed) in enumerate(INPUTS.items()):
        inbox = host.parent / "inbox"
        inbox.mkdir(exist_ok=True)
        (inbox / f"{number}.in").write_bytes(given)
        (inbox / f"{number}.out").write_bytes(owed)
        invoke(host, "add-fixture", "--input", str(inbox / f"{number}.in"), "--expected", str(inbox / f"{number}.out"))
    git(host, "add", "oracle")
    invoke(host, "relock")
    git(host, "commit", "--quiet", "--message", "evidence")
    invoke(host, "freeze-case", *FREEZE)
    git(host, "commit", "--quiet", "--message", "freeze the flake")
    invoke(host, "check")


def edit(host: Path, path: str, old: str, new: str) -> None:
    """Change one place of a file."""
    text = (host / path).read_text("utf-8")
    assert old in text, f"{path} does not hold {old!r}"
    (host / path).write_text(text.replace(old, new, 1), "utf-8")


def better(host: Path) -> None:
    """An honest change of production code."""
    edit(host, "src/parsekit/api.py", "    chunks, at = [], 0\n", "    chunks: list[bytes] = []\n    at = 0\n")


def stale_lock(host: Path) -> None:
    """A property edited without its LOCK."""
    edit(host, "oracle/properties/chunks.py", "max_size=12", "max_size=13")


def half_fixture(host: Path) -> None:
    """Half of a fixture, properly locked."""
    next((host / "oracle/fixtures").glob("*.expected")).unlink()
    git(host, "add", "--all")
    invoke(host, "relock")


def no_evidence(host: Path) -> None:
    """An oracle without a property and a fixture."""
    for path in [*(host / "oracle/fixtures").glob("*.*"), host / "oracle/properties/chunks.py"]:
        if path.suffix != ".md":
            path.unlink()
    git(host, "add", "--all")
    invoke(host, "relock")


def recreate(host: Path) -> None:
    """The retired path again, with a test that always passes."""
    (host / RETIRED).write_text("def test_nothing() -> None:\n    assert True\n", "utf-8")


#: Row of the decision table → (what people did to base first, what the patch does).
ROWS: dict[str, tuple[Callable[[Path], None] | None, Callable[[Path], None]]] = {
    "honest": (None, better),
    "oracle": (None, lambda host: edit(host, "oracle/properties/chunks.py", "is True", "is not None")),
    "lock": (stale_lock, better),
    "frozen": (None, recreate),
    "fixture": (None, lambda host: edit(host, "src/parsekit/api.py", "chunk.lower()", "chunk.upper()")),
    "property": (None, lambda host: edit(host, "src/parsekit/api.py", "if len(data) > cap:", "if len(data) > cap + 1:")),
    "store": (half_fixture, better),
    "evidence": (no_evidence, better),
}  # fmt: skip


def propose(host: Path, row: str) -> tuple[str, str]:
    """Make a row's branches; answer the names of base and head."""
    people, patch = ROWS[row]
    base, head = "main", f"patch-{row}"
    git(host, "checkout", "--quiet", "main")
    if people:
        base = f"base-{row}"
        git(host, "checkout", "--quiet", "-b", base)
        people(host)
        commit(host, f"people: {row}")
    git(host, "checkout", "--quiet", "-b", head)
    patch(host)
    commit(host, f"patch: {row}")
    git(host, "checkout", "--quiet", base)
    return base, head


def score(host: Path, base: str, head: str, out: Path, *options: str) -> Score:
    """`nox -s score` in the host."""
    command = (sys.executable, "-m", "nox", "-s", "score", "--", "--base", base, "--head", head, "--out", str(out))
    done = run(host, *command, *options, allowed=range(256))
    verdict = json.loads((out / "verdict.json").read_text("utf-8")) if (out / "verdict.json").exists() else {}
    return Score(done.returncode, verdict, done.stdout + done.stderr)


def table() -> dict[str, tuple[str, int]]:
    """The decision table of `docs/verdicts.md`: row → (what, code)."""
    text = (ROOT / "docs/verdicts.md").read_text("utf-8").partition("## The decision table")[2]
    return {row: (what, int(code)) for row, what, code in re.findall(r"^\| (\w+) \| (.+?) \| (\d+) \|", text, re.MULTILINE)}


def main() -> int:
    """Print the table as it came out; 0 if every row got the code that the page says."""
    expected = table()
    if set(expected) != set(ROWS):
        sys.stdout.write(f"the page and the demo have other rows: {sorted(set(expected) ^ set(ROWS))}\n")
        return 1
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="fence-demo-") as scratch:
        host = plain(Path(scratch))
        fence(host)
        for row, (what, code) in expected.items():
            started = time.monotonic()
            got = score(host, *propose(host, row), Path(scratch) / f"run-{row}")
            same = got.code == code == got.verdict.get("code")
            wrong += not same
            first = next((f["rule"] for f in got.verdict.get("findings", []) if f["code"] == got.code), "")
            sys.stdout.write(f"{'ok' if same else 'WRONG':6}{row:10}expected {code:2}  got {got.code:2}  {first:20}"
                             f"{time.monotonic() - started:5.1f} s  {what}\n")  # fmt: skip
            if not same:
                sys.stdout.write(got.output)
            sys.stdout.flush()
    sys.stdout.write(f"{len(expected) - wrong} passed, {wrong} failed\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
