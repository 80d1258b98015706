"""What must hold for TOML documents. The other reader is Python's own tomllib, which reads TOML 1.0; nothing is drawn
that TOML 1.1 reads otherwise (times without seconds, `\\e`, `\\x`, line ends and last commas in inline tables)."""

# `given` is typed for tests, which return None; so:
# mypy: ignore-errors

from __future__ import annotations

import tomllib
from typing import Any

from fence_tasks.candidate.errors import CandidateError
from fence_tasks.properties import cover, given, st

NAMES = st.sampled_from(["a", "b", "c-d", '"e f"', "'g.h'", "1", "a.b", "b . c", '"\\u00e9"'])
WORDS = st.text(st.sampled_from("ab \t#=[]{}',.\u00e9\u2603\U0001f600"), max_size=8).map('"{}"'.format)
ESCAPES = st.lists(
    st.sampled_from(["x", "\\t", "\\n", '\\"', "\\\\", "\\u00e9", "\\U0001F600", "\\ud800", "\\q"]), max_size=4
)
NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False).map(repr),
    st.sampled_from(["0x1F", "0o17", "0b101", "1_000", "+0", "1e3", "01", "1__0", "0x", "1.", "inf", "-inf"]),
)
TIMES = st.one_of(
    st.dates().map(str),
    st.datetimes().map(lambda moment: moment.isoformat(timespec="microseconds")),
    st.times().map(lambda moment: moment.isoformat(timespec="seconds")),
    st.sampled_from(
        ["1979-05-27T07:32:00Z", "1979-05-27 00:32:00.5-07:00", "2024-02-30", "1979-05-27T24:00:00", "07:60:00"]
    ),
)
LEAVES = st.one_of(
    WORDS, ESCAPES.map(lambda parts: f'"{"".join(parts)}"'), NUMBERS, TIMES, st.sampled_from(["true", "false", "True"])
)
VALUES = st.recursive(LEAVES, lambda inner: st.one_of(
    st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
    st.lists(st.tuples(NAMES, inner), max_size=2).map(lambda pairs: f"{{{', '.join(f'{k} = {v}' for k, v in pairs)}}}"),
), max_leaves=6)  # fmt: skip
LINES = st.one_of(
    st.tuples(NAMES, VALUES).map(" = ".join),
    NAMES.map("[{}]".format),
    NAMES.map("[[{}]]".format),
    st.sampled_from(["", "# a comment", "a", "= 1", "[a", 'a = """\n  b"""', "a = '''b'''"]),
)
BARE = st.text(st.sampled_from("abcxyz019_-"), min_size=1, max_size=6)


def outcome(read: Any, text: str) -> str:
    """What a reader makes of a document, with the types of all values; or that it is none."""
    try:
        return repr(read(text))
    except ValueError:
        return "rejected"


@given(lines=st.lists(LINES, max_size=5))
def prop_reads_what_tomllib_reads(api: Any, lines: list[str]) -> bool:
    text = "\n".join(lines)
    owed = outcome(tomllib.loads, text)
    cover("accepted", owed != "rejected", at_least=0.25)
    cover("rejected", owed == "rejected", at_least=0.1)
    return outcome(api.loads, text) == owed


@given(
    names=st.lists(BARE, min_size=1, max_size=6, unique=True),
    at=st.integers(0, 5),
    form=st.sampled_from(["{} = 1", "[{}]"]),
)
def prop_a_name_is_defined_once(api: Any, names: list[str], at: int, form: str) -> bool:
    lines = [form.format(name) for name in [*names, names[at % len(names)]]]
    try:
        api.loads("\n".join(lines) + "\n")
    except CandidateError as error:  # `except api.TOMLDecodeError` would need a class, and it is a handle
        return error.name == "TOMLDecodeError" and f"line {len(lines)}," in error.text
    return False
