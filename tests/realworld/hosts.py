"""Three real libraries as fenced repositories: the wheel's code as `src/`, evidence, and a branch for each patch.

Every step is the command that a maintainer types. Evidence, adapters, fixtures and patches are files of their own in
`libraries/NAME/`, as a person would write them there.
"""

from __future__ import annotations

import importlib
import re
import runpy
import shutil
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.demo.demo import ROOT, commit, git, invoke, run

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Library:
    """A library: `independent` names a module whose answers are owed where a fixture has no `.out` beside it;
    `frozen` is the path of a test that is frozen, with `failed` of `runs` seen."""

    name: str
    independent: str = ""
    frozen: str = ""
    failed: int = 0
    runs: int = 0

    @property
    def folder(self) -> Path:
        """Where its evidence and patches are written down."""
        return HERE / "libraries" / self.name


def download(folder: Path) -> dict[str, Path]:
    """The pinned wheels, by library: pip checks the hashes, and none may hold compiled code."""
    folder.mkdir()
    run(folder, sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary",
        ":all:", "--disable-pip-version-check", "--requirement", str(HERE / "libraries.txt"))  # fmt: skip
    wheels = {path.name.split("-", 1)[0]: path for path in sorted(folder.glob("*.whl"))}
    assert all(path.name.endswith("-none-any.whl") for path in wheels.values()), wheels
    return wheels


def plain(host: Path, wheel: Path, library: Library) -> None:
    """The repository before it is fenced: the wheel's code below `src/`, a changelog and tests."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(host / "src", [n for n in archive.namelist() if ".dist-info/" not in n])
    extra = library.folder / "host"
    for file in sorted(path for path in extra.rglob("*") if path.is_file()):
        target = host / str(file.relative_to(extra)).removesuffix(".txt")  # so that no runner here takes it for a test
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    git(host, "init", "--quiet", "--initial-branch", "main")
    commit(host, f"{library.name}, as its wheel has it")


def fence(host: Path, library: Library, *, swap: bool = False) -> None:
    """Bootstrap, evidence, LOCK and a freeze, each a commit of people's; then `check`. With `swap`, two fixtures get
    each other's expectation."""
    invoke(ROOT, "init-split", "--into", str(host), "--production", "src/", "--also", "tests/", "--also",
           "CHANGELOG.md", "--api", library.name)  # fmt: skip
    git(host, "commit", "--quiet", "--message", "fence")
    pin(host)
    shutil.copytree(library.folder / "properties", host / "oracle/properties", dirs_exist_ok=True, ignore=_CACHES)
    owed = expectations(library)
    if swap:
        first, second, *_ = owed
        owed[first], owed[second] = owed[second], owed[first]
    for given, answer in owed.items():
        function = given.parent.name
        target = host / f"oracle/fixtures/{function}/run.py"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(given.with_name("run.py"), target)
        expected = host.with_name(f"{host.name}-expected")
        expected.write_bytes(answer)
        invoke(host, "add-fixture", "--function", function, "--input", str(given), "--expected", str(expected))
    git(host, "add", "oracle")
    invoke(host, "relock")
    git(host, "commit", "--quiet", "--message", "evidence")
    if library.frozen:
        freeze(host, library)
    invoke(host, "check")


def pin(host: Path) -> None:
    """A seed of our own instead of the one that was drawn, so that every run of the session judges the same cases."""
    policy = host / "oracle/policy.toml"
    policy.write_text(re.sub(r"(?m)^seed = \d+$", "seed = 20261201", policy.read_text("utf-8")), "utf-8")


def freeze(host: Path, library: Library) -> None:
    """A flaky test of the library's leaves the proposer's tree."""
    invoke(host, "freeze-case", "--id", Path(library.frozen).stem, "--path", library.frozen, "--owner", "parsers",
           "--reason", "slow on a busy runner", "--repro-cmd", f"python -m pytest {library.frozen}",
           "--observed-failures", str(library.failed), "--observed-runs", str(library.runs))  # fmt: skip
    git(host, "commit", "--quiet", "--message", "freeze")


def expectations(library: Library) -> dict[Path, bytes]:
    """What each fixture's input is owed: the `.out` beside it, or what the adapter makes of the independent module."""
    owed: dict[Path, bytes] = {}
    for given in sorted((library.folder / "fixtures").rglob("*.in")):
        answer = given.with_suffix(".out")
        if answer.is_file():
            owed[given] = answer.read_bytes()
        else:
            other = importlib.import_module(library.independent)
            owed[given] = runpy.run_path(str(given.with_name("run.py")))["run"](other, given.read_bytes())
    return owed


def propose(host: Path, library: Library, patch: str) -> str:
    """The name of a new branch that holds one patch."""
    git(host, "checkout", "--quiet", "-b", patch, "main")
    git(host, "apply", "--index", str(library.folder / f"patches/{patch}.patch"))
    git(host, "commit", "--quiet", "--message", patch)
    git(host, "checkout", "--quiet", "main")
    return patch


_CACHES = shutil.ignore_patterns("__pycache__")
