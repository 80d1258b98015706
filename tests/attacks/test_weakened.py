"""Each row of the attacks can fail: a weaker gate answers otherwise, and it is still a gate that works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.host import KIT, copy

from .attack_table import ROWS
from .attempt import Attempt, Row, ask, faults
from .edits import better, patch
from .weakened import WEAKENINGS, Weakening, times, weaken

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host import Host, Result

BY_ID = {row.id: row for row in ROWS}
#: Rows that keep their code under any sensible change: they are about the reason that is given for it.
SAME_CODE = {"B24", "B46", "B51", "B51b"}


def not_seen(row: Row, attempt: Attempt, result: Result) -> str:
    """Why a row does not show that the gate is weaker, or ""."""
    if result.code == 70 or "Traceback" in result.stderr:
        return "the gate itself failed"
    if not faults(row, attempt, result):
        return "the row still gets its answer"
    ran = attempt.marker is not None and attempt.marker.exists()
    return "" if ran or result.code != row.code or row.id in SAME_CODE else "only the reason is another"


@pytest.mark.parametrize("weakening", WEAKENINGS, ids=[weakening.name for weakening in WEAKENINGS])
def test_the_rows_see_that_the_gate_is_weaker(weakening: Weakening, template: Host, tmp_path: Path) -> None:
    weak = copy(template, tmp_path / "weak")
    weaken(weak, weakening)
    rows = [BY_ID[name] for name in weakening.rows.split()]
    assert rows
    for row in rows:
        attempt, result = ask(row, copy(weak, tmp_path / row.id))
        why = not_seen(row, attempt, result)
        assert not why, f"{row.id} under a gate that is weaker, {weakening.sentence}: {why}\n{result}"
    # What cannot judge anything would fail every row, and show nothing.
    command = "score" if any(row.command == "score" for row in rows) else "fence"
    honest = Row("honest", "is honest", patch(better), command=command)
    attempt, result = ask(honest, copy(weak, tmp_path / honest.id))
    assert not faults(honest, attempt, result), str(result)


def test_each_text_that_is_changed_stands_in_the_kit_exactly_once() -> None:
    edits = [(weakening.name, edit) for weakening in WEAKENINGS for edit in weakening.edits]
    assert [(name, *edit[:2]) for name, edit in edits if times(KIT, edit) != 1] == []


def test_each_row_has_a_weakening() -> None:
    named = {name for weakening in WEAKENINGS for name in weakening.rows.split()}
    assert (set(BY_ID) - named, named - set(BY_ID)) == (set(), set())


def test_no_two_weakenings_share_a_name() -> None:
    assert len({weakening.name for weakening in WEAKENINGS}) == len(WEAKENINGS)
