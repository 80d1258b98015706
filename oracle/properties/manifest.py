"""`oracle/frozen/manifest.json`: what is written is read back, and nothing half right is taken."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from _kit import audit, none_of, refused

from fence_tasks.properties import at_most, given, st

if TYPE_CHECKING:
    from collections.abc import Callable

REFUSED = "RefusedError: manifest-malformed: "
FIELDS = ("id", "retired_src_path", "owner", "reason", "repro_cmd", "expires_unix", "expires_after", "ticket",
          "frozen_path", "content_sha256", "retired_names", "observed_runs", "observed_failures", "seed",
          "machine")  # fmt: skip
PRINTED = st.characters(categories=["L", "N", "P", "S"], include_characters=" ")
TEXT = st.text(PRINTED, min_size=1, max_size=8).filter(str.strip)
COUNT = st.integers(0, 2**53)
NAME = st.builds("".join, st.tuples(st.sampled_from("aZ09"), st.text("abXYZ09_.-", max_size=6)))


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """One case of a manifest, as docs/formats.md has it."""
    case: dict[str, Any] = {"id": draw(NAME), "retired_src_path": "src/" + draw(NAME)}
    case |= {key: draw(TEXT) for key in ("owner", "reason", "repro_cmd")}
    if draw(st.booleans()):
        case["expires_unix"] = draw(COUNT)
    else:
        commit = draw(st.binary(min_size=20, max_size=20)).hex()
        case["expires_after"] = {"commit": commit, "first_parent_commits": draw(st.integers(1, 99))}
        case["ticket"] = draw(TEXT)
    optional: dict[str, Any] = {
        "frozen_path": draw(NAME).join((f"oracle/frozen/{case['id']}/", ".py")),
        "content_sha256": draw(st.binary(min_size=32, max_size=32)).hex(),
        "retired_names": draw(st.lists(st.sampled_from(["test_a", "Class.test_b", "test_é"]), max_size=2)),
        "observed_runs": draw(COUNT), "observed_failures": draw(COUNT), "seed": draw(COUNT), "machine": draw(TEXT),
    }  # fmt: skip
    return case | {key: optional[key] for key in draw(st.sets(st.sampled_from(sorted(optional))))}


CASES = st.lists(cases(), min_size=1, max_size=3, unique_by=lambda case: case["id"])


@at_most(60)
@given(rows=CASES, indent=st.sampled_from([None, 1, 2]), escaped=st.booleans())
def prop_a_manifest_is_read_as_it_stands_and_written_as_it_was(
    api: Any, rows: list[dict[str, Any]], indent: int | None, escaped: bool  # noqa: FBT001
) -> bool:  # fmt: skip
    freezes = audit(api).freezes
    raw = json.dumps({"cases": rows}, indent=indent, ensure_ascii=escaped).encode()
    read = freezes.parse(raw)
    for row, case in zip(rows, read, strict=True):
        wanted = [tuple(v) if isinstance(v := row.get(field), list) else v for field in FIELDS]
        if api.fields(case, *FIELDS) != wanted:
            return False
    written = freezes.render(read)
    return bool(json.loads(written) == {"cases": rows} and freezes.render(freezes.parse(written)) == written)


def _without(key: str) -> Callable[[list[dict[str, Any]]], object]:
    return lambda rows: rows[-1].pop(key)


def _with(**values: Any) -> Callable[[list[dict[str, Any]]], object]:
    return lambda rows: rows[-1].update(values)


#: One fault each, put into the last case of a sound manifest, and the word that a person must be told.
FAULTS: dict[str, tuple[Callable[[list[dict[str, Any]]], object], str]] = {
    **{f"no {key}": (_without(key), key) for key in FIELDS[:5]},
    **{f"empty {key}": (_with(**{key: "  "}), key) for key in FIELDS[2:5]},
    "unknown key": (_with(expires="2030"), "expires"),
    "both expiries": (_with(expires_unix=1, expires_after={"commit": "a" * 40, "first_parent_commits": 1}, ticket="t"),
                      "expires_after"),
    "no expiry": (lambda rows: [rows[-1].pop(key, None) for key in ("expires_unix", "expires_after")], "expires_unix"),
    "a negative expiry": (_with(expires_unix=-1), "expires_unix"),
    "a Boolean": (_with(observed_runs=True), "observed_runs"),
    "a fraction": (_with(seed=1.5), "seed"),
    "twice": (lambda rows: rows.append(deepcopy(rows[-1])), "id"),
    "a climbing path": (_with(retired_src_path="src/../oracle/LOCK"), "retired_src_path"),
    "an absolute path": (_with(retired_src_path="/src/x"), "retired_src_path"),
    "another's folder": (_with(frozen_path="oracle/frozen/another-case-s/x.py"), "frozen_path"),
    "not in the oracle": (_with(frozen_path="src/x.py"), "frozen_path"),
    "half a digest": (_with(content_sha256="ab" * 16), "content_sha256"),
    "a digest in capitals": (_with(content_sha256="AB" * 32), "content_sha256"),
    "names as text": (_with(retired_names="test_a"), "retired_names"),
    "an empty name": (_with(retired_names=["test_a", ""]), "retired_names"),
    "an id that climbs": (_with(id="../x"), "id"),
    "a number as owner": (_with(owner=7), "owner"),
}  # fmt: skip


@at_most(20)
@given(rows=CASES)
def prop_a_faulty_case_is_refused_by_its_key(api: Any, rows: list[dict[str, Any]]) -> bool:
    taken = []
    for fault, (spoil, word) in FAULTS.items():
        spoil(spoilt := deepcopy(rows))
        said = refused(audit(api).freezes.parse, json.dumps({"cases": spoilt}).encode())
        if not (said.startswith(REFUSED) and word in said):
            taken.append(fault)
    return none_of(taken)


@at_most(20)
@given(rows=CASES)
def prop_what_is_no_manifest_is_refused(api: Any, rows: list[dict[str, Any]]) -> bool:
    raw = json.dumps({"cases": rows}).encode()
    bad = {
        "another key": json.dumps({"cases": rows, "format": 1}).encode(),
        "a bare list": json.dumps(rows).encode(),
        "no list": b"{}",
        "a key twice": raw.replace(b'{"id"', b'{"owner": "x", "id"', 1),
        "a list of texts": b'{"cases": ["late"]}',
        "cut short": raw[:-1],
        "a byte order mark": b"\xef\xbb\xbf" + raw,
        "not UTF-8": raw.replace(b'"id"', b'"\xe9"', 1),
    }
    taken = [how for how, spoilt in bad.items() if not refused(audit(api).freezes.parse, spoilt).startswith(REFUSED)]
    return none_of(taken)
