"""What must hold for SQL text: nothing of it is lost, and statements end where they were put together."""

# `given` is typed for tests, which return None; so:
# mypy: ignore-errors

from __future__ import annotations

from typing import Any

from fence_tasks.properties import at_most, cover, given, st

PIECES = st.sampled_from([
    "select", "SELECT", "from", "where", "insert into", "a", "b.c", '"q r"', "`t`", "[u]", "1", "2.5e3", "0x1F", "'s'",
    "'it''s'", "'; --'", "-- to the end\n", "/* c ; */", "# x\n", "(", ")", ",", ";", "=", "<>", "||", "::", ":p", "%s",
    "?", "$1", "*", " ", "\n", "\t", "case", "when", "end", "begin", "as", "@v", "{", "}", "\\", "'", '"', "\u00e9", "\u2603",
    "\u00a7", "!", "~", "$$", "/*",
])  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, PIECES, st.just("; select")), max_size=12).map("".join)
SINGLE = st.sampled_from([
    "select 1", "select ';'", "update t set a = 'x;y'", "select /* ; */ 2", "delete from t -- ;\nwhere a = 1",
    "select (1)", "insert into t (a) values (';;')", 'select "a;b" from c', "select $$;$$", "drop table t",
    "select case when a then 1 else 2 end",
])  # fmt: skip


@at_most(100)
@given(text=TEXTS)
def prop_nothing_is_lost(api: Any, text: str) -> bool:
    statements = api.cli.sqlparse.parse(text)  # sqlparse.__all__ names modules alone, so `api.parse` is refused
    cover("several statements", len(statements) > 1, at_least=0.1)
    tokens = [token for statement in statements for token in api.op("iter", statement.flatten())]
    return "".join(token.value for token in tokens).rstrip() == text.rstrip()  # blanks at the end may go


@given(
    parts=st.lists(SINGLE, min_size=1, max_size=5),
    gap=st.sampled_from(["", " ", "\n", "\n\n  "]),
    last=st.sampled_from(["", ";"]),
)
def prop_statements_end_at_their_semicolons(api: Any, parts: list[str], gap: str, last: str) -> bool:
    owed = [f"{part};" for part in parts[:-1]] + [parts[-1] + last]
    whole = f";{gap}".join(parts) + last
    split = api.cli.sqlparse.split
    return split(whole) == owed and split(whole, strip_semicolon=True) == parts
