"""`oracle/policy.toml`: read as it stands, defaults as documented, and nothing taken that is not in the schema."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from _aliases import alias
from _kit import audit, none_of, refused

from fence_tasks.properties import at_most, cover, given, st

Tables = dict[str, dict[str, Any]]
MIB, GIB = 1 << 20, 1 << 30
#: The schema with its defaults, from docs/formats.md; None is "required".
SCHEMA: Tables = {
    "production": {"roots": None, "also": [], "permit": [], "deny": []},
    "gate": {"paths": ["fence_tasks/", "noxfile.py", "tasks.py", ".github/", ".gitlab-ci.yml"]},
    "people": {"route": "refuse", "paths": []},
    "candidate": {"adapter": "python", "path": None, "imports": [], "api": "", "argv": [], "build": [],
                  "requirements": "", "python": "", "call_seconds": 5.0, "budget_seconds": 120.0, "memory": "1GiB",
                  "isolation": "confined"},
    "fixtures": {"function": ""},
    "properties": {"seed": None, "examples": 200, "min_effective": 0.1},
    "skips": {"unconditional": "ban", "conditional": "report", "deleted": "report", "markers": [],
              "max_bytes": "2MiB"},
    "freezes": {"cap_per_owner": 5, "longest_days": 90, "runs": 50},
    "history": {"touched": "report"},
}  # fmt: skip
LEAST: Tables = {
    "production": {"roots": ["src/"]}, "candidate": {"path": ["src/"], "api": "kit.api"}, "properties": {"seed": 7},
}  # fmt: skip
SIZES = {"1B": 1, "3KiB": 3 << 10, "512MiB": 512 * MIB, "2GiB": 2 * GIB, "1GiB": GIB, "2MiB": 2 * MIB}
_PATTERNS = st.lists(st.sampled_from(["*.min.js", "src/gen/", "src/**/é b?.[ch]", "/x"]), max_size=2)
_BAN, _FOLDERS = st.sampled_from(["ban", "report"]), st.sampled_from([["docs/"], ["docs/", "CHANGELOG.md"], []])
#: Some of the keys that may be set, each with legal values.
LEGAL: dict[tuple[str, str], st.SearchStrategy[Any]] = {
    ("production", "roots"): st.sampled_from([["src/"], ["src/", "lib/x/"], ["pkg/"]]),
    ("production", "also"): _FOLDERS,
    ("production", "permit"): _PATTERNS,
    ("production", "deny"): _PATTERNS,
    ("gate", "paths"): st.sampled_from([["noxfile.py"], ["ci/", "tools/gate/"], []]),
    ("people", "route"): st.sampled_from(["refuse", "code-owners"]),
    ("people", "paths"): st.sampled_from([["pyproject.toml"], ["src/owned/", "uv.lock"], []]),
    ("candidate", "imports"): st.sampled_from([["./"], ["src/"], []]),
    ("candidate", "requirements"): st.sampled_from(["oracle/candidate-requirements.txt", ""]),
    ("candidate", "call_seconds"): st.sampled_from([0.5, 30, 5.0]),
    ("candidate", "memory"): st.sampled_from(sorted(SIZES)),
    ("candidate", "isolation"): st.sampled_from(["confined", "any"]),
    ("fixtures", "function"): st.sampled_from(["normalise", ""]),
    ("properties", "seed"): st.integers(0, 2**63 - 1),
    ("properties", "examples"): st.integers(1, 9999),
    ("properties", "min_effective"): st.sampled_from([0, 0.25, 1.0]),
    ("skips", "unconditional"): _BAN,
    ("skips", "conditional"): _BAN,
    ("skips", "deleted"): _BAN,
    ("skips", "max_bytes"): st.sampled_from(sorted(SIZES)),
    ("freezes", "cap_per_owner"): st.integers(0, 99),
    ("history", "touched"): _BAN,
}
#: Values of the right type that the key may not have, or sizes that are none.
ILLEGAL: dict[tuple[str, str], Any] = {
    ("production", "roots"): [], ("candidate", "path"): [], ("candidate", "api"): "", ("properties", "seed"): -1,
    ("properties", "examples"): 0, ("properties", "min_effective"): 1.5, ("candidate", "call_seconds"): 0,
    ("people", "route"): "anybody", ("candidate", "adapter"): "ruby", ("candidate", "isolation"): "none",
    ("skips", "unconditional"): "allow", ("history", "touched"): "ignore", ("candidate", "memory"): "1 GB",
    ("skips", "max_bytes"): 4096, ("candidate", "requirements"): "requirements.txt", ("freezes", "longest_days"): 0,
    ("candidate", "imports"): ["../"], ("candidate", "budget_seconds"): 0, ("skips", "conditional"): "BAN",
    ("skips", "deleted"): "", ("freezes", "cap_per_owner"): -1, ("freezes", "runs"): 0, ("gate", "paths"): ["/"],
}  # fmt: skip


def toml(tables: Tables, first: str = "format = 1\n") -> bytes:
    """The tables as TOML: what JSON writes for these values is TOML too."""
    lines = [first]
    for name, table in tables.items():
        lines += [f"[{name}]\n"]
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items()]
    return "".join(lines).encode()


@st.composite
def policies(draw: st.DrawFn) -> Tables:
    """A sound policy that sets some keys."""
    tables = deepcopy(LEAST)
    for section, key in draw(st.lists(st.sampled_from(sorted(LEGAL)), max_size=6, unique=True)):
        tables.setdefault(section, {})[key] = draw(LEGAL[section, key])
    return tables


def owed(section: str, key: str, tables: Tables) -> Any:
    """The value that a reader must have of a key: the one set, else the default; sizes in bytes, lists as tuples."""
    value = tables.get(section, {}).get(key, SCHEMA[section][key])
    if key in {"memory", "max_bytes"}:
        return SIZES[value]
    return tuple(value) if isinstance(value, list) else value


@given(tables=policies())
def prop_a_policy_is_read_as_it_stands(api: Any, tables: Tables) -> bool:
    policy = audit(api).policy.parse(toml(tables))
    sections = api.fields(policy, *SCHEMA)
    return all(
        api.fields(section, *SCHEMA[name]) == [owed(name, key, tables) for key in SCHEMA[name]]
        for name, section in zip(SCHEMA, sections, strict=True)
    )


@given(tables=policies(), section=st.sampled_from([*SCHEMA, "", "new"]), key=st.sampled_from(
    ["root", "rootz", "Roots", "seeds", "paths2", "path_", "x", "examples-max", "isolation_", "name"]))  # fmt: skip
def prop_an_unknown_key_is_refused_wherever_it_stands(api: Any, tables: Tables, section: str, key: str) -> bool:
    cover("in a section of the schema", section in SCHEMA, at_least=0.5)
    if section:
        tables = {**deepcopy(tables)}
        tables.setdefault(section, {})[key] = []
    said = refused(audit(api).policy.parse, toml(tables, "format = 1\n" if section else f"format = 1\n{key} = []\n"))
    name = {"": key, "new": "new"}.get(section, f"{section}.{key}")
    return f"policy-malformed: {name}: " in said


@at_most(20)
@given(tables=policies())
def prop_a_value_of_a_wrong_type_or_range_is_refused_by_its_key(api: Any, tables: Tables) -> bool:
    keys = [(name, key) for name, table in SCHEMA.items() for key in table]
    of_another_type = [(at, [1] if isinstance(SCHEMA[at[0]][at[1]], list | type(None)) else False) for at in keys]
    taken = []
    for (section, key), value in [*of_another_type, *ILLEGAL.items()]:
        spoilt = deepcopy(tables)
        spoilt.setdefault(section, {})[key] = value
        if f"policy-malformed: {section}.{key}: " not in refused(audit(api).policy.parse, toml(spoilt)):
            taken.append(f"{section}.{key} = {value!r}")
    return none_of(taken)


@at_most(10)
@given(tables=policies())
def prop_a_format_that_this_kit_does_not_know_is_refused(api: Any, tables: Tables) -> bool:
    taken = []
    for number, newer in {
        "": False,
        "0": False,
        "2": True,
        "99": True,
        "'1'": False,
        "1.0": False,
        "true": False,
    }.items():
        said = refused(audit(api).policy.parse, toml(tables, f"format = {number}\n" if number else ""))
        if "policy-malformed: format: " not in said or ("update-kit" in said) != newer:
            taken.append(number)
    return none_of(taken)


PROTECTED = ["oracle", "oracle/properties", "oracle/LOCK", "tools/gate", "tools/Straße", "noxfile.py",
             ".github/workflows", ".gitlab-ci.yml", "Jenkinsfile"]  # fmt: skip


@given(
    found=st.sampled_from(PROTECTED).flatmap(alias),
    key=st.sampled_from(["roots", "also"]),
    place=st.sampled_from(["at", "below", "above"]),
)
def prop_nothing_writable_overlaps_what_is_protected(
    api: Any, found: tuple[str, set[str]], key: str, place: str
) -> bool:
    path, kinds = found
    cover("by folding alone", bool(kinds - {"backslash"}), at_least=0.3)
    above = path.split("/")[0] if place == "above" else path
    tables = {**deepcopy(LEAST), "gate": {"paths": ["tools/gate/", "tools/Straße/", "noxfile.py"]}}
    tables["production"][key] = ["src/", f"{above}/x/" if place == "below" else f"{above}/"]
    return f"policy-malformed: production.{key}: " in refused(audit(api).policy.parse, toml(tables))


@at_most(10)
@given(tables=policies(), key=st.sampled_from(["roots", "also"]))
def prop_what_climbs_or_is_empty_is_no_root(api: Any, tables: Tables, key: str) -> bool:
    taken = []
    for path in ["", "/", "./", "/src/", "src//x/", "../", "src/../", "src/./", "src\\x/"]:
        spoilt = deepcopy(tables)
        spoilt["production"][key] = ["src/", path]
        if f"policy-malformed: production.{key}: " not in refused(audit(api).policy.parse, toml(spoilt)):
            taken.append(path)
    return none_of(taken)
