"""The exit code of a verdict: the first error's in a fixed order, whatever else was found and in whatever order."""

from __future__ import annotations

from typing import Any

from _kit import code, report

from fence_tasks.properties import cover, given, st

#: First what makes the question meaningless, then what the patch did, what could not be known, what the code does.
ORDER = (64, 65, 70, 2, 3, 4, 7, 75, 69, 5, 1, 6, 8)
#: Rule → code, as docs/rules.md has it.
ERRORS = {
    "usage": 64, "range-empty": 64, "policy-malformed": 65, "oracle-entry": 65, "gate-failed": 70, "step-missing": 70,
    "oracle-touched": 2, "outside-roots": 2, "name-clash": 2, "lock-mismatch": 3, "lock-missing": 3, "frozen-path": 4,
    "frozen-content": 4, "merge-conflict": 75, "gate-differs": 75, "git-missing": 69, "isolation-missing": 69,
    "fixture-name": 5, "fixture-half": 5, "fixture-mismatch": 1, "property-falsified": 6, "candidate-died": 6,
    "property-cover": 6, "no-evidence": 8, "property-vacuous": 8,
}  # fmt: skip
#: What base misses too: it yields to every other error.
CALIBRATION = {"base-misses": 75, "candidate-needs-package": 75, "base-candidate": 69}
NOTES = ("reserved-note", "history-note", "gate-note")
FAILS = {1, 2, 4, 6, 7}


def owed(rules: list[str]) -> int:
    """The code of a list of rules, by the text of docs/verdicts.md."""
    errors = {ERRORS[rule] for rule in rules if rule in ERRORS}
    last = {CALIBRATION[rule] for rule in rules if rule in CALIBRATION}
    return next((c for c in ORDER if c in errors), next((c for c in (75, 69) if c in last), 0))


RULES = st.one_of(st.sampled_from([*ERRORS]), st.sampled_from([*CALIBRATION]), st.sampled_from(NOTES))
#: Rules by rank: one step for each code in order, then calibration's two.
STEPS = [[rule for rule, c in ERRORS.items() if c == code] for code in ORDER if code in ERRORS.values()]
STEPS += [["base-misses", "candidate-needs-package"], ["base-candidate"]]


@st.composite
def ranked(draw: st.DrawFn) -> tuple[list[str], str]:
    """Findings of some step, of the next one, and of others further down, in any order; and a rule of the step."""
    at = draw(st.integers(0, len(STEPS) - 1))
    first = draw(st.sampled_from(STEPS[at]))
    later = [draw(st.sampled_from(step)) for step in STEPS[at + 1 : at + 2]]
    later += [draw(st.sampled_from(step)) for step in STEPS[at + 2 :] if draw(st.booleans())]
    return draw(st.permutations([first, *later, *draw(st.lists(st.sampled_from(NOTES), max_size=2))])), first


@given(found=ranked())
def prop_the_code_is_that_of_the_first_error_in_order(api: Any, found: tuple[list[str], str]) -> bool:
    rules, first = found
    return code(api, [api.Finding(rule, "x") for rule in rules]) == owed([first])


@given(rules=st.lists(RULES, max_size=3))
def prop_the_verdict_says_pass_for_0_alone(api: Any, rules: list[str]) -> bool:
    findings = [api.Finding(rule, "x", "src/x") for rule in rules]
    verdict = report(api).build(None, [], findings, [], report(api).Facts())
    cover("no error", owed(rules) == 0, at_least=0.05)
    word = "pass" if owed(rules) == 0 else "fail" if owed(rules) in FAILS else "none"
    shown = [(row["rule"], row["level"], row["code"]) for row in verdict["findings"]]
    return (
        verdict["code"] == owed(rules)
        and verdict["verdict"] == word
        and verdict["binding"] is False
        and [rule for rule, _, _ in shown] == rules
        and all((level == "error") == (rule not in NOTES) for rule, level, _ in shown)
        and all(number == {**ERRORS, **CALIBRATION}[rule] for rule, level, number in shown if level == "error")
    )
