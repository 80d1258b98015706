"""This repository's own oracle: it finds bugs that are planted in the kit, and lets honest work on the kit through."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.host import Host, Result, inconsistent

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("fence_tasks", "oracle", ".ci")
FILES = ("noxfile.py", "tasks.py", "pyproject.toml", "CHANGELOG.md")
#: What is planted → the file below fence_tasks/, what stands there, and what the patch makes of it.
BUGS = {
    "the audit takes programs": ("oracle/audit.py", 'if file.mode != "100644":', 'if file.mode[:3] != "100":'),
    "LOCK need not name a LOCK in a subfolder": (
        "oracle/lock.py", "sorted({*locked, *actual}, key=bytes_of)",
        'sorted((p for p in {*locked, *actual} if not p.endswith("/LOCK")), key=bytes_of)',
    ),
    "LOCK is sorted by code points": (
        "oracle/lock.py", "sorted((bytes_of(path), digest) for path, digest in digests.items())",
        "[(bytes_of(path), digest) for path, digest in sorted(digests.items())]",
    ),
    "half of a fixture is enough": ("oracle/fixtures.py", "if len(found) == 1:", 'if found == {"in"}:'),
    "case is not folded fully": ("oracle/names.py", ".casefold()", ".lower()"),
    "short names are names of their own": ("oracle/names.py", "if not _SHORT.fullmatch(folded):", "if folded:"),
    "a manifest may hold an id twice": ("oracle/freezes.py", "values.count(v) > 1", "values.count(v) > 2"),
    "a policy may hold any key": ("oracle/policy.py", 'self.fault(name, key, "unknown key")', "continue"),
    "also may overlap the gate": ("oracle/policy.py", 'for key in ("roots", "also"):', 'for key in ("roots",):'),
    "a fixture hides behind a property": (
        "rules.py", "(64, 65, 70, 2, 3, 4, 7, 75, 69, 5, 1, 6, 8)", "(64, 65, 70, 2, 3, 4, 7, 75, 69, 5, 6, 1, 8)",
    ),
    "marks of direction reach the terminal": (
        "report/text.py", 'unicodedata.category(char)[0] in "LNPSM"',
        'unicodedata.category(char)[0] in "LNPSM" or unicodedata.category(char) == "Cf"',
    ),
    "a message is printed as it is": ("report/text.py", "escape(f['message'])", "f['message']"),
    "a deleted file is no change": ("trees.py", "changes.append(_change(entry.path, entry, None))", "continue"),
}  # fmt: skip
#: What a proposer may not touch here → the rule.
FENCED = {
    "oracle/properties/lock.py": "oracle-touched",
    "oracle/LOCK": "oracle-touched",
    "noxfile.py": "gate-touched",
    ".ci/run": "gate-touched",
    "pyproject.toml": "people-touched",
    "conftest.py": "reserved-name",
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """This very tree as the branch `main` of a repository, and a work tree of it as the gate."""
    root = tmp_path_factory.mktemp("own")
    host = Host(root, root / "gate")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, host.path(name), ignore=shutil.ignore_patterns("__pycache__", ".nox"))
    for name in FILES:
        shutil.copy(ROOT / name, host.path(name))
    host.git("init", "--quiet", "--template=", "--initial-branch=main")
    host.commit("base")
    host.git("worktree", "add", "--quiet", "--detach", host.gate, "main")
    return host


def scored(own: Host, *edits: tuple[str, str, str]) -> Result:
    """The verdict of base's gate on a patch of `edits`: path, what stands there (all of it, if empty), what shall."""
    own.git("checkout", "--quiet", "--force", "-B", "patch", "main")
    own.git("clean", "--quiet", "--force", "-d")
    for path, old, new in edits:
        if old:
            own.replace(path, old, new)
        else:
            own.write(path, new)
    own.commit("patch")
    return own.score("main", "patch")


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(own: Host, bug: str) -> None:
    path, old, new = BUGS[bug]
    result = scored(own, (f"fence_tasks/{path}", old, new))
    assert inconsistent(result) == "", result
    assert result.code in {1, 6}, result
    assert not result.rules & {"base-misses", "candidate-import", "candidate-died", "candidate-hung"}, result


def test_an_honest_refactoring_passes(own: Host) -> None:
    text, lock = "fence_tasks/report/text.py", "fence_tasks/oracle/lock.py"
    result = scored(
        own,
        (text, "def _plain(char: str)", "def _is_plain(char: str)"),
        (text, "if _plain(c)", "if _is_plain(c)"),
        (lock, "    rows = sorted(", "    ordered = sorted("),
        (lock, "for path, digest in rows)", "for path, digest in ordered)"),
        ("fence_tasks/oracle/colours.py", "", '"""A new module."""\n\nRED = "31"\n'),
        ("tests/test_colours.py", "", "def test_red() -> None:\n    assert True\n"),
        ("CHANGELOG.md", "", "# Changes\n"),
    )
    assert inconsistent(result) == "", result
    assert result.code == 0, result
    assert not result.rules, result
    assert all(found["effective"] == found["examples"] > 0 for found in result.verdict["properties"]), result
    assert len(result.verdict["properties"]) >= 8
    assert len(result.verdict["fixtures"]) >= 20


@pytest.mark.parametrize("path", FENCED)
def test_a_proposer_cannot_touch_what_judges(own: Host, path: str) -> None:
    result = scored(own, (path, "", "# mine\n"), ("fence_tasks/report/text.py", "import json\n", "import json\n\n"))
    assert inconsistent(result) == "", result
    assert result.code == 2, result
    assert result.rules == {FENCED[path]}, result
