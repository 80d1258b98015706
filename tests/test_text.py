"""A verdict for a terminal: readable at night, and inert whatever names and messages hold."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fence_tasks.model import Evidence, Finding, FixtureResult, Plan, PropertyResult
from fence_tasks.report import text, verdict

BASE, HEAD, TREE, RESULT = "1f3c9a2" + "0" * 33, "77be01d" + "0" * 33, "5" * 40, "90ad4c1" + "0" * 33
PLAN = Plan(BASE, HEAD, "", (BASE,), TREE, RESULT, ("merge",), "patch")
FACTS = verdict.Facts({"version": "0.1.0"}, isolation={"level": "any", "not_covered": ["network"]})
AGAIN = f"nox -s score -- --base {BASE} --head {HEAD}"


def built(*findings: Finding, evidence: tuple[Evidence, ...] = (), plan: Plan | None = PLAN) -> dict[str, Any]:
    """A verdict with these findings."""
    return verdict.build(plan, [], findings, evidence, FACTS)


def shown(*findings: Finding, **names: str) -> list[str]:
    """The lines of such a verdict."""
    return text.render(built(*findings), names, again=AGAIN).splitlines()


def test_a_refusal_reads_as_the_design_shows_it() -> None:
    finding = Finding("oracle-touched", "deleted by 5d21e0f (the same content is src/rt.py there)",
                      "oracle/properties/roundtrip.py",
                      remedy="take oracle/ out of 5d21e0f (rebase or amend), or a person opens that change alone")  # fmt: skip
    first, revisions, where, remedy, last = shown(finding, base="main")
    assert re.fullmatch(r"FAIL 2 +oracle-touched +the proposer must act; running it again will not help", first)
    assert re.fullmatch(
        r"base 1f3c9a2\w* \(main\)  head 77be01d\w*  merge result 90ad4c1\w*  gate 0\.1\.0", revisions
    )
    assert where.startswith("oracle/properties/roundtrip.py: deleted by 5d21e0f (the same content is src/rt.py there)")
    assert remedy == "  -> take oracle/ out of 5d21e0f (rebase or amend), or a person opens that change alone"
    assert last == (
        f"Nothing was executed. Why: docs/rules.md#oracle-touched   On call: docs/on-call.md   Again: {AGAIN}"
    )


@pytest.mark.parametrize(
    ("rule", "head", "again"),
    [("oracle-touched", "FAIL 2", False), ("property-falsified", "FAIL 6", False), ("lock-mismatch", "NONE 3", False),
     ("usage", "NONE 64", False), ("policy-malformed", "NONE 65", False), ("git-missing", "NONE 69", True),
     ("gate-failed", "NONE 70", True), ("merge-conflict", "NONE 75", True)],
)  # fmt: skip
def test_the_first_line_says_word_code_rule_who_and_whether_to_run_again(rule: str, head: str, *, again: bool) -> None:
    first = shown(Finding(rule, "it is so"))[0]
    assert first.startswith(f"{head}  {rule}")
    assert "must act" in first
    assert ("running it again will not help" in first) is not again


def test_the_first_line_leads_with_the_finding_whose_code_it_is() -> None:
    lines = shown(Finding("merge-conflict", "x", "a"), Finding("history-note", "x"), Finding("gate-touched", "x", "b"))
    assert lines[0].startswith("FAIL 2  gate-touched")
    assert any(line.startswith("a: x  [merge-conflict, 75]") for line in lines)


def test_a_pass_that_does_not_bind_says_so_in_its_first_line() -> None:
    assert "NOT BINDING" in shown()[0]
    bound = verdict.build(PLAN, [], [], [], verdict.Facts(binding=True))
    assert "NOT BINDING" not in text.render(bound)


def test_a_pass_of_the_fence_alone_does_not_claim_that_evidence_was_met() -> None:
    assert shown()[0].startswith("PASS 0")
    assert "all evidence was met" not in shown()[0]


def test_what_did_run_is_not_called_unexecuted() -> None:
    held = PropertyResult("properties/rt.py::prop_rt", 50, 50, 0, 100, "c" * 64)
    lines = text.render(built(Finding("fixture-mismatch", "x"), evidence=(Evidence((held,)),)))
    assert "Nothing was executed" not in lines
    assert "prop_rt  50 of 50 examples effective, 100 calls" in lines


def test_a_missed_property_shows_its_counterexample_and_a_missed_fixture_its_difference() -> None:
    missed = PropertyResult("properties/rt.py::prop_rt", 50, 50, 0, 100, "c" * 64, {}, "data = b''\nroom = 3", "missed")
    other = FixtureResult("fixtures/" + "0" * 64, "", "1" * 64, "2" * 64, "missed", ("- a", "+ b"))
    lines = text.render(built(evidence=(Evidence((missed,), (other,)),))).splitlines()
    assert [line.strip() for line in lines if line.startswith(" ")] == ["data = b''", "room = 3", "- a", "+ b"]
    assert "fixtures 0 of 1 met" in lines


def test_a_verdict_without_a_plan_has_no_line_of_revisions() -> None:
    assert "merge result" not in text.render(built(Finding("usage", "x"), plan=None))


def test_a_thousand_findings_do_not_flood_the_terminal() -> None:
    lines = shown(*(Finding("outside-roots", "x", f"f{n}") for n in range(1000)), Finding("frozen-path", "x", "last"))
    assert len(lines) < 60
    assert any("980 more of outside-roots" in line for line in lines)
    assert any(line.startswith("last: ") for line in lines)


@pytest.mark.parametrize("many", [19, 20, 21, 22])
def test_twenty_findings_of_a_rule_are_shown_and_the_others_counted(many: int) -> None:
    lines = shown(*(Finding("outside-roots", "x", f"f{n}") for n in range(many)))
    assert sum(line.startswith("f") for line in lines) == min(many, 20)
    assert [line for line in lines if "more of" in line] == ([f"… and {many - 20} more of outside-roots; "
                                                              "verdict.json has them all"] if many > 20 else [])


def test_what_held_shows_no_counterexample_and_isolation_is_said_where_something_ran() -> None:
    held = PropertyResult("properties/rt.py::prop_rt", 50, 50, 0, 100, "c" * 64, {}, "data = b''")
    ran = text.render(built(evidence=(Evidence((held,)),)))
    assert "data = b''" not in ran
    assert "isolation any; not covered: network" in ran
    assert "isolation" not in text.render(built())


def test_one_remedy_is_said_once() -> None:
    lines = shown(*(Finding("outside-roots", "x", f"f{n}") for n in range(5)))
    assert sum(line.startswith("  -> ") for line in lines) == 1


def test_colour_is_the_callers_choice_and_only_on_the_first_word() -> None:
    assert "\x1b" not in text.render(built())
    coloured = text.render(built(Finding("gate-touched", "x")), colour=True)
    assert coloured.startswith("\x1b[1;31mFAIL\x1b[0m 2")
    assert coloured.count("\x1b") == 2


HOSTILE = (
    "\x1b[2J\x1b[32mPASS 0", "a\rPASS 0", "a\nPASS 0  the fence held", "a\r\n::set-output name=x::y", "\x07\x08\x7f\x9b31m",
    "\u202egnp.exe", "\u2066a\u2069", "a\u200bb\u2060\ufeff", "\u2028PASS", "\u2029PASS", "\u0085PASS", "\U000e0041\u00ad",
    "::error::x", "  ::error file=a::x", "::stop-commands::t", "##[error]x", "a##[command]x", "##vso[task.complete result=Succeeded]",
    "a ##teamcity[buildStatus status='SUCCESS']", "###[group]", "caf\udce9", "\ud800", "\0", "\ue000", "\u3000::error::x",
    "\u00a0", "section_start:1:x\r\x1b[0K",
)  # fmt: skip


def acts(lines: str) -> list[str]:
    """What in the text a terminal or a CI log would act on."""
    bad = [ascii(c) for c in lines if c != "\n" and (unicodedata.category(c)[0] == "C" or c in "\u2028\u2029")]
    bad += [line for line in lines.split("\n") if line.strip().startswith("::")]
    return bad + re.findall(r"##(?:\[|vso\[|teamcity\[).*", lines)


def everywhere(name: str) -> dict[str, Any]:
    """A verdict with a hostile text in every place that a patch or a candidate can write to."""
    missed = PropertyResult(name, 1, 1, 0, 1, "", {}, name, "missed")
    other = FixtureResult(name, name, "", "", "missed", (name,))
    findings = (Finding("outside-roots", name, name), Finding("gate-touched", name, name, 0, name),
                Finding("history-note", name, name), Finding("base-misses", name))  # fmt: skip
    return built(*findings, evidence=(Evidence((missed,), (other,)),))


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_name_or_message_is_acted_on_by_a_terminal_or_a_log(name: str) -> None:
    lines = text.render(everywhere(name), {"base": name, "head": name}, again=name)
    assert acts(lines) == []


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_name_makes_a_line_of_its_own(name: str) -> None:
    harmless = text.render(built(Finding("outside-roots", "x", "x"), Finding("history-note", "x", "x")))
    hostile = text.render(built(Finding("outside-roots", name, name), Finding("history-note", name, name)))
    assert hostile.count("\n") == harmless.count("\n")
    assert len(hostile.splitlines()) == len(harmless.splitlines())


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_json_for_a_log_is_plain_ascii(name: str) -> None:
    assert text.as_json(everywhere(name)).isascii()


@settings(deadline=None)
@given(st.text(max_size=30))
@example("#" * 5 + "[")
@example(":" * 5)
@example("# #[x]")
def test_any_text_whatever_is_inert_once_escaped(raw: str) -> None:
    assert acts(text.escape(raw)) == []


@settings(deadline=None)
@given(st.text(st.characters(categories=("L", "N", "P", "S", "M"), exclude_characters="#:\\"), max_size=30))
def test_what_is_harmless_stays_readable(raw: str) -> None:
    assert text.escape(raw) == raw
