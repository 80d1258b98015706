"""`oracle/frozen/manifest.json`: flaky cases that people moved out of the proposer's tree."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..model import Finding, RefusedError

PATH = "oracle/frozen/manifest.json"
FOLDER = "oracle/frozen/"
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
DAY = 86400  # seconds


@dataclass(frozen=True, slots=True)
class Case:
    """One frozen case. `expires_unix` is seconds UTC; or `expires_after` a commit and a count of first-parent
    commits, with a ticket. Optional fields are None where the manifest lacks them."""

    id: str
    retired_src_path: str
    owner: str
    reason: str
    repro_cmd: str
    expires_unix: int | None = None
    expires_after: dict[str, Any] | None = None
    ticket: str | None = None
    frozen_path: str | None = None
    content_sha256: str | None = None
    retired_names: tuple[str, ...] | None = None
    observed_runs: int | None = None
    observed_failures: int | None = None
    seed: int | None = None
    machine: str | None = None


_REQUIRED = ("id", "retired_src_path", "owner", "reason", "repro_cmd")
_INTEGERS = {"expires_unix", "observed_runs", "observed_failures", "seed"}
_KNOWN = {f.name for f in fields(Case)}


def parse(raw: bytes) -> tuple[Case, ...]:
    """The cases of a manifest, in its order.

    Raises RefusedError with a `manifest-malformed` finding a fault, each naming the case and key.
    """
    try:
        document = json.loads(raw.decode("utf-8"), object_pairs_hook=_no_twins)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise RefusedError(Finding("manifest-malformed", f"not JSON: {error}", PATH, line)) from error
    if not isinstance(document, dict) or set(document) != {"cases"} or not isinstance(document["cases"], list):
        raise RefusedError(Finding("manifest-malformed", "is not an object with exactly the list `cases`", PATH))
    faults: list[str] = []
    cases = [_case(number, row, faults) for number, row in enumerate(document["cases"])]
    for field in ("id", "frozen_path"):
        values = [getattr(c, field) for c in cases if c and getattr(c, field)]
        faults += [f"{field} {v!r} stands twice" for v in sorted(set(values)) if values.count(v) > 1]
    if faults:
        lines = raw.decode("utf-8").splitlines()
        raise RefusedError(*(Finding("manifest-malformed", f, PATH, _line(f, lines)) for f in faults))
    return tuple(c for c in cases if c)


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return table


def _line(fault: str, lines: list[str]) -> int:
    """The line where a fault's quoted name first stands, else 1."""
    quoted = re.search(r"'([^']+)'", fault)
    return next((n for n, line in enumerate(lines, 1) if quoted and quoted.group(1) in line), 1)


def _case(number: int, row: Any, faults: list[str]) -> Case | None:
    if not isinstance(row, dict):
        faults.append(f"cases[{number}] is not an object")
        return None
    name = repr(row["id"]) if isinstance(row.get("id"), str) else f"cases[{number}]"
    mine = [f"{name}: unknown key {key!r}" for key in row if key not in _KNOWN]
    mine += [f"{name}: {key} is missing or empty" for key in _REQUIRED
             if not isinstance(row.get(key), str) or not row[key].strip()]  # fmt: skip
    mine += [f"{name}: {key} {why}" for key, value in row.items() if key in _KNOWN and (why := _wrong(key, value))]
    if ("expires_unix" in row) == ("expires_after" in row):
        mine.append(f"{name}: needs exactly one of expires_unix and expires_after")
    if "expires_after" in row and "ticket" not in row:
        mine.append(f"{name}: expires_after needs a ticket")
    if isinstance(row.get("frozen_path"), str) and not row["frozen_path"].startswith(f"{FOLDER}{row.get('id')}/"):
        mine.append(f"{name}: frozen_path is not below {FOLDER}{row.get('id')}/")
    faults += mine
    if mine:
        return None
    return Case(**{**row, "retired_names": tuple(row["retired_names"]) if "retired_names" in row else None})


def _wrong(key: str, value: Any) -> str:
    """What is wrong with one value, or "" if nothing is."""
    if key in _INTEGERS:
        return "" if type(value) is int and value >= 0 else "is not a whole number from 0"
    if key == "expires_after":
        good = (isinstance(value, dict) and set(value) == {"commit", "first_parent_commits"}
                and isinstance(value["commit"], str) and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", value["commit"])
                and type(value["first_parent_commits"]) is int and value["first_parent_commits"] > 0)  # fmt: skip
        return "" if good else "is not {commit, first_parent_commits}"
    if key == "retired_names":
        good = isinstance(value, list) and all(isinstance(v, str) and v and _encodable(v) for v in value)
        return "" if good else "is not a list of names"
    if not isinstance(value, str) or not _encodable(value) or (key not in _REQUIRED and not value.strip()):
        return "is not a text, or is empty"
    if key == "id" and not ID.fullmatch(value):
        return "is not a plain name of letters, digits, `_`, `.` and `-`"
    if key in {"retired_src_path", "frozen_path"} and (
        not value.isprintable() or any(p in {"", ".", ".."} for p in value.split("/"))
    ):
        return "is not a plain path relative to the root"
    if key == "content_sha256" and not re.fullmatch(r"[0-9a-f]{64}", value):
        return "is not 64 hex digits"
    return ""


def _encodable(value: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in value)  # JSON can hold half of a surrogate pair


def render(cases: tuple[Case, ...]) -> bytes:
    """The manifest of `cases`: JSON, two blanks an indent, keys without a value left out."""
    rows = [{k: v for k, v in asdict(case).items() if v is not None} for case in cases]
    return (json.dumps({"cases": rows}, indent=2, ensure_ascii=False) + "\n").encode()


def caps(cases: tuple[Case, ...], per_owner: int) -> list[str]:
    """The owners that hold more cases than the policy's cap, sorted."""
    owners = [case.owner for case in cases]
    return sorted(o for o in set(owners) if owners.count(o) > per_owner)
