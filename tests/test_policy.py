"""`oracle/policy.toml`: what it means, and every fault by its key and line."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fence_tasks.model import Finding, RefusedError
from fence_tasks.oracle import policy

FULL = """\
format = 1
[production]
roots = ["src/", "lib/core.py"]
also = ["tests/", "docs/", "CHANGELOG.md", "src/tests/"]
permit = ["src/tests/conftest.py"]
deny = ["src/generated/", "*.min.js"]
[gate]
paths = ["fence_tasks/", "noxfile.py", "tasks.py", ".ci/"]
[people]
route = "code-owners"
paths = ["pyproject.toml", "uv.lock"]
[candidate]
adapter = "command"
path = ["src/"]
imports = ["src/", "./"]
api = "parsekit.api"
argv = ["./run", "--answer"]
build = ["make", "-C", "src"]
requirements = "oracle/candidate-requirements.txt"
python = "3.12"
call_seconds = 2
budget_seconds = 60.5
memory = "512MiB"
isolation = "any"
[fixtures]
function = "normalise"
[properties]
seed = 20261201
examples = 500
min_effective = 0.25
[skips]
unconditional = "report"
conditional = "ban"
deleted = "ban"
markers = ["QuarantinedTest"]
max_bytes = "3KiB"
[freezes]
cap_per_owner = 2
longest_days = 30
runs = 10
[history]
touched = "ban"
"""
VALUE = policy.Policy(
    policy.Production(
        ("src/", "lib/core.py"), ("tests/", "docs/", "CHANGELOG.md", "src/tests/"), ("src/tests/conftest.py",),
        ("src/generated/", "*.min.js"),
    ),
    policy.Gate(("fence_tasks/", "noxfile.py", "tasks.py", ".ci/")),
    policy.People("code-owners", ("pyproject.toml", "uv.lock")),
    policy.Candidate(
        "command", ("src/",), ("src/", "./"), "parsekit.api", ("./run", "--answer"), ("make", "-C", "src"),
        "oracle/candidate-requirements.txt", "3.12", 2.0, 60.5, 512 << 20, "any",
    ),
    policy.Fixtures("normalise"), policy.Properties(20261201, 500, 0.25),
    policy.Skips("report", "ban", "ban", ("QuarantinedTest",), 3 << 10), policy.Freezes(2, 30, 10), policy.History("ban"),
)  # fmt: skip
LEAST = """\
format = 1
[production]
roots = ["src/"]
[candidate]
path = ["src/"]
api = "parsekit.api"
[properties]
seed = 1
"""

#: One fault each, put in the place of a line of FULL: old line, new line, key, what the message says.
FAULTS = (
    ("format = 1", "format = 2", "format", "update-kit"),
    ("format = 1", "format = 0", "format", "format 1"),
    ("format = 1", "format = true", "format", "format 1"),
    ("format = 1", 'format = "1"', "format", "format 1"),
    ("format = 1", "format = 1.0", "format", "format 1"),
    ("[history]", "[histories]", "histories", "unknown"),
    ('function = "normalise"', "functions = 1", "fixtures.functions", "unknown"),
    ('function = "normalise"', '"function " = "x"', "fixtures.function ", "unknown"),
    ('roots = ["src/", "lib/core.py"]', "roots = []", "production.roots", "empty"),
    ('roots = ["src/", "lib/core.py"]', 'root = ["src/"]', "production.root", "unknown"),
    ('roots = ["src/", "lib/core.py"]', 'roots = "src/"', "production.roots", "list"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["src/", 1]', "production.roots", "list"),
    ('roots = ["src/", "lib/core.py"]', 'roots = [""]', "production.roots", "plain path"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["/"]', "production.roots", "plain path"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["/src/"]', "production.roots", "plain path"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["./"]', "production.roots", "plain path"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["."]', "production.roots", "plain path"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["../src/"]', "production.roots", "plain path"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["src/../x/"]', "production.roots", "plain path"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["src//"]', "production.roots", "plain path"),
    ('roots = ["src/", "lib/core.py"]', "roots = ['src\\x\\']", "production.roots", "plain path"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["oracle/"]', "production.roots", "overlaps"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["oracle/properties/"]', "production.roots", "overlaps"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["oracle"]', "production.roots", "overlaps"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["Oracle/"]', "production.roots", "overlaps"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["\uff4fracle/"]', "production.roots", "overlaps"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["ora\\u200Bcle/"]', "production.roots", "overlaps"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["ORACLE~1/"]', "production.roots", "overlaps"),
    ('roots = ["src/", "lib/core.py"]', 'roots = ["NoxFile.py"]', "production.roots", "overlaps"),
    ('roots = ["src/", "lib/core.py"]', 'roots = [".github/workflows/"]', "production.roots", "overlaps"),
    ('roots = ["src/", "lib/core.py"]', 'roots = [".ci/"]', "production.roots", "overlaps"),
    ('also = ["tests/", "docs/", "CHANGELOG.md", "src/tests/"]', 'also = ["tests/", ""]', "production.also", "plain path"),
    ('also = ["tests/", "docs/", "CHANGELOG.md", "src/tests/"]', 'also = ["ORACLE/x"]', "production.also", "overlaps"),
    ('also = ["tests/", "docs/", "CHANGELOG.md", "src/tests/"]', 'also = ["jenkinsfile"]', "production.also", "overlaps"),
    ('also = ["tests/", "docs/", "CHANGELOG.md", "src/tests/"]', 'also = ["src/"]', "candidate.path", "never loaded"),
    ('permit = ["src/tests/conftest.py"]', "permit = 1", "production.permit", "list"),
    ('deny = ["src/generated/", "*.min.js"]', "deny = [[]]", "production.deny", "list"),
    ('deny = ["src/generated/", "*.min.js"]', 'deny = ["src/[a"]', "production.deny", "pattern"),
    ('deny = ["src/generated/", "*.min.js"]', 'deny = ["!src/x"]', "production.deny", "pattern"),
    ('paths = ["fence_tasks/", "noxfile.py", "tasks.py", ".ci/"]', 'paths = ["../x"]', "gate.paths", "plain path"),
    ('paths = ["fence_tasks/", "noxfile.py", "tasks.py", ".ci/"]', 'paths = ["src/"]', "production.roots", "overlaps"),
    ('paths = ["fence_tasks/", "noxfile.py", "tasks.py", ".ci/"]', 'paths = ["SRC/gate/"]', "production.roots", "overlaps"),
    ('route = "code-owners"', 'route = "owners"', "people.route", "refuse, code-owners"),
    ('paths = ["pyproject.toml", "uv.lock"]', 'paths = ["/etc"]', "people.paths", "plain path"),
    ('adapter = "command"', 'adapter = "java"', "candidate.adapter", "python, command, filter"),
    ('adapter = "command"', "adapter = false", "candidate.adapter", "str"),
    ('path = ["src/"]', "path = []", "candidate.path", "empty"),
    ('path = ["src/"]', 'path = ["oracle/x/"]', "candidate.path", "never loaded"),
    ('path = ["src/"]', 'path = ["tests/x/"]', "candidate.path", "never loaded"),
    ('path = ["src/"]', 'path = ["./"]', "candidate.path", "plain path"),
    ('imports = ["src/", "./"]', 'imports = ["../"]', "candidate.imports", "plain path"),
    ('argv = ["./run", "--answer"]', "argv = []", "candidate.argv", "empty"),
    ('build = ["make", "-C", "src"]', 'build = "make"', "candidate.build", "list"),
    ('requirements = "oracle/candidate-requirements.txt"', 'requirements = "requirements.txt"', "candidate.requirements",
     "under oracle/"),
    ('requirements = "oracle/candidate-requirements.txt"', 'requirements = "oracle/../src/requirements.txt"',
     "candidate.requirements", "oracle/../src"),
    ('python = "3.12"', "python = 3.12", "candidate.python", "str"),
    ("call_seconds = 2", "call_seconds = 0", "candidate.call_seconds", "outside"),
    ("call_seconds = 2", "call_seconds = nan", "candidate.call_seconds", "outside"),
    ("call_seconds = 2", "call_seconds = inf", "candidate.call_seconds", "outside"),
    ("call_seconds = 2", "call_seconds = true", "candidate.call_seconds", "float"),
    ("call_seconds = 2", "call_seconds = 1" + "0" * 400, "candidate.call_seconds", ""),
    ("budget_seconds = 60.5", "budget_seconds = -1.0", "candidate.budget_seconds", "outside"),
    ('memory = "512MiB"', 'memory = "512MB"', "candidate.memory", "size"),
    ('memory = "512MiB"', "memory = 512", "candidate.memory", "size"),
    ('memory = "512MiB"', 'memory = "0MiB"', "candidate.memory", "size"),
    ('memory = "512MiB"', 'memory = "512MiB\\n"', "candidate.memory", "size"),
    ('memory = "512MiB"', 'memory = "\u0665MiB"', "candidate.memory", "size"),
    ('isolation = "any"', 'isolation = "none"', "candidate.isolation", "confined, any"),
    ('function = "normalise"', "function = []", "fixtures.function", "str"),
    ("seed = 20261201", "seed = -1", "properties.seed", "outside"),
    ("seed = 20261201", "seed = 1.0", "properties.seed", "int"),
    ("seed = 20261201", "seed = 18446744073709551616", "properties.seed", "outside"),
    ("examples = 500", "examples = 0", "properties.examples", "outside"),
    ("min_effective = 0.25", "min_effective = 1.01", "properties.min_effective", "outside"),
    ('unconditional = "report"', 'unconditional = "allow"', "skips.unconditional", "ban, report"),
    ('conditional = "ban"', "conditional = 1", "skips.conditional", "str"),
    ('deleted = "ban"', 'deleted = ""', "skips.deleted", "ban, report"),
    ('markers = ["QuarantinedTest"]', 'markers = "x"', "skips.markers", "list"),
    ('max_bytes = "3KiB"', 'max_bytes = "3kib"', "skips.max_bytes", "size"),
    ("cap_per_owner = 2", "cap_per_owner = -1", "freezes.cap_per_owner", "outside"),
    ("longest_days = 30", "longest_days = 0", "freezes.longest_days", "outside"),
    ("runs = 10", "runs = 0", "freezes.runs", "outside"),
    ('touched = "ban"', 'touched = "off"', "history.touched", "report, ban"),
)
#: Required keys taken out of LEAST.
MISSING = ('roots = ["src/"]', 'path = ["src/"]', "seed = 1", 'api = "parsekit.api"')
#: One fault, however a person lays the file out: text, the fault's key, its line.
LAYOUTS = (
    ("format = 1\nproduction = 5\n", "production", 2),
    ("format = 1\nproduction = 'roots'\n", "production", 2),
    ("format = 1\nproduction = ['roots']\n", "production", 2),
    ("format = 1\n[[production]]\nroots = ['src/']\n", "production", 2),
    ("format = 1\n\n[fixtures.extra]\nx = 1\n", "fixtures.extra", 3),
    ("format = 1\nproduction.roots = [1]\n", "production.roots", 2),
    ("format = 1\nproduction = { roots = [1] }\n", "production.roots", 2),
    ("format = 1\n[ production ] # code\n  roots=[1]\n", "production.roots", 3),
    ("format = 1\n['production']\n'roots' = [1]\n", "production.roots", 3),
    ("format = 1\n[production]\nroots = [\n  'src/',\n  1,\n]\n", "production.roots", 3),
    ("format = 1\n[production]\nalso = [\n  '[people]',\n]\nroots = 1\n", "production.roots", 6),
    ("format = 1\n[fixtures]\nfunction = '''\n[production]\nroots = 1\n'''\n[production]\nroots = 1\n",
     "production.roots", 8),
)  # fmt: skip
#: TOML that a person would not write.
HOSTILE = (
    b"", b"format = 1\n[production\n", b"format = 1\nformat = 1\n", b"format = 1\n\xff = 2\n", b"\xef\xbb\xbfformat = 1\n",
    b"format = 1\0\n", b"format = 1\nx = " + b"9" * 5000 + b"\n", b"format = 1\nx = " + b"[" * 3000 + b"]" * 3000 + b"\n",
    b"format = 1\n" + b"a." * 3000 + b"b = 1\n", b"format = 1\nx = 1979-05-27T07:32:00Z\n", b"format = 1\n[production]\n" * 2,
)  # fmt: skip


def faults(text: str | bytes) -> list[Finding]:
    """The findings of a policy that must not be accepted."""
    with pytest.raises(RefusedError) as refused:
        policy.parse(text.encode() if isinstance(text, str) else text)
    found = list(refused.value.findings)
    assert {f.rule for f in found} == {"policy-malformed"}
    assert {f.path for f in found} == {"oracle/policy.toml"}
    return found


def rules_of(raw: bytes) -> set[str]:
    """The rules of a policy's faults; empty if it has none."""
    try:
        policy.parse(raw)
    except RefusedError as refused:
        return {f.rule for f in refused.findings}
    return set()


