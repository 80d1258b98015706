"""The rule table: one place for names, codes and their order."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fence_tasks.model import Finding
from fence_tasks.rules import (
    ALLOWED,
    CLEAN,
    DENIED,
    MEANINGS,
    ORDER,
    OTHER_TREE,
    RULES,
    SAME_TREE,
    WITH_FINDINGS,
    Code,
    code_of,
    verdict_of,
)

#: The design, section 4: which verdict each code goes with.
DESIGN = {
    0: "pass", 1: "fail", 2: "fail", 3: "none", 4: "fail", 5: "none", 6: "fail", 7: "fail", 8: "none", 64: "none",
    65: "none", 69: "none", 70: "none", 75: "none",
}  # fmt: skip
#: The design: the first error in this order gives the code; calibration's 75 and 69 come last.
DESIGN_ORDER = (64, 65, 70, 2, 3, 4, 7, 75, 69, 5, 1, 6, 8)
#: One rule of each code that is an error and no calibration.
SAMPLES = {
    code: next(r.name for r in RULES.values() if r.code == code and r.level == "error" and not r.calibration)
    for code in DESIGN_ORDER
    if any(r.code == code and not r.calibration and r.level == "error" for r in RULES.values())
}
NOTES = [r.name for r in RULES.values() if r.level == "note"]
CALIBRATION = [r.name for r in RULES.values() if r.calibration]


def findings(*names: str) -> list[Finding]:
    """Findings of these rules."""
    return [Finding(name, "it is so") for name in names]


def test_the_codes_are_those_of_the_design() -> None:
    assert [int(code) for code in Code] == sorted(DESIGN)
    assert tuple(map(int, ORDER)) == DESIGN_ORDER
    assert {int(code): verdict_of(code, "patch") for code in Code} == DESIGN
    assert set(MEANINGS) == set(Code)


def test_the_codes_of_other_commands_are_those_of_the_design() -> None:
    assert (ALLOWED, DENIED, SAME_TREE, OTHER_TREE, CLEAN, WITH_FINDINGS) == (0, 2, 0, 1, 0, 1)


@pytest.mark.parametrize(("code", "word"), [(0, "review"), (2, "fail"), (3, "fail"), (5, "fail"), (8, "fail"), (75, "none")])
def test_a_review_is_about_heads_oracle_so_its_faults_fail(code: int, word: str) -> None:
    assert verdict_of(Code(code), "review") == word


def test_no_code_but_0_is_ever_a_pass() -> None:
    words = {verdict_of(code, subject) for code in Code for subject in ("patch", "review", "self") if code}
    assert words == {"fail", "none"}


def test_every_rule_is_complete() -> None:
    for rule in RULES.values():
        assert RULES[rule.name] is rule
        assert rule.level in {"error", "note"}
        assert all((rule.meaning, rule.remedy, rule.who))
        assert rule.code is not Code.PASS
        assert not (rule.calibration and rule.level == "note")


def test_every_code_has_a_rule_except_a_ban_on_skips_that_this_version_lacks() -> None:
    assert set(DESIGN_ORDER) - set(SAMPLES) <= {7}


def test_no_findings_are_a_pass() -> None:
    assert code_of([]) is Code.PASS


@pytest.mark.parametrize("pair", list(itertools.combinations(SAMPLES, 2)), ids=str)
def test_of_two_codes_the_earlier_of_the_order_wins(pair: tuple[int, int]) -> None:
    names = [SAMPLES[code] for code in pair]
    assert code_of(findings(*names)) == pair[0]
    assert code_of(findings(*reversed(names))) == pair[0]


def test_calibration_is_75_or_69_and_marks_what_base_misses() -> None:
    assert {RULES[name].code for name in CALIBRATION} == {Code.NOT_JUDGEABLE, Code.UNAVAILABLE}
    assert {"base-misses", "base-candidate", "candidate-needs-package"} <= set(CALIBRATION)


@pytest.mark.parametrize("code", sorted(SAMPLES))
@pytest.mark.parametrize("name", CALIBRATION)
def test_calibration_yields_to_every_other_error(name: str, code: int) -> None:
    assert code_of(findings(name, SAMPLES[code])) == code


def test_of_two_calibrations_75_comes_before_69() -> None:
    assert code_of(findings("base-candidate", "base-misses")) is Code.NOT_JUDGEABLE
    assert code_of(findings("base-candidate")) is Code.UNAVAILABLE


@pytest.mark.parametrize("note", NOTES)
def test_a_note_never_counts(note: str) -> None:
    assert code_of(findings(note)) is Code.PASS
    for code, name in SAMPLES.items():
        assert code_of(findings(note, name)) == code


def test_a_finding_of_no_rule_is_a_fault_of_the_gate_and_not_a_pass() -> None:
    with pytest.raises(KeyError):
        code_of(findings("no-such-rule"))


@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted(RULES)), max_size=8))
def test_the_code_is_0_only_where_no_error_was_found_and_no_order_matters(names: list[str]) -> None:
    code = code_of(findings(*names))
    assert (code is Code.PASS) is all(RULES[name].level == "note" for name in names)
    assert code_of(findings(*sorted(names))) is code
    assert code is Code.PASS or code in {RULES[name].code for name in names}


@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted(RULES)), min_size=1, max_size=8))
def test_one_more_finding_never_turns_a_refusal_into_a_pass(names: list[str]) -> None:
    assert bool(code_of(findings(*names))) >= bool(code_of(findings(*names[1:])))
