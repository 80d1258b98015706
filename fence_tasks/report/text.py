"""A verdict for a terminal: what happened, who must act, what to type."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from ..oracle.names import IGNORABLE
from ..rules import RULES, Code

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = 20  # findings of one rule that a terminal shows; verdict.json has them all
_AT_START = re.compile(r"^(\s*):(?=:)")
_ANYWHERE = re.compile(r"##(?=\[|vso\[|teamcity\[)")
_COLOURS = {"pass": "32", "review": "36", "fail": "31", "none": "33"}


def escape(text: str) -> str:
    """`text` so that no terminal and no CI log acts on it: control, bidirectional and invisible characters and
    lone surrogates as escapes, and nothing that a forge's runner reads as a command (`::error::` at a line's start,
    `##[`, `##vso[`, `##teamcity[` anywhere)."""
    safe = "".join(c if _plain(c) else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
    return _AT_START.sub(r"\1\\x3a", _ANYWHERE.sub(r"#\\x23", safe))


def _plain(char: str) -> bool:
    if char == " ":
        return True
    # U+2800 is a blank that counts as a symbol.
    return unicodedata.category(char)[0] in "LNPSM" and ord(char) not in IGNORABLE and char != "\u2800"


def render(verdict: Mapping[str, Any], names: Mapping[str, str] | None = None, *, colour: bool = False,
           again: str = "") -> str:
    """The verdict as lines of text. `names` says what was typed for base and head; `again` is the command that
    judges the same again."""  # fmt: skip
    errors = [f for f in verdict["findings"] if f["level"] == "error"]
    first = next((f for f in errors if f["code"] == verdict["code"]), None)
    lines = [_headline(verdict, first, colour=colour)]
    if verdict.get("base"):
        lines.append(_revisions(verdict, names or {}))
    lines += _findings(errors)
    lines += _notes([f for f in verdict["findings"] if f["level"] == "note"])
    if verdict["account"]:
        lines += ["account for the owner:", *(f"  {escape(line)}" for line in verdict["account"])]
    lines += _evidence(verdict)
    if first:
        ran = verdict["properties"] or verdict["fixtures"]
        lines.append(
            ("" if ran else "Nothing was executed. ")
            + f"Why: docs/rules.md#{first['rule']}   On call: docs/on-call.md"
            + (f"   Again: {escape(again)}" if again else "")
        )
    return "\n".join(lines) + "\n"


def _headline(verdict: Mapping[str, Any], first: Mapping[str, Any] | None, *, colour: bool) -> str:
    word = str(verdict["verdict"])
    shown = f"\x1b[1;{_COLOURS[word]}m{word.upper()}\x1b[0m" if colour else word.upper()
    parts = [f"{shown} {verdict['code']}"]
    if first:
        rule = RULES[first["rule"]]
        parts += [first["rule"], f"{rule.who} must act" + _rerun(rule.code)]
    else:
        ran = verdict["properties"] or verdict["fixtures"]
        parts.append("the fence held and all evidence was met" if ran else "the fence held; no evidence was run")
    if not verdict["binding"] and not first:
        parts.append("NOT BINDING")
    return "  ".join(parts)


def _rerun(code: Code) -> str:
    again = code in {Code.INTERNAL, Code.UNAVAILABLE, Code.NOT_JUDGEABLE}
    return "" if again else "; running it again will not help"


def _revisions(verdict: Mapping[str, Any], names: Mapping[str, str]) -> str:
    def shown(kind: str) -> str:
        typed = names.get(kind, "")
        name = f" ({escape(typed)})" if typed and typed != verdict[kind] else ""
        return f"{kind} {verdict[kind][:12]}{name}"

    version = verdict["gate"].get("version", "?")
    result = verdict["merge_result"][:12] or "none"
    return f"{shown('base')}  {shown('head')}  merge result {result}  gate {escape(version)}"


def _findings(errors: list[Any]) -> list[str]:
    lines: list[str] = []
    counts: dict[str, int] = {}
    for f in errors:
        counts[f["rule"]] = counts.get(f["rule"], 0) + 1
        if counts[f["rule"]] > _SHOWN:
            continue
        where = escape(f["path"]) + (f":{f['line']}" if f["line"] else "")
        line = f"{where + ': ' if where else ''}{escape(f['message'])}  [{f['rule']}, {f['code']}]"
        lines.append(_AT_START.sub(r"\1\\x3a", line))  # a path may end in what the next part goes on with
        remedy = f"  -> {escape(f['remedy'])}"
        if lines.count(remedy) == 0:
            lines.append(remedy)
    lines += [f"… and {n - _SHOWN} more of {rule}; verdict.json has them all" for rule, n in counts.items()
              if n > _SHOWN]  # fmt: skip
    return lines


def _notes(notes: list[Any]) -> list[str]:
    shown = [f"note: {escape(n['path'])}: {escape(n['message'])}  [{n['rule']}]" for n in notes[:_SHOWN]]
    return shown + ([f"… and {len(notes) - _SHOWN} more notes"] if len(notes) > _SHOWN else [])


def _evidence(verdict: Mapping[str, Any]) -> list[str]:
    lines = []
    for p in verdict["properties"]:
        lines.append(f"{p['status']:8} {escape(p['id'])}  {p['effective']} of {p['examples']} examples effective, "
                     f"{p['calls']} calls")  # fmt: skip
        if p["counterexample"] and p["status"] != "held":
            lines += [f"         {escape(line)}" for line in p["counterexample"].splitlines()]
    met = [f for f in verdict["fixtures"] if f["status"] == "met"]
    if verdict["fixtures"]:
        lines.append(f"fixtures {len(met)} of {len(verdict['fixtures'])} met")
    for f in verdict["fixtures"]:
        if f["status"] != "met":
            lines.append(f"{f['status']:8} {escape(f['id'])}")
            lines += [f"         {escape(line)}" for line in f["diff"]]
    isolation = verdict.get("isolation") or {}
    if isolation and (verdict["properties"] or verdict["fixtures"]):
        by = f" ({', '.join(isolation['applied'])})" if isolation.get("applied") else ""
        left = f"; not covered: {', '.join(isolation['not_covered'])}" if isolation["not_covered"] else ""
        lines.append(f"isolation {isolation['level']}{by}{left}")
    return lines


def as_json(verdict: Mapping[str, Any]) -> str:
    """The verdict as JSON in plain ASCII."""
    return json.dumps(verdict, indent=1, sort_keys=True, ensure_ascii=True) + "\n"
