"""Each attack, put to the gate in a real repository, gets its code, for the right reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .attack_table import ROWS
from .attempt import Row, ask, faults

if TYPE_CHECKING:
    from tests.host import Host


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_the_patch_gets_its_code_for_the_right_reason(row: Row, host: Host) -> None:
    attempt, result = ask(row, host)
    wrong = faults(row, attempt, result)
    assert not wrong, f"{row.id}, a patch that {row.sentence}: {'; '.join(wrong)}\n{result}"


def test_no_two_rows_share_a_name() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS)