def test_a_full_policy_means_what_it_says() -> None:
    assert policy.parse(FULL.encode()) == VALUE


def test_the_least_policy_has_the_defaults_of_the_design() -> None:
    least = policy.parse(LEAST.encode())
    assert least.gate.paths == ("fence_tasks/", "noxfile.py", "tasks.py", ".github/", ".gitlab-ci.yml")
    assert (least.people.route, least.people.paths) == ("refuse", ())
    assert (least.candidate.adapter, least.candidate.isolation) == ("python", "confined")
    assert (least.candidate.call_seconds, least.candidate.budget_seconds) == (5.0, 120.0)
    assert least.candidate.memory == 1 << 30
    assert (least.properties.examples, least.properties.min_effective) == (200, 0.1)
    assert (least.skips.unconditional, least.skips.max_bytes) == ("ban", 2 << 20)
    assert (least.freezes.cap_per_owner, least.freezes.longest_days, least.freezes.runs) == (5, 90, 50)
    assert least.history.touched == "report"


def test_line_ends_of_windows_change_nothing() -> None:
    assert policy.parse(FULL.replace("\n", "\r\n").encode()) == VALUE


def test_oracle_gate_and_the_forges_ci_files_are_protected_whatever_the_policy_says() -> None:
    protected = policy.parse(FULL.encode()).protected
    assert {"oracle/", ".ci/", "fence_tasks/", ".github/", ".gitlab-ci.yml", "Jenkinsfile"} <= set(protected)


