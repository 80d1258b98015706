"""Each attack's row can fail: a weaker gate answers otherwise, and still lets an honest patch through."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.host import KIT, copy

from .attack_table import ROWS
from .attempt import Row, ask, faults
from .edits import better, patch
from .weakened import WEAKENINGS, Weakening, times, weaken

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host import Host

BY_ID = {row.id: row for row in ROWS}


@pytest.mark.parametrize("weakening", WEAKENINGS, ids=[w.name for w in WEAKENINGS])
def test_the_rows_see_that_the_gate_is_weaker(weakening: Weakening, template: Host, tmp_path: Path) -> None:
    weak = copy(template, tmp_path / "weak")
    weaken(weak, weakening)
    shutil.copytree(weak.path("fence_tasks"), tmp_path / "gate" / "fence_tasks")
    weak.gate = tmp_path / "gate"
    rows = [BY_ID[name] for name in weakening.rows.split()]
    blind = []
    for row in rows:
        attempt, result = ask(row, copy(weak, tmp_path / row.id))
        said = f"{row.id} under a gate where {weakening.sentence}: {result}"
        assert result.code != 70, said
        assert "Traceback" not in result.stderr, said
        wrong = faults(row, attempt, result)
        print("ROW", weakening.name, row.id, row.code, result.code, wrong)
        if not wrong:
            blind.append(row.id)
    assert not blind
    command = "score" if any(row.command == "score" for row in rows) else "fence"
    honest = Row("honest", "is honest", patch(better), command=command)
    attempt, result = ask(honest, copy(weak, tmp_path / "honest"))
    assert not faults(honest, attempt, result), str(result)


@pytest.mark.parametrize("weakening", WEAKENINGS, ids=[w.name for w in WEAKENINGS])
def test_the_texts_that_are_changed_are_there_once(weakening: Weakening) -> None:
    assert [(edit[0], edit[1]) for edit in weakening.edits if times(KIT, edit) != 1] == []


def test_each_row_is_seen_to_fail() -> None:
    named = {name for weakening in WEAKENINGS for name in weakening.rows.split()}
    assert (set(BY_ID) - named, named - set(BY_ID)) == (set(), set())


def test_no_two_weakenings_share_a_name() -> None:
    assert len({weakening.name for weakening in WEAKENINGS}) == len(WEAKENINGS)
