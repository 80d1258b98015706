"""What a patch or candidate wrote, as a report shows it: nothing that a terminal or a CI log acts on."""

from __future__ import annotations

import unicodedata
from typing import Any

from _kit import report

from fence_tasks.properties import at_most, cover, given, st

#: Marks of direction (Unicode TR 9) and characters without a width; each steers what a reader sees.
UNSEEN = [chr(c) for c in (0xAD, 0x61C, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F),
                           *range(0x2060, 0x206A), 0xFEFF, 0xFFF9, 0xE0041)]  # fmt: skip
CONTROLS = [chr(c) for c in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xD800, 0xDCFF, 0xFFFE, 0xE000)]
COMMANDS = ["::error::", "::set-output name=x::", "##[error]", "##vso[task.complete]", "##teamcity[testFailed]", "::",
            ":", "#", "##", "\x1b[2K", "\x1b]8;;http://x\x07", "\x9b1m", "\r\n", " ", "  "]  # fmt: skip
PIECES = st.one_of(
    st.sampled_from(COMMANDS), st.sampled_from(UNSEEN), st.sampled_from(CONTROLS), st.text("ab/é日.", max_size=3),
    st.characters(),
)  # fmt: skip
HOSTILE = st.lists(PIECES, min_size=1, max_size=6).map("".join).filter(lambda text: text.strip() != ":")


def harmless(line: str) -> bool:
    """True if a terminal shows the line as it is, and no runner reads it as a command of its own."""
    return (
        not any(unicodedata.category(c)[0] == "C" or unicodedata.category(c) in {"Zl", "Zp"} for c in line)
        and not any(c in line for c in UNSEEN + CONTROLS)
        and not line.lstrip().startswith("::")
        and not any(command in line for command in ("##[", "##vso[", "##teamcity["))
    )


@given(text=HOSTILE)
def prop_whatever_is_escaped_is_harmless(api: Any, text: str) -> bool:
    cover("harmful", not harmless(text), at_least=0.5)
    shown = api.text.escape(text)
    legible = harmless(text) and text.isprintable()
    return harmless(shown) and (shown == text or not legible)


@at_most(30)
@given(text=st.text("abcXYZ019 _-./()'\"=é日Ж", max_size=20))
def prop_plain_text_is_shown_as_it_is(api: Any, text: str) -> bool:
    return bool(api.text.escape(text) == text)


@given(rule=st.sampled_from(["oracle-touched", "property-falsified", "reserved-note", "base-misses"]),
       texts=st.lists(HOSTILE, min_size=9, max_size=9))  # fmt: skip
def prop_no_line_of_a_report_is_the_patchs(api: Any, rule: str, texts: list[str]) -> bool:
    path, message, remedy, base, head, again, name, drawn, diff = texts
    finding = api.Finding(rule, message, path, 3, remedy)
    verdict = report(api).build(None, [], [finding], [], report(api).Facts())
    verdict |= {"base": "1" * 40, "head": "2" * 40}
    verdict["properties"] = [{"id": name, "status": "missed", "counterexample": drawn, "examples": 1, "effective": 1,
                              "rejected": 0, "calls": 1, "cases": "", "cover": {}}]  # fmt: skip
    verdict["fixtures"] = [{"id": name, "function": name, "status": "missed", "expected": "", "actual": "",
                            "diff": [diff]}]  # fmt: skip
    shown = api.text.render(verdict, {"base": base, "head": head}, again=again)
    return all(harmless(line) for line in shown.split("\n"))
