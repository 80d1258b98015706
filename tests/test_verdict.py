"""`verdict.json` as a value: its keys, its word, and that nothing in it depends on when or where it was made."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fence_tasks.files import as_json
from fence_tasks.model import ABSENT, Change, Evidence, Finding, FixtureResult, Plan, PropertyResult
from fence_tasks.report import verdict
from fence_tasks.rules import RULES, Code

BASE, HEAD, TREE, RESULT = "b" * 40, "d" * 40, "1" * 40, "2" * 40
PLAN = Plan(BASE, HEAD, BASE, (BASE,), TREE, RESULT, ("merge", "squash", "rebase"), "patch", {"base": "trunk"})
HELD = PropertyResult("properties/rt.py::prop_rt", 50, 50, 0, 100, "c" * 64, {"long": 0.5})
MISSED = replace(HELD, id="properties/rt.py::prop_size", counterexample="data = b''", status="missed")
MET = FixtureResult("fixtures/f/" + "0" * 64, "f", "e" * 64, "e" * 64)
FACTS = verdict.Facts({"version": "0.1.0", "digest": "9" * 64}, "8" * 64, "7" * 64, 20261201, {"python": "3.11.7"},
                      {"level": "any"}, binding=True, steps={"fence": 0})  # fmt: skip
#: The design, section 5, and the account of section 10.
KEYS = {
    "account",
    "format", "verdict", "code", "subject", "binding", "repeatable", "base", "onto", "head", "merge_bases", "merge_result",
    "methods", "gate", "policy", "lock", "seed", "holdout", "versions", "isolation", "steps", "changes", "findings",
    "properties", "fixtures", "skips", "fixed", "regressed", "pre_existing", "needs",
}  # fmt: skip


def built(*findings: Finding, plan: Plan | None = PLAN, evidence: tuple[Evidence, ...] = ()) -> dict[str, Any]:
    """A verdict with these findings."""
    return verdict.build(plan, [], findings, evidence, FACTS)


def of(*rules: str) -> list[Finding]:
    """Findings of these rules."""
    return [Finding(rule, "it is so", f"path/{n}") for n, rule in enumerate(rules)]


def test_a_verdict_has_exactly_the_keys_of_the_design() -> None:
    assert set(built()) == KEYS
    assert set(built(plan=None)) == KEYS
    assert set(built(*of("usage"), evidence=(Evidence(),))) == KEYS


def test_a_verdict_names_everything_that_was_judged_by_id() -> None:
    said = built()
    assert (said["base"], said["head"], said["onto"], said["merge_result"]) == (BASE, HEAD, BASE, RESULT)
    assert (said["merge_bases"], said["methods"]) == ([BASE], ["merge", "squash", "rebase"])
    assert (said["policy"], said["lock"], said["seed"]) == ("8" * 64, "7" * 64, 20261201)
    assert said["gate"] == {"version": "0.1.0", "digest": "9" * 64}
    assert said["binding"] is True


def test_what_was_typed_and_where_it_ran_is_not_in_it() -> None:
    text = as_json(built(*of("oracle-touched"))).decode()
    assert "trunk" not in text
    assert not re.search(r'"(run|started|ended|machine|folder|timings|time)"', text)


@pytest.mark.parametrize(
    ("rules", "subject", "code", "word"),
    [([], "patch", 0, "pass"), ([], "review", 0, "review"), ([], "self", 0, "pass"), (["history-note"], "patch", 0, "pass"),
     (["oracle-touched"], "patch", 2, "fail"), (["merge-conflict", "gate-touched"], "patch", 2, "fail"),
     (["merge-conflict"], "patch", 75, "none"), (["lock-mismatch"], "patch", 3, "none"),
     (["lock-mismatch"], "review", 3, "fail"), (["base-misses", "property-falsified"], "patch", 6, "fail"),
     (["gate-failed", "oracle-touched"], "patch", 70, "none")],
)  # fmt: skip
def test_the_word_follows_from_the_code(rules: list[str], subject: str, code: int, word: str) -> None:
    said = built(*of(*rules), plan=replace(PLAN, subject=subject))
    assert (said["code"], said["verdict"]) == (code, word)


def test_findings_of_the_evidence_count_as_much_as_the_fences() -> None:
    said = built(*of("history-note"), evidence=(Evidence(findings=tuple(of("fixture-mismatch"))), Evidence()))
    assert (said["code"], [f["rule"] for f in said["findings"]]) == (1, ["history-note", "fixture-mismatch"])


def test_without_a_plan_nothing_is_invented() -> None:
    said = built(*of("revision-unknown"), plan=None)
    assert (said["base"], said["head"], said["merge_result"], said["methods"]) == ("", "", "", [])
    assert (said["verdict"], said["code"]) == ("none", 64)


def test_a_finding_says_who_must_act_and_what_to_do() -> None:
    row = built(Finding("outside-roots", "not under src/", "a", 3))["findings"][0]
    assert row == {
        "rule": "outside-roots", "code": 2, "level": "error", "path": "a", "line": 3, "message": "not under src/",
        "remedy": RULES["outside-roots"].remedy, "who": "the proposer",
    }  # fmt: skip
    assert built(Finding("outside-roots", "x", remedy="do this"))["findings"][0]["remedy"] == "do this"


def test_results_of_several_steps_stand_together_and_regressions_are_listed() -> None:
    fixed = replace(MET, id="fixtures/" + "1" * 64, status="fixed")
    said = built(evidence=(Evidence((HELD, MISSED), (), (), {"hypothesis": "6"}), Evidence((), (MET, fixed))))
    assert [p["id"] for p in said["properties"]] == [HELD.id, MISSED.id]
    assert (said["regressed"], said["fixed"]) == ([MISSED.id], [fixed.id])
    assert said["versions"] == {"python": "3.11.7", "hypothesis": "6"}


def test_what_base_misses_too_is_listed_as_pre_existing() -> None:
    said = built(Finding("base-misses", "x", "properties/b"), Finding("base-misses", "x", "properties/a"))
    assert said["pre_existing"] == ["properties/a", "properties/b"]


def test_one_step_that_met_a_limit_makes_the_whole_not_repeatable() -> None:
    assert built(evidence=(Evidence(), Evidence()))["repeatable"] is True
    assert built(evidence=(Evidence(), Evidence(repeatable=False)))["repeatable"] is False


NEEDS: tuple[tuple[list[str], str], ...] = (
    (["oracle-touched"], "maintainer"), (["oracle-touched", "gate-touched", "people-touched"], "maintainer"), (["gate-touched", "people-touched", "history-note"], "maintainer"), ([], ""),
    (["history-note"], ""), (["oracle-touched", "outside-roots"], ""), (["stray-file"], ""), (["protected-alias"], ""),
    (["oracle-touched", "property-falsified"], ""), (["lock-mismatch"], ""),
)  # fmt: skip


@pytest.mark.parametrize(("rules", "needs"), NEEDS)
def test_a_maintainer_is_needed_exactly_where_all_that_is_wrong_is_what_people_own(rules: list[str], needs: str) -> None:
    assert built(*of(*rules))["needs"] == needs


def test_a_review_that_is_well_formed_needs_a_code_owner() -> None:
    review = replace(PLAN, subject="review")
    assert built(plan=review)["needs"] == "code owner"
    assert built(*of("lock-mismatch"), plan=review)["needs"] == ""


def test_each_change_says_whether_it_is_allowed_or_which_rule_denies_it() -> None:
    changes = [Change(path, ABSENT, "100644", "0" * 40, RESULT) for path in ("src/a", "oracle/x", "src/tasks.py")]
    findings = [Finding("oracle-touched", "x", "oracle/x"), Finding("protected-moved", "x", "oracle/x"),
                Finding("reserved-note", "x", "src/tasks.py")]  # fmt: skip
    assert verdict.changes_as_rows(changes, findings) == [
        {"path": "src/a", "modes": [ABSENT, "100644"], "rule": "", "allowed": True},
        {"path": "oracle/x", "modes": [ABSENT, "100644"], "rule": "oracle-touched", "allowed": False},
        {"path": "src/tasks.py", "modes": [ABSENT, "100644"], "rule": "", "allowed": True},
    ]


TEXT = st.text(max_size=20)
FINDING = st.builds(Finding, st.sampled_from(sorted(RULES)), TEXT, TEXT, st.integers(0, 9), TEXT)


@settings(deadline=None)
@given(st.lists(FINDING, max_size=5), st.dictionaries(TEXT, TEXT, max_size=3))
def test_equal_facts_give_equal_bytes_in_plain_ascii(findings: list[Finding], versions: dict[str, str]) -> None:
    def once(order: list[str]) -> bytes:
        facts = replace(FACTS, versions={name: versions[name] for name in order})
        return as_json(verdict.build(PLAN, [], findings, [Evidence((HELD,), (MET,))], facts))

    raw = once(sorted(versions))
    assert raw == once(sorted(versions, reverse=True))
    assert raw.isascii()
    assert json.loads(raw)["findings"] == [verdict.as_row(f) for f in findings]


@settings(deadline=None)
@given(st.lists(FINDING, max_size=5), st.sampled_from(["patch", "review", "self"]))
def test_a_pass_has_no_error_among_its_findings(findings: list[Finding], subject: str) -> None:
    said = built(*findings, plan=replace(PLAN, subject=subject))
    errors = [f for f in said["findings"] if f["level"] == "error"]
    assert (said["verdict"] in {"pass", "review"}) is (not errors) is (said["code"] == Code.PASS)
