"""A fenced host repository, built with plain git: the world that the tests put the gate into.

Nothing here uses the toolkit's own code; `oracle/LOCK` and the digests are computed afresh, so that a fault of the
toolkit cannot agree with itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blake3 import blake3

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KIT = Path(__file__).resolve().parents[1] / "fence_tasks"
EPOCH = 1_700_000_000  # the first commit's time; each later one is a minute younger
FAR = 4_000_000_000  # an expiry in the year 2096
FROZEN_ID = "parse_timeout_udp_1472"
RETIRED = "src/tests/test_parse_timeout.py"
FROZEN = f"oracle/frozen/{FROZEN_ID}/test_parse_timeout.py"

API = '''"""Fields of a record: a parser with a bound, and its inverse."""

from ._text import squeeze


def parse(data: bytes, cap: int) -> dict[str, object]:
    """Split a record of at most `cap` bytes at its commas; a longer one is refused whole."""
    if len(data) > cap:
        return {"ok": False, "value": [], "written": 0}
    return {"ok": True, "value": data.split(b","), "written": len(data)}


def encode(value: list[bytes]) -> bytes:
    """The record that `parse` took apart."""
    return b",".join(value)


def normalise(data: bytes) -> bytes:
    """Lower case, no blanks at the ends of a line."""
    return b"\\n".join(squeeze(line) for line in data.split(b"\\n"))
'''
TEXT = '''"""What one line of a record is made of."""


def squeeze(line: bytes) -> bytes:
    """One line in lower case, without blanks around it."""
    return line.strip(b" \\t\\r").lower()
'''
TEST = '''"""The proposer's own tests: never evidence."""

from parsekit import api


def test_a_record_comes_back() -> None:
    answer = api.parse(b"a,b", 8)
    assert api.encode(answer["value"]) == b"a,b"


def test_a_long_record_is_refused() -> None:
    assert api.parse(b"a,b,c", 2)["ok"] is False
'''
FLAKY = '''"""A flaky case: it waits for a datagram that the default runner drops now and then."""

import socket


def test_parse_timeout_udp_1472() -> None:
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.settimeout(0.05)
    receiver.sendto(bytes(1472), receiver.getsockname())
    assert len(receiver.recv(2048)) == 1472, "the datagram came late"
'''
PROPERTIES = '''"""What must hold for every record, whoever wrote the parser."""

from fence_tasks.properties import given, strategies as st


@given(data=st.binary(max_size=48), room=st.integers(0, 16))
def prop_roundtrip_under_cap(api, data, room):
    answer = api.parse(data, len(data) + room)
    if not answer["ok"]:
        return False
    return api.encode(answer["value"]) == data


@given(data=st.binary(min_size=1, max_size=48), short=st.integers(1, 48))
def prop_rejects_oversize(api, data, short):
    answer = api.parse(data, max(0, len(data) - short))
    return answer["ok"] is False and answer["written"] == 0
'''
#: Input → the output that `normalise` owes, written down by hand.
FIXTURES = {b"": b"", b"  Alpha \nBETA\t\n gamma": b"alpha\nbeta\ngamma"}

NOXFILE = '''"""The gate's sessions."""

from fence_tasks.nox_sessions import *  # noqa: F403
'''
TASKS = '''"""The people's tasks."""

