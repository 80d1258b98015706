"""Each honest patch is accepted, and not because nothing was looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from .attempt import Attempt, Row, ask, faults
from .honest_table import FIXTURE_COUNT, ROWS

if TYPE_CHECKING:
    from tests.host import Host, Result


def evidence_not_run(result: Result) -> list[str]:
    """What is missing from a verdict that claims that all evidence was met, one line each."""
    properties, fixtures = result.verdict.get("properties", []), result.verdict.get("fixtures", [])
    lines = [] if len(properties) >= 2 else [f"only {len(properties)} properties ran"]
    lines += [] if len(fixtures) >= FIXTURE_COUNT else [f"only {len(fixtures)} fixtures ran"]
    lines += [f"{p['id']} is {p['status']}, {p['effective']} effective" for p in properties
              if p["status"] != "held" or p["effective"] < 1]  # fmt: skip
    return lines + [f"{f['id']} is {f['status']}" for f in fixtures if f["status"] != "met"]


def not_what_lands(host: Host, attempt: Attempt, result: Result) -> list[str]:
    """Where the verdict's merge result or methods differ from what git itself does, one line each."""
    said, base, head = (result.verdict, *(host.id(f"{name}^{{commit}}") for name in (attempt.base, attempt.head)))
    lands = host.git("merge-tree", "--write-tree", base, head).split("\n", maxsplit=1)[0]
    straight = host.git("merge-base", base, head) == base and not host.git("rev-list", "--merges", f"{base}..{head}")
    wanted = {"merge", "squash"} | ({"rebase"} if straight else set())
    lines = [] if said.get("merge_result") == lands else [f"judged {said.get('merge_result')}, git lands {lands}"]
    lines += [] if set(said.get("methods", [])) == wanted else [f"methods {said.get('methods')}, not {sorted(wanted)}"]
    return lines + [f"{k} is {said.get(k)}" for k, v in (("base", base), ("head", head)) if said.get(k) != v]


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_the_patch_is_accepted_with_all_evidence_run(row: Row, host: Host) -> None:
    attempt, result = ask(replace(row, command="score"), host)
    wrong = faults(row, attempt, result) or evidence_not_run(result)
    assert not wrong, f"{row.id}, a patch that {row.sentence}: {'; '.join(wrong)}\n{result}"


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_the_fence_alone_lets_the_patch_through(row: Row, host: Host) -> None:
    attempt, result = ask(row, host)
    wrong = faults(row, attempt, result) + not_what_lands(attempt.host or host, attempt, result)
    assert not wrong, f"{row.id}, a patch that {row.sentence}: {'; '.join(wrong)}\n{result}"


def test_no_two_rows_share_a_name() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS)