@pytest.mark.parametrize(("old", "new", "key", "says"), FAULTS, ids=[f"{new[:40]!a}" for _, new, _, _ in FAULTS])
def test_a_fault_is_reported_with_its_key_and_line(old: str, new: str, key: str, says: str) -> None:
    lines = FULL.splitlines()
    changed = "\n".join(new if line == old else line for line in lines) + "\n"
    assert changed != FULL
    found = [f for f in faults(changed) if f.message.startswith(f"{key}: ") and says in f.message]
    assert found, [f.message for f in faults(changed)]
    names = {key.rsplit(".", 1)[-1], f"[{key}]", f'"{key.rsplit(".", 1)[-1]}"'}
    line = changed.splitlines()[found[0].line - 1]
    assert line.split(" = ")[0] in names


@pytest.mark.parametrize("line", MISSING)
def test_a_missing_key_is_reported_with_the_line_of_its_section(line: str) -> None:
    found = faults(LEAST.replace(line + "\n", ""))
    key = line.split(" = ", maxsplit=1)[0]
    assert [f.message.split(":")[0].split(".")[1] for f in found] == [key]
    section = found[0].message.split(".")[0]
    assert LEAST.splitlines()[found[0].line - 1] == f"[{section}]"


@pytest.mark.parametrize(("text", "key", "line"), LAYOUTS, ids=[ascii(t[:50]) for t, _, _ in LAYOUTS])
def test_a_fault_has_its_line_however_the_file_is_laid_out(text: str, key: str, line: int) -> None:
    assert (key, line) in [(f.message.split(":")[0], f.line) for f in faults(text)]


