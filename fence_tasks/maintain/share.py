"""What share of a repository's own past changes each choice of roots and also would have let through, and which rules
stop the rest. Pure: a history and a policy in, lines out. Only the path rules are asked; they are what roots and also
decide.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..fence.paths import judge_path
from ..oracle.policy import covers, overlaps
from ..rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..model import Change
    from ..oracle.policy import Policy

LAST = 500  # changes looked at
_SHOWN = 4  # rules named for a choice
_TESTS = {"test", "tests", "testing", "spec", "specs"}
_DOCS = {"doc", "docs", "documentation"}
_CHANGES = {"changelog", "changes", "news", "newsfragments"}
_CHANGE_FILES = {*_CHANGES, "history", "release-notes", "release_notes", "releasenotes"}


@dataclass(frozen=True, slots=True)
class Choice:
    """Roots and also as a policy has them; `asked` marks the person's own."""

    roots: tuple[str, ...]
    also: tuple[str, ...]
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """A rule that stops `changes` changes, most often at `path`. A change may be stopped by several rules."""

    rule: str
    changes: int
    path: str


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `changes` changes a choice lets through, how many of them touch its roots, and what stops the rest,
    the rule that stops most first."""

    choice: Choice
    changes: int
    passed: int
    code: int
    code_passed: int
    stops: tuple[Stop, ...]


def choices(paths: Iterable[str], rules: Policy) -> list[Choice]:
    """The policy's own choice, and what else the repository with these tracked `paths` suggests: its roots alone, with
    its tests, and with tests, docs and changelog. Each is there once."""
    roots, also = rules.production.roots, rules.production.also
    found = _beside(paths, rules)
    wanted = ((), found["tests"], found["tests"] + found["docs"])
    suggested = {frozenset(w): Choice(roots, w) for w in wanted}
    suggested[frozenset(also)] = Choice(roots, also, asked=True)
    return sorted(suggested.values(), key=lambda c: (len(c.also), c.also))


def _beside(paths: Iterable[str], rules: Policy) -> dict[str, tuple[str, ...]]:
    """Tests, and docs with readme and changelog, at the top and in the folders that hold a root, as `also` has them."""
    above = {"", *(_folder(root.removesuffix("/")) for root in rules.production.roots)}
    entries = {entry for path in paths for folder in above if (entry := _entry(folder, path))}
    found: dict[str, list[str]] = {"tests": [], "docs": []}
    for entry in sorted(entries):
        taken = any(overlaps(entry, other) for other in (*rules.protected, *rules.people.paths))
        if (kind := _kind(entry)) and not taken and not any(covers(root, entry) for root in rules.production.roots):
            found[kind].append(entry)
    return {kind: tuple(names) for kind, names in found.items()}


def _folder(path: str) -> str:
    """The folder that a path lies in, with `/`; "" for the top."""
    return "".join(path.rpartition("/")[:2])


def _entry(folder: str, path: str) -> str:
    """What of a folder a path is or lies below: a file, or a folder with `/`; "" for a path elsewhere."""
    if not path.startswith(folder):
        return ""
    return folder + "".join(path.removeprefix(folder).partition("/")[:2])


def _kind(entry: str) -> str:
    folder = entry.endswith("/")
    name = entry.removesuffix("/").rpartition("/")[2].lower()
    stem = name.partition(".")[0]
    if folder:
        return "tests" if name in _TESTS else "docs" if name in _DOCS or stem in _CHANGES else ""
    return "docs" if stem in _CHANGE_FILES or stem == "readme" else ""


def of(history: Sequence[Sequence[Change]], rules: Policy, choice: Choice) -> Share:
    """What a choice would have done to a history: a list of changes, each with what it does to which paths."""
    production = replace(rules.production, roots=choice.roots, also=choice.also)
    chosen = replace(rules, production=production)
    known: dict[tuple[str, str, str], tuple[str, ...]] = {}  # most paths of a history come again and again
    at: dict[str, Counter[str]] = {}
    stopped: Counter[str] = Counter()
    passed = code = code_passed = 0
    for changes in history:
        found: set[str] = set()
        for change in changes:
            key = (change.path, change.old_mode, change.new_mode)
            if key not in known:
                known[key] = _errors(change, chosen)
            for rule in known[key]:
                found.add(rule)
                at.setdefault(rule, Counter())[change.path] += 1
        stopped.update(found)
        touches = any(covers(root, c.path) for c in changes for root in choice.roots)
        passed += not found
        code += touches
        code_passed += touches and not found
    ranked = sorted(stopped.items(), key=lambda item: (-item[1], item[0]))
    stops = [Stop(rule, count, at[rule].most_common(1)[0][0]) for rule, count in ranked]
    return Share(choice, len(history), passed, code, code_passed, tuple(stops))


def _errors(change: Change, rules: Policy) -> tuple[str, ...]:
    return tuple(f.rule for f in judge_path(change, rules) if RULES[f.rule].level == "error")


def as_lines(shares: Sequence[Share], *, shallow: bool = False) -> list[str]:
    """The table for people."""
    if not shares or not shares[0].changes:
        return ["shares: HEAD has no earlier change to try the choice on" + (_UNSHALLOW if shallow else "")]
    count, code = shares[0].changes, shares[0].code
    lines = [f"of the last {count} changes on HEAD's main line the path rules would have let through:",
             "   all   code  roots + also"]  # fmt: skip
    for share in shares:
        mark = "   <- asked for" if share.choice.asked else ""
        names = " ".join([*share.choice.roots, *(["+", *share.choice.also] if share.choice.also else [])])
        lines.append(f"{_percent(share.passed, count)} {_percent(share.code_passed, code)}  {names}{mark}")
        if share.stops:
            rest = len(share.stops) - _SHOWN
            shown = ", ".join(f"{s.changes} {s.rule} ({s.path})" for s in share.stops[:_SHOWN])
            lines.append(f"               stopped: {shown}" + (f" and {rest} more rules" if rest > 0 else ""))
    return [*lines, f"(code: the {code} that touch the roots; a merge counts as the one change that it brought in; a"
            " change may be stopped by several rules)" + (_UNSHALLOW if shallow else "")]  # fmt: skip


_UNSHALLOW = "; the clone is shallow: git fetch --unshallow shows more"


def _percent(part: int, whole: int) -> str:
    """A share of six characters; 100 % is all of them and 0 % none."""
    if not whole:
        return "     -"
    exact = 100 * part / whole
    rounded = 100 if part == whole else min(99, max(1 if part else 0, round(exact)))
    return f"{rounded:4} %"
