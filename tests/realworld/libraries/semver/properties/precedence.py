"""What semver.org says of versions: the grammar by its own suggested expression, precedence by section 11."""

# `given` is typed for tests, which return None; so:
# mypy: ignore-errors

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

from fence_tasks.properties import cover, given, st

#: From semver.org, "Is there a suggested regular expression (RegEx) to check a SemVer string?"
GRAMMAR = re.compile(
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?\Z",
    re.ASCII,
)

NUMBERS = st.one_of(st.integers(0, 2), st.integers(0, 10**25)).map(str)
IDENTIFIERS = st.one_of(NUMBERS, st.sampled_from(["alpha", "beta", "rc", "-", "--1", "a1", "1a", "B", "x-y"]))
PARTS = st.lists(IDENTIFIERS, min_size=1, max_size=3).map(".".join)
CORES = st.one_of(st.just("1.0.0"), st.tuples(NUMBERS, NUMBERS, NUMBERS).map(".".join))
VERSIONS = st.builds(lambda core, pre, build: core + pre + build, CORES, st.one_of(st.just(""), PARTS.map("-{}".format)),
                     st.one_of(st.just(""), PARTS.map("+{}".format)))  # fmt: skip
ODD = st.text(st.sampled_from("01a-+. v\n\u0661\u00e9"), max_size=10)
SPOILT = st.tuples(VERSIONS, st.sampled_from(["", " ", "\n", ".", "-", "+", "-01", "+a_b", "-\u0661", ".0"])).map(
    "".join
)


def order(one: str, other: str) -> int:
    """-1, 0 or 1, as section 11 has it."""
    (*core, pre, _), (*core_too, pre_too, _) = (GRAMMAR.fullmatch(text).groups() for text in (one, other))  # type: ignore[union-attr]
    if core != core_too:
        return -1 if list(map(int, core)) < list(map(int, core_too)) else 1
    if not pre or not pre_too:
        return bool(pre_too) - bool(pre)
    for mine, yours in zip_longest(pre.split("."), pre_too.split(".")):
        if mine == yours:
            continue
        if mine is None or yours is None:  # all before are equal: the longer one is higher
            return -1 if mine is None else 1
        if mine.isdigit() and yours.isdigit():
            return -1 if int(mine) < int(yours) else 1
        if mine.isdigit() != yours.isdigit():  # numbers are lower than words
            return -1 if mine.isdigit() else 1
        return -1 if mine < yours else 1
    return 0


@given(one=VERSIONS, other=VERSIONS)
def prop_precedence_is_that_of_section_11(api: Any, one: str, other: str) -> bool:
    owed = order(one, other)
    cover("lower", owed < 0, at_least=0.2)
    cover("higher", owed > 0, at_least=0.2)
    mine, yours = api.Version.parse(one), api.Version.parse(other)
    asked = (api.op("lt", mine, yours), api.op("eq", mine, yours), api.op("gt", mine, yours))
    return mine.compare(yours) == owed and asked == (owed < 0, owed == 0, owed > 0)


@given(text=st.one_of(VERSIONS, SPOILT, ODD))
def prop_the_grammar_is_that_of_the_standard(api: Any, text: str) -> bool:
    owed = GRAMMAR.fullmatch(text)
    cover("valid", owed is not None, at_least=0.3)
    cover("invalid", owed is None, at_least=0.1)
    if api.Version.is_valid(text) is not (owed is not None):
        return False
    if owed is None:
        return True
    version = api.Version.parse(version=text)
    core = tuple(map(int, owed.group(1, 2, 3)))
    return api.op("str", version) == text and version.to_tuple() == (*core, owed[4], owed[5])