@pytest.mark.parametrize("text", HOSTILE, ids=[ascii(t[:40]) for t in HOSTILE])
def test_hostile_toml_is_malformed_and_never_a_fault_of_the_gate(text: bytes) -> None:
    assert all(f.message for f in faults(text))


def test_toml_that_cannot_be_read_is_reported_with_its_line() -> None:
    assert [f.line for f in faults("format = 1\n[production]\nroots = ['a/']\nroots = ['b/']\n")] == [4]


def test_all_faults_are_reported_not_only_the_first() -> None:
    text = FULL.replace("examples = 500", "examples = 0").replace('"512MiB"', '"x"').replace("[history]", "[past]")
    assert len(faults(text)) == 3


@pytest.mark.parametrize(("size", "value"), [("1B", 1), ("7KiB", 7 << 10), ("2MiB", 2 << 20), ("12GiB", 12 << 30)])
def test_sizes_are_read_in_units_of_1024(size: str, value: int) -> None:
    assert policy.parse((LEAST + f'[skips]\nmax_bytes = "{size}"\n').encode()).skips.max_bytes == value


@pytest.mark.parametrize(
    ("prefix", "path", "answer"),
    [("src/", "src/x", True), ("src/", "src", False), ("src/", "srcs/x", False), ("src/", "Src/x", False),
     ("src/x", "src/x", True), ("src/x", "src/x/y", False), ("src/x", "src/xy", False), ("src/", "src/", True)],
)  # fmt: skip
def test_a_folder_covers_what_lies_below_it_and_a_file_only_itself(prefix: str, path: str, *, answer: bool) -> None:
    assert policy.covers(prefix, path) is answer


def test_every_section_of_the_value_is_a_section_of_the_file() -> None:
    assert [f.name for f in fields(policy.Policy)] == [
        line.strip("[]") for line in FULL.splitlines() if line.startswith("[")
    ]


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_no_bytes_whatever_leak_another_error(raw: bytes) -> None:
    with pytest.raises(RefusedError):
        policy.parse(raw)


@settings(deadline=None)
@given(
    st.sampled_from([line for line in FULL.splitlines() if " = " in line]),
    st.recursive(
        st.one_of(st.text(max_size=6).map(repr), st.integers().map(str), st.booleans().map(lambda b: str(b).lower()),
                  st.floats().map(str), st.just("1979-05-27")),
        lambda inner: st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"), max_leaves=4,
    ),
)  # fmt: skip
def test_any_value_for_any_key_is_a_policy_or_a_fault_of_the_policy(line: str, value: str) -> None:
    text = FULL.replace(line, f"{line.split(' = ', maxsplit=1)[0]} = {value}", 1)
    assert rules_of(text.encode("utf-8", "replace")) <= {"policy-malformed"}
