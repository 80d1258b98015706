"""The generated pages, `docs/rules.md` and `docs/verdicts.md`: rebuilt in memory and compared by a test.

`python tests/pages.py --write` writes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fence_tasks.rules import MEANINGS, ORDER, RULES, Code  # noqa: E402

#: The decision table: id, what the diff holds, its code, what to do. The demo scores one patch per row.
DECISIONS: tuple[tuple[str, str, Code, str], ...] = (
    ("honest", "production code alone; properties hold, fixtures match", Code.PASS, "a person reviews the change"),
    ("oracle", "any path of the oracle", Code.TOUCHED, "discard it; a person opens that change alone"),
    ("lock", "base whose LOCK does not match its oracle", Code.LOCK, "stop; a person runs `invoke relock`"),
    ("frozen", "a retired path, recreated", Code.FROZEN, "discard it; the freeze's owner has the case"),
    ("fixture", "an output whose digest differs", Code.FIXTURE, "inspect the change; never refresh from it"),
    ("property", "a change that falsifies a property", Code.PROPERTY, "the proposer corrects the code"),
    ("store", "base whose fixture store is corrupt", Code.STORE, "stop; a person stores the fixture again"),
    ("evidence", "base without a property or a fixture", Code.NO_EVIDENCE, "a person adds evidence"),
)

_HEAD = "<!-- Generated from fence_tasks/rules.py by `nox -s docs`; a test compares them. -->\n"


def verdicts() -> str:
    """`docs/verdicts.md`."""
    lines = [_HEAD, "# Verdicts and exit codes", "", "Every command that judges ends in one of these codes. `none` "
             "means that the patch could not be judged; never read it as a pass or as the patch's fault.", "",
             "| code | verdict | meaning |", "|---|---|---|"]  # fmt: skip
    lines += [f"| {int(code)} | {verdict} | {meaning} |" for code, (verdict, meaning) in MEANINGS.items()]
    order = ", ".join(str(int(code)) for code in ORDER)
    lines += ["", "All findings are reported. The code is that of the first error in the order", "", f"> {order},", "",
              "and last the 75 and 69 of calibration (what base misses too), so that one property that base misses "
              "cannot hide a regression. Notes never change the code.", "",
              "A consumer removes the run folder first, or compares the run id in `run.json`: without a fresh "
              "`verdict.json` there is no verdict. Nox itself can end with 1, 2 or 3 before the gate's code runs.", "",
              "## The decision table", "", "`nox -s demo` builds a repository, scores one patch per row and compares.", "",
              "| row | what the diff, or base, holds | code | next action |", "|---|---|---|---|"]  # fmt: skip
    lines += [f"| {row} | {what} | {int(code)} | {action} |" for row, what, code, action in DECISIONS]
    lines += ["", "## Other commands", "", "| command | codes |", "|---|---|", "| `explain` | 0 allowed, 2 denied |",
              "| `landed` | 0 exactly the judged tree, 1 another |", "| `check` | 0, or 1 with findings |",
              "| a task given bad input | 64 |", "| a task that would break a rule (cap, dirty tree, clash) | 75, "
              "nothing changed |", "| anything with a missing package | 69, with the install line |", ""]  # fmt: skip
    return "\n".join(lines)


def rules() -> str:
    """`docs/rules.md`."""
    lines = [_HEAD, "# Rules", "", "Each finding names its rule. Who acts, and what to do, in the rule's own words; the "
             "finding itself is often more exact.", ""]  # fmt: skip
    for rule in RULES.values():
        verdict = MEANINGS[rule.code][0] if rule.level == "error" else "note"
        last = "; yields to every other error" if rule.calibration else ""
        code = f"{int(rule.code)} ({verdict}{last})" if rule.level == "error" else "a note, no code"
        lines += [f"## {rule.name}", "", f"{rule.meaning[0].upper()}{rule.meaning[1:]}.", "",
                  f"- code: {code}", f"- who acts: {rule.who}", f"- remedy: {rule.remedy}", ""]  # fmt: skip
    return "\n".join(lines)


PAGES = {"docs/verdicts.md": verdicts, "docs/rules.md": rules}

if __name__ == "__main__":
    for name, page in PAGES.items():
        if "--write" in sys.argv[1:]:
            (ROOT / name).write_text(page(), "utf-8")
        else:
            sys.stdout.write(page())
