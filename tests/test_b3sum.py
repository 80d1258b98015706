"""`oracle/LOCK` is what Debian's `b3sum --check` reads: anybody can verify an oracle by hand, without the toolkit."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fence_tasks.maintain import add_fixture, init_split, relock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host import Host

PROPERTY = "oracle/properties/round trip é.py"


def b3sum(folder: Path) -> subprocess.CompletedProcess[str]:
    """`b3sum --check LOCK` inside an oracle."""
    program = shutil.which("b3sum")
    if not program:
        pytest.fail("b3sum is not installed: apt-get install b3sum")
    return subprocess.run([program, "--check", "LOCK"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def oracle(host: Host) -> Path:
    """The oracle of a host that was fenced by the tasks: with a property, a fixture, and README files."""
    host.checkout("legacy")
    init_split.run(str(host.root), init_split.Ask("repo", ("src/",), (), "parsekit.api", "normalise"))
    host.commit("adopt")
    (host.root / "in").write_bytes(b" A\x00\r\n")
    (host.root / "out").write_bytes(b"a\x00\n")
    add_fixture.run(str(host.repo), add_fixture.Ask(str(host.root / "in"), str(host.root / "out")))
    host.write(PROPERTY, "def prop_x(api):\n    return True\n")
    host.git("add", "oracle")
    relock.run(str(host.repo))
    host.commit("evidence")
    return host.path("oracle")


def test_b3sum_verifies_an_oracle_and_names_every_file(oracle: Path) -> None:
    done = b3sum(oracle)
    assert done.returncode == 0, done
    files = {p.relative_to(oracle).as_posix() for p in oracle.rglob("*") if p.is_file()} - {"LOCK"}
    assert done.stdout.splitlines() == [f"{path}: OK" for path in sorted(files, key=str.encode)]
    assert len(files) >= 8


@pytest.mark.parametrize("path", ["policy.toml", "frozen/manifest.json", PROPERTY.removeprefix("oracle/")])
def test_b3sum_names_the_file_that_was_edited(oracle: Path, path: str) -> None:
    with (oracle / path).open("ab") as file:
        file.write(b"\n")
    done = b3sum(oracle)
    assert done.returncode != 0
    assert [line for line in done.stdout.splitlines() if not line.endswith(": OK")] == [f"{path}: FAILED"]


def test_b3sum_misses_a_file_that_was_taken_away(oracle: Path) -> None:
    fixture = next((oracle / "fixtures").glob("*.in"))
    fixture.unlink()
    done = b3sum(oracle)
    assert done.returncode != 0
    assert f"fixtures/{fixture.name}: FAILED" in done.stdout


def test_b3sum_reads_a_lock_as_a_clone_has_it(oracle: Path, host: Host) -> None:
    other = host.clone("other", "--config", "core.autocrlf=true", "--branch", "legacy")
    assert b3sum(other.path("oracle")).returncode == 0
