"""The whole job with the commands that people type: fence a repository, then score patches with Nox."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.demo import demo


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository fenced by `init-split`, `add-fixture`, `relock`, `freeze-case` and `check`."""
    host = demo.plain(tmp_path_factory.mktemp("fenced"))
    demo.fence(host)
    return host


@pytest.fixture
def host(template: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return Path(shutil.copytree(template, tmp_path / "host", symlinks=True))


@pytest.mark.parametrize("row", demo.ROWS)
def test_a_patch_gets_the_code_of_its_row(row: str, host: Path, tmp_path: Path) -> None:
    got = demo.score(host, *demo.propose(host, row), tmp_path / "run")
    expected = demo.table()[row][1]
    assert (got.code, got.verdict["code"]) == (expected, expected), got.output


def test_the_page_and_the_demo_have_the_same_rows() -> None:
    assert set(demo.table()) == set(demo.ROWS)


def test_a_refusal_says_what_happened_who_acts_and_what_to_type(host: Path, tmp_path: Path) -> None:
    base, head = demo.propose(host, "oracle")
    culprit = demo.git(host, "rev-parse", head)[:12]
    lines = demo.score(host, base, head, tmp_path / "run").output.splitlines()
    at = lines.index("FAIL 2  oracle-touched  the proposer must act; running it again will not help")
    assert lines[at + 1].startswith(f"base {demo.git(host, 'rev-parse', base)[:12]} (main)  head {culprit} (patch-oracle)")
    assert lines[at + 2] == f"oracle/properties/chunks.py: changed by {culprit}  [oracle-touched, 2]"
    undo = f"  -> git checkout {lines[at + 1][5:17]} -- oracle/properties/chunks.py && git commit --amend --no-edit, git push"
    assert lines[at + 3].startswith(undo)
    assert lines[at + 4].startswith("Nothing was executed. Why: docs/rules.md#oracle-touched")


def test_the_same_question_gets_the_same_verdict_byte_for_byte(host: Path, tmp_path: Path) -> None:
    base, head = demo.propose(host, "property")
    for run in ("one", "two"):
        assert demo.score(host, base, head, tmp_path / run).code == 6
    first, second = ((tmp_path / run / "verdict.json").read_bytes() for run in ("one", "two"))
    assert first == second


def test_a_falsified_property_shows_its_smallest_counterexample(host: Path, tmp_path: Path) -> None:
    got = demo.score(host, *demo.propose(host, "property"), tmp_path / "run")
    missed = next(p for p in got.verdict["properties"] if p["status"] == "missed")
    assert missed["id"] == "properties/chunks.py::prop_rejects_oversize"
    assert "value=[b'']" in missed["counterexample"].replace('"', "'"), missed["counterexample"]
    assert "short=1" in missed["counterexample"]


def test_the_freeze_is_recorded_and_locked(host: Path) -> None:
    case = json.loads((host / "oracle/frozen/manifest.json").read_text())["cases"][0]
    assert (case["id"], case["owner"], case["observed_failures"]) == ("parse_timeout_udp_1472", "protocols", 1)
    assert not (host / demo.RETIRED).exists()
    assert case["frozen_path"].removeprefix("oracle/") in (host / "oracle/LOCK").read_text()


def test_a_killed_run_leaves_no_pass_of_yesterday(host: Path, tmp_path: Path) -> None:
    base, head = demo.propose(host, "honest")
    out = tmp_path / "run"
    assert demo.score(host, base, head, out).code == 0
    command = [sys.executable, "-m", "nox", "-s", "score", "--", "--base", base, "--head", head, "--out", str(out)]
    started = subprocess.Popen(command, cwd=host, env=demo.environment(), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
    before = json.loads((out / "run.json").read_text())["run"]
    deadline = time.monotonic() + 30
    while json.loads((out / "run.json").read_text())["run"] == before and time.monotonic() < deadline:
        time.sleep(0.01)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert json.loads((out / "verdict.json").read_text())["verdict"] == "none"