from fence_tasks.invoke_tasks import *  # noqa: F403
'''
LEGACY: dict[str, str | bytes] = {
    ".github/workflows/score.yml": "name: score\non: [pull_request]\n",
    ".gitignore": "__pycache__/\n.nox/\n",
    "CHANGELOG.md": "# Changes\n\n## 0.1\n\n- first release\n",
    "README.md": "# parsekit\n\nRecords with commas.\n",
    "pyproject.toml": '[project]\nname = "parsekit"\nversion = "0.1"\n',
    "src/bin/parsekit": '#!/bin/sh\nexec python3 -m parsekit "$@"\n',
    "src/parsekit/__init__.py": '"""Records with commas."""\n',
    "src/parsekit/_text.py": TEXT,
    "src/parsekit/api.py": API,
    "src/parsekit/legacy.py": '"""Nobody calls this any more."""\n\nOLD = True\n',
    "src/tests/test_parse.py": TEST,
    RETIRED: FLAKY,
}


@dataclass(frozen=True, slots=True)
class Result:
    """What one run of the gate answered; `rules` are those of level error, `notes` those of level note."""

    code: int
    verdict: dict[str, Any]
    stdout: str
    stderr: str
    rules: frozenset[str] = frozenset()
    notes: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """The answer as one reads it in a failed assertion."""
        found = [f"{f['rule']} {f['path']}: {f['message']}" for f in self.verdict.get("findings", [])]
        return "\n".join([f"exit {self.code}", *found, self.stdout[-2000:], self.stderr[-4000:]])


@dataclass(slots=True)
class Host:
    """A host repository in `root/repo`, and beside it `root/home` and one folder a run.

    `gate` is a checkout of the first fenced commit that no test writes to; `tick` counts commits, so that
    their dates, and with them all ids, are the same in every run.
    """

    root: Path
    gate: Path
    tick: int = 0
    runs: int = 0
    repo: Path = field(init=False)

    def __post_init__(self) -> None:
        """Find the repository beside the runs."""
        self.repo = self.root / "repo"

    def git(self, *args: str | Path, stdin: bytes = b"", **env: str) -> str:
        """Standard output of git in the repository, without the last newline; fails if git does."""
        return self.git_bytes(*args, stdin=stdin, **env).decode("utf-8", "surrogateescape").removesuffix("\n")

    def git_bytes(self, *args: str | Path, stdin: bytes = b"", **env: str) -> bytes:
        """Standard output of git as it is; odd names and folders of other users are let through."""
        odd = ("-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "-c", "safe.directory=*")
        done = subprocess.run(["git", *odd, *args], cwd=self.repo, input=stdin, capture_output=True, check=False,
                              env={**self._env(), **env})  # fmt: skip
        assert done.returncode == 0, f"git {args}: {done.stderr.decode('utf-8', 'replace')}"
        return done.stdout

    def _env(self) -> dict[str, str]:
        date = f"{EPOCH + 60 * self.tick} +0000"
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "A Person"), ("EMAIL", "person@example.org"), ("DATE", date))}  # fmt: skip
        return {**who, **plain(self.root), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def path(self, name: str) -> Path:
        """Where a path of the repository lies in its work tree."""
        return self.repo / name

    def write(self, name: str, content: str | bytes, *, executable: bool = False) -> None:
        """Write a file of the work tree, with its folders."""
        target = self.path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        if executable:
            target.chmod(0o755)

    def replace(self, name: str, old: str, new: str) -> None:
        """Change one place of a file; fails if the place is not there."""
        text = self.path(name).read_bytes().decode()
        assert old in text, f"{name} does not hold {old!r}"
        self.write(name, text.replace(old, new, 1))

    def link(self, name: str, target: str) -> None:
        """Put a symbolic link into the work tree, in place of what is there."""
        self.remove(name)
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).symlink_to(target)

    def remove(self, name: str) -> None:
        """Remove a file, link or folder of the work tree, if it is there."""
        target = self.path(name)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    def commit(self, message: str, *, everything: bool = True) -> str:
        """Commit the work tree (or only the index) and answer the commit's id."""
        self.tick += 1
        if everything:
            self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", "--message", message)
        return self.id()

    def id(self, revision: str = "HEAD") -> str:
        """The full object id of a revision."""
        return self.git("rev-parse", "--verify", revision)

    def branch(self, name: str, at: str = "main") -> None:
        """Make a branch and check it out."""
        self.git("checkout", "--quiet", "-b", name, at)

    def checkout(self, name: str) -> None:
        """Check a branch or commit out."""
        self.git("checkout", "--quiet", name)

    def merge(self, *args: str) -> str:
        """Merge into the branch that is checked out, with a merge commit; answer its id."""
        self.tick += 1
        self.git("merge", "--quiet", "--no-ff", "--no-edit", *args)
        return self.id()

    def blob(self, content: str | bytes) -> str:
        """Store a blob and answer its id."""
        return self.git("hash-object", "-w", "--stdin", stdin=content.encode() if isinstance(content, str) else content)

    def raw_tree(self, entries: Iterable[tuple[str, bytes, str]]) -> str:
        """Store a tree of `(octal mode, name, id)` exactly as given, however malformed; answer its id."""
        body = b"".join(b"%s %s\0" % (mode.encode(), name) + bytes.fromhex(oid) for mode, name, oid in entries)
        return self.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=body)

    def tree_entries(self, treeish: str) -> list[tuple[str, bytes, str]]:
        """The entries of one tree as `raw_tree` takes them."""
        lines = [line for line in self.git_bytes("ls-tree", "-z", treeish).split(b"\0") if line]
        split = [(head.decode().split(), name) for head, _, name in (line.partition(b"\t") for line in lines)]
        return [(mode.lstrip("0"), name, oid) for (mode, _, oid), name in split]

    def commit_tree(self, tree: str, *parents: str) -> str:
        """Commit a tree that no index could hold; answer the commit's id."""
        self.tick += 1
        return self.git("commit-tree", tree, *(a for p in parents for a in ("-p", p)), "-m", "an odd tree")

    def lock(self) -> None:
        """Write `oracle/LOCK` from the work tree: every file but itself, in byte order of the path."""
        top = self.path("oracle")
        files = {p.relative_to(top).as_posix().encode(): p for p in top.rglob("*") if p.is_file() or p.is_symlink()}
        lines = [blake3(files[n].read_bytes()).hexdigest().encode() + b"  " + n for n in sorted(files)
                 if n != b"LOCK" and b"__pycache__" not in n]  # fmt: skip
        self.write("oracle/LOCK", b"".join(line + b"\n" for line in lines))

    def people(self, message: str, files: Mapping[str, str | bytes] | None = None) -> str:
        """What a person does on the branch that is checked out: write files, lock the oracle, commit."""
        for name, content in (files or {}).items():
            self.write(name, content)
        self.lock()
        return self.commit(message)

    def fixture(self, given: bytes, owed: bytes) -> None:
        """Store a fixture of `normalise` in the work tree, by digests."""
        stem = f"oracle/fixtures/{hashlib.sha256(given).hexdigest()}"
        self.write(f"{stem}.in", given)
        self.write(f"{stem}.expected", hashlib.sha256(owed).hexdigest() + "\n")

    def freeze(self, case: str, path: str, *names: str, expires: int = FAR) -> None:
        """Move a flaky test into the oracle, as its owner does: move, record; the caller locks and commits."""
        content = self.path(path).read_bytes()
        frozen = f"oracle/frozen/{case}/{path.rsplit('/', 1)[-1]}"
        self.path(frozen).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).rename(self.path(frozen))
        manifest = self.path("oracle/frozen/manifest.json")
        cases = json.loads(manifest.read_text()) if manifest.exists() else {"cases": []}
        cases["cases"].append({
            "content_sha256": hashlib.sha256(content).hexdigest(), "expires_unix": expires, "frozen_path": frozen,
            "id": case, "observed_failures": 3, "observed_runs": 200, "owner": "protocols",
            "reason": "fails in 3 of 200 runs on the default runner", "repro_cmd": f"python -m pytest {path}",
            "retired_names": list(names), "retired_src_path": path,
        })  # fmt: skip
        self.write("oracle/frozen/manifest.json", json.dumps(cases, indent=2, ensure_ascii=False) + "\n")

    def clone(self, name: str, *args: str) -> Host:
        """A clone of the repository, with its remote branches, as a host of its own."""
        other = replace(self, root=self.root / name)
        other.root.mkdir()
        self.git("clone", "--quiet", *args, self.repo.as_uri(), other.repo)
        return other

    def fence(
        self, base: str, head: str, *opts: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Result:
        """Ask the data-only gate."""
        return self._run(["fence", base, head], opts, env or {}, cwd)

    def score(
        self, base: str, head: str, *opts: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Result:
        """Ask the gate and, where it holds, all the evidence."""
        return self._run(["score", "--base", base, "--head", head], opts, env or {}, cwd)

    def _run(self, verb: list[str], opts: Sequence[str], env: Mapping[str, str], cwd: Path | None) -> Result:
        self.runs += 1
        run = self.root / f"run-{self.runs}"
        gate = str(self.gate / "fence_tasks" / "__main__.py")
        done = subprocess.run(
            [sys.executable, "-I", gate, *verb, "--repo", str(self.repo), "--out", str(run), *opts],
            cwd=cwd or self.repo, env={**plain(self.root), **env}, capture_output=True, check=False, timeout=300,
        )  # fmt: skip
        out, err = (raw.decode("utf-8", "replace") for raw in (done.stdout, done.stderr))
        file = run / "verdict.json"
        verdict = json.loads(file.read_bytes()) if file.exists() else {}
        named = {level: frozenset(f["rule"] for f in verdict.get("findings", []) if f["level"] == level)
                 for level in ("error", "note")}  # fmt: skip
        return Result(done.returncode, verdict, out, err, named["error"], named["note"])


def plain(root: Path) -> dict[str, str]:
    """The environment of a bare CI job: a search path, a home and a language, nothing of the caller's."""
    home = root / "home"
    home.mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}


def policy(
    *, root: str = "src/", also: Sequence[str] = (), imports: str = "src/", api: str = "parsekit.api",
    history: str = "report",
) -> str:  # fmt: skip
    """The text of `oracle/policy.toml`; `root` is both what a proposer writes and what the candidate is made of."""
    return f"""format = 1
[production]
roots = ["{root}"]
also = {json.dumps(list(also))}
[candidate]
path = ["{root}"]
imports = ["{imports}"]
api = "{api}"
isolation = "any"
[fixtures]
function = "normalise"
[properties]
seed = 20261201
examples = 50
[skips]
unconditional = "report"
[history]
touched = "{history}"
"""


def build(root: Path, *opts: str) -> Host:
    """A fresh host (`opts` are for `git init`): a first commit without the fence, a second that adopts it and freezes one flaky case.

    The branch `legacy` stays at the first, `main` is at the second, and `root/gate` is a checkout of it.
    """
    host = Host(root, root / "gate")
    host.repo.mkdir()
    host.git("init", "--quiet", "--template=", "--initial-branch=main", *opts)
    for name, content in LEGACY.items():
        host.write(name, content, executable=name.startswith("src/bin/"))
    host.commit("parsekit 0.1")
    host.git("branch", "legacy")
    shutil.copytree(KIT, host.path("fence_tasks"), ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    for given, owed in FIXTURES.items():
        host.fixture(given, owed)
    host.freeze(FROZEN_ID, RETIRED, FROZEN_ID.join(("test_", "")))
    host.people("adopt the fence", {
        "noxfile.py": NOXFILE, "tasks.py": TASKS, "oracle/policy.toml": policy(),
        "oracle/properties/roundtrip.py": PROPERTIES,
    })  # fmt: skip
    host.git("gc", "--quiet")
    host.git("clone", "--quiet", host.repo.as_uri(), host.gate)
    return host


def copy(template: Host, root: Path) -> Host:
    """A host of one's own: a copy of the repository, with the gate's checkout shared."""
    host = replace(template, root=root)
    shutil.copytree(template.repo, host.repo, symlinks=True)
    return host


def inconsistent(result: Result) -> str:
    """Why a run's answer cannot be relied on, or "": the file, the exit code and the word must say the same."""
    said = result.verdict
    if not said:
        return "there is no verdict.json"
    if said["code"] != result.code:
        return f"verdict.json says {said['code']}, the process ended with {result.code}"
    if (said["verdict"] in {"pass", "review"}) != (result.code == 0):
        return f"the word {said['verdict']!r} goes with code {result.code}"
    codes = {f["code"] for f in said["findings"] if f["level"] == "error"}
    if result.code not in (codes or {0}):
        return f"the code {result.code} is none of the findings' {sorted(codes)}"
    return "the gate printed a traceback" if "Traceback" in result.stderr else ""
