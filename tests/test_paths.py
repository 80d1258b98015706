"""Whether one changed path is allowed: the table of the design's section 6.4, a row a name and place."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fence_tasks.fence import paths
from fence_tasks.model import ABSENT, Change, Finding
from fence_tasks.oracle.policy import Candidate, Gate, People, Policy, Production
from fence_tasks.rules import RULES

OLD, NEW = "1" * 40, "2" * 40
POLICY = Policy(
    Production(("lib/src/", "bin/tool"), ("tests/", "CHANGELOG.md", "lib/src/tests/"),
               ("lib/src/ok/",), ("lib/src/generated/", "*.min.js")),
    Gate(("fence_tasks/", "noxfile.py", "ci/")), People("refuse", ("uv.lock",)), Candidate(path=("lib/src/",)),
)  # fmt: skip
#: Where a name may stand: under roots, under also, at the top, in a folder above a root.
PLACES = ("lib/src/pkg/", "tests/unit/", "", "lib/")
ALLOWED, NOTE = "", "reserved-note"

#: The design's table: a name, and what it is under roots, under roots with a permit, under also, at the top, above a root.
TABLE = (
    ("sitecustomize.py", "reserved-name", "reserved-name", "reserved-name", "reserved-name", "reserved-name"),
    ("usercustomize.py", "reserved-name", "reserved-name", "reserved-name", "reserved-name", "reserved-name"),
    ("SiteCustomize.py", "reserved-name", "reserved-name", "reserved-name", "reserved-name", "reserved-name"),
    ("evil.pth", "compiled-file", "compiled-file", "compiled-file", "compiled-file", "compiled-file"),
    ("api.cpython-311.pyc", "compiled-file", "compiled-file", "compiled-file", "compiled-file", "compiled-file"),
    ("API.PYC", "compiled-file", "compiled-file", "compiled-file", "compiled-file", "compiled-file"),
    ("__pycache__/x.py", "compiled-file", "compiled-file", "compiled-file", "compiled-file", "compiled-file"),
    ("evil-1.dist-info/METADATA", "compiled-file", "compiled-file", "compiled-file", "compiled-file", "compiled-file"),
    ("evil.egg-info/x.txt", "compiled-file", "compiled-file", "compiled-file", "compiled-file", "compiled-file"),
    (".hypothesis/examples/x", "compiled-file", "compiled-file", "compiled-file", "compiled-file", "compiled-file"),
    (".gitattributes", "git-name", ALLOWED, "git-name", "git-name", "git-name"),
    (".GitAttributes", "git-name", ALLOWED, "git-name", "git-name", "git-name"),
    (".gitmodules", "git-name", "git-name", "git-name", "git-name", "git-name"),
    (".git", "git-name", "git-name", "git-name", "git-name", "git-name"),
    (".GIT/config", "git-name", "git-name", "git-name", "git-name", "git-name"),
    ("git~1/config", "git-name", "git-name", "git-name", "protected-alias", "git-name"),
    ("conftest.py", "reserved-name", ALLOWED, ALLOWED, "reserved-name", "reserved-name"),
    ("Conftest.py", "reserved-name", ALLOWED, ALLOWED, "reserved-name", "reserved-name"),
    ("pytest.ini", "reserved-name", ALLOWED, ALLOWED, "reserved-name", "reserved-name"),
    ("tox.ini", "reserved-name", ALLOWED, ALLOWED, "reserved-name", "reserved-name"),
    ("setup.cfg", "reserved-name", ALLOWED, ALLOWED, "reserved-name", "reserved-name"),
    ("tasks.py", NOTE, NOTE, NOTE, "reserved-name", "reserved-name"),
    ("Tasks.py", NOTE, NOTE, NOTE, "reserved-name", "reserved-name"),
    ("invoke.yaml", NOTE, NOTE, NOTE, "reserved-name", "reserved-name"),
    ("invoke.yml", NOTE, NOTE, NOTE, "reserved-name", "reserved-name"),
    ("invoke.json", NOTE, NOTE, NOTE, "reserved-name", "reserved-name"),
    ("invoke.py", NOTE, NOTE, NOTE, "reserved-name", "reserved-name"),
    ("repro.py", ALLOWED, ALLOWED, ALLOWED, "stray-file", "stray-file"),
    ("CODEOWNERS", "gate-touched", "gate-touched", "gate-touched", "gate-touched", "gate-touched"),
    ("docs/codeowners", "gate-touched", "gate-touched", "gate-touched", "gate-touched", "gate-touched"),
    ("x.min.js", "policy-denied", "policy-denied", "policy-denied", "stray-file", "stray-file"),
    ("a\\b.py", "name-windows", "name-windows", "name-windows", "name-windows", "name-windows"),
    ("a\u202eb.py", "name-control", "name-control", "name-control", "name-control", "name-control"),
    ("-rf", "name-dash", "name-dash", "name-dash", "name-dash", "name-dash"),
    ("caf\udce9.py", "name-not-utf8", "name-not-utf8", "name-not-utf8", "name-not-utf8", "name-not-utf8"),
    ("n" * 256, "name-long", "name-long", "name-long", "name-long", "name-long"),
    ("../x.py", "name-climbs", "name-climbs", "name-climbs", "name-climbs", "name-climbs"),
)
#: `noxfile.py` at the top is this policy's gate.
NOXFILE = (("lib/src/noxfile.py", NOTE), ("tests/noxfile.py", NOTE), ("noxfile.py", "gate-touched"),
           ("lib/noxfile.py", "reserved-name"))  # fmt: skip

#: One path, one answer, whatever its name's place: for an added file, then for an edited one.
WHOLE = (
    ("lib/src/x.py", ALLOWED, ALLOWED), ("lib/src/é/ß.py", ALLOWED, ALLOWED), ("bin/tool", ALLOWED, ALLOWED),
    ("bin/tool/x", "stray-file", "outside-roots"), ("bin/tool2", "stray-file", "outside-roots"),
    ("lib/srcs/x.py", "stray-file", "outside-roots"), ("lib/src", "stray-file", "outside-roots"),
    ("Lib/src/x.py", "stray-file", "outside-roots"), ("lib/SRC/x.py", "stray-file", "outside-roots"),
    ("tests/x.py", ALLOWED, ALLOWED), ("CHANGELOG.md", ALLOWED, ALLOWED), ("changelog.md", "stray-file", "outside-roots"),
    ("lib/src/tests/conftest.py", ALLOWED, ALLOWED), ("lib/src/tests/noxfile.py", NOTE, NOTE),
    ("pyproject.toml", "stray-file", "outside-roots"), ("README.md", "stray-file", "outside-roots"),
    ("lib/src/generated/x.py", "policy-denied", "policy-denied"), ("tests/generated/x.py", ALLOWED, ALLOWED),
    ("oracle/LOCK", "oracle-touched", "oracle-touched"), ("oracle", "oracle-touched", "oracle-touched"),
    ("oracle/properties/conftest.py", "oracle-touched", "oracle-touched"),
    ("ORACLE/LOCK", "protected-alias", "protected-alias"), ("oracle./x", "protected-alias", "protected-alias"),
    ("oracle\\LOCK", "protected-alias", "protected-alias"), ("oracle~1/x", "protected-alias", "protected-alias"),
    ("ORACLE~1/x", "protected-alias", "protected-alias"), (" oracle/x", "stray-file", "outside-roots"),
    ("lib/src/oracle/x.py", ALLOWED, ALLOWED), ("tests/oracle/LOCK", ALLOWED, ALLOWED),
    ("fence_tasks/rules.py", "gate-touched", "gate-touched"), ("ci/run", "gate-touched", "gate-touched"),
    ("FENCE_~1/rules.py", "protected-alias", "protected-alias"), ("CI/run", "protected-alias", "protected-alias"),
    ("Noxfile.py", "protected-alias", "protected-alias"), ("NOXFIL~1.PY", "protected-alias", "protected-alias"),
    (".github/workflows/x.yml", "gate-touched", "gate-touched"), (".gitlab-ci.yml", "gate-touched", "gate-touched"),
    (".GitHub/x", "protected-alias", "protected-alias"), ("GITHUB~1/x", "protected-alias", "protected-alias"),
    (".circleci/config.yml", "gate-touched", "gate-touched"), ("Jenkinsfile", "gate-touched", "gate-touched"),
    ("jenkinsfile", "protected-alias", "protected-alias"), ("azure-pipelines.yml", "gate-touched", "gate-touched"),
    (".travis.yml", "gate-touched", "gate-touched"), ("lib/src/.github/x.yml", ALLOWED, ALLOWED),
    ("lib/src/Jenkinsfile", ALLOWED, ALLOWED), ("uv.lock", "people-touched", "people-touched"),
    ("UV.lock", "protected-alias", "protected-alias"), ("lib/src/uv.lock", ALLOWED, ALLOWED),
    ("lib/src/\uff4fracle/x", ALLOWED, ALLOWED), ("lib/src/aux.py", "name-windows", ALLOWED),
    ("lib/src/a:b", "name-windows", ALLOWED), ("lib/src/caf\udce9.py", "name-not-utf8", ALLOWED),
    ("lib/src/-x.py", "name-dash", ALLOWED), ("tests/a\nb", "name-control", ALLOWED),
    ("lib/src/conftest.py", "reserved-name", "reserved-name"), ("lib/src/x.pyc", "compiled-file", "compiled-file"),
    ("lib/src/ok/conftest.py", ALLOWED, ALLOWED), ("lib/src/ok/x.pyc", "compiled-file", "compiled-file"),
    ("tests/.gitattributes", "git-name", "git-name"),
)  # fmt: skip


def added(path: str, mode: str = "100644") -> Change:
    """A path that base lacks."""
    return Change(path, ABSENT, mode, "0" * 40, NEW)


def edited(path: str, old: str = "100644", new: str = "100644") -> Change:
    """A path that base has, with other content or another mode."""
    return Change(path, old, new, OLD, NEW)


def deleted(path: str, mode: str = "100644") -> Change:
    """A path that the merge result lacks."""
    return Change(path, mode, ABSENT, OLD, "0" * 40)


def rule(change: Change, policy: Policy = POLICY) -> str:
    """The one rule that a path gets, "" if it is allowed without a word."""
    found = paths.judge_path(change, policy)
    assert len(found) <= 1, found
    assert all(f.path == change.path and f.message for f in found)
    return found[0].rule if found else ""


ROWS = [
    (folder + name, wanted)
    for name, roots, permitted, also, top, above in TABLE
    for folder, wanted in zip((*PLACES, "lib/src/ok/"), (roots, also, top, above, permitted), strict=True)
]


@pytest.mark.parametrize(("path", "wanted"), [*ROWS, *NOXFILE], ids=[ascii(p)[1:50] for p, _ in [*ROWS, *NOXFILE]])
def test_the_table_of_the_design_holds_for_a_new_file(path: str, wanted: str) -> None:
    assert rule(added(path)) == wanted


@pytest.mark.parametrize(("path", "new", "old"), WHOLE, ids=[ascii(p)[1:50] for p, _, _ in WHOLE])
def test_one_path_has_one_answer(path: str, new: str, old: str) -> None:
    assert (rule(added(path)), rule(edited(path))) == (new, old)


def test_every_denial_is_an_error_and_the_note_is_a_note() -> None:
    wanted = {w for _, w in ROWS} | {w for _, *both in WHOLE for w in both}
    assert {w for w in wanted - {ALLOWED} if RULES[w].level == "note"} == {NOTE}


#: What base has and how it may change: old mode, new mode, the rule.
MODES = (
    ("100644", "100755", ALLOWED), ("100755", "100644", ALLOWED), ("100644", "120000", "link-added"),
    ("120000", "120000", "link-added"), ("120000", "100644", ALLOWED), ("120000", ABSENT, ALLOWED),
    ("100644", "160000", "submodule-added"), ("160000", "160000", "submodule-added"), ("160000", ABSENT, ALLOWED),
    ("160000", "100644", ALLOWED), (ABSENT, "120000", "link-added"), (ABSENT, "160000", "submodule-added"),
    (ABSENT, "100755", ALLOWED), (ABSENT, "100664", "mode-odd"), ("100644", "100600", "mode-odd"),
    ("100644", ABSENT, ALLOWED), (ABSENT, "040001", "mode-odd"), (ABSENT, "120777", "mode-odd"),
)  # fmt: skip


@pytest.mark.parametrize(("old", "new", "wanted"), MODES)
@pytest.mark.parametrize("folder", ["lib/src/", "tests/"])
def test_only_regular_files_may_come_and_anything_may_go(folder: str, old: str, new: str, wanted: str) -> None:
    assert rule(Change(f"{folder}x", old, new, OLD, NEW)) == wanted


@pytest.mark.parametrize("path", ["oracle/LOCK", "fence_tasks/x.py", "uv.lock", "ORACLE/x", "CODEOWNERS"])
@pytest.mark.parametrize("kind", [added, edited, deleted])
def test_a_protected_path_is_refused_whatever_is_done_to_it(path: str, kind: object) -> None:
    assert callable(kind)
    assert RULES[rule(kind(path))].level == "error"


@pytest.mark.parametrize("path", ["README.md", "pyproject.toml", "lib/conftest.py", "lib/README.md"])
def test_what_lies_outside_may_not_go_either(path: str) -> None:
    assert rule(deleted(path)) == "outside-roots"


@pytest.mark.parametrize(
    "path", ["lib/src/conftest.py", "lib/src/x.pyc", "tests/sitecustomize.py", "lib/src/aux.py", "lib/src/__pycache__/x"]
)
def test_what_the_table_denies_may_be_taken_out_of_the_roots(path: str) -> None:
    assert rule(deleted(path)) == ALLOWED


def test_the_more_exact_place_wins() -> None:
    assert paths.place("lib/src/x", POLICY) == "roots"
    assert paths.place("lib/src/tests/x", POLICY) == "also"
    inner = Policy(Production(("a/b/",), ("a/",)))
    assert [paths.place(p, inner) for p in ("a/x", "a/b/x", "ab/x")] == ["also", "roots", ""]


def test_a_permit_lifts_only_the_names_that_the_table_marks() -> None:
    everything = Policy(Production(("src/",), ("tests/",), ("**",)), Gate(("gate/",)))
    denied = {f"src/{name}": want for name, _, want, *_ in TABLE if want not in {ALLOWED, NOTE, "policy-denied"}}
    assert {path: rule(added(path), everything) for path in denied} == denied
    assert rule(added("conftest.py"), everything) == "reserved-name"
    assert rule(added("tests/.gitattributes"), everything) == "git-name"


def test_a_denied_pattern_refuses_a_deletion_too() -> None:
    assert rule(deleted("lib/src/generated/x.py")) == "policy-denied"


CLASHES: tuple[tuple[list[str], list[str], str], ...] = (
    (["src/API.py"], ["src/API.py", "src/api.py"], "src/API.py"),
    (["src/Pkg/x.py"], ["src/Pkg", "src/pkg"], "src/Pkg/x.py"),
    (["Src/x.py"], ["Src", "src"], "Src/x.py"),
    (["src/d\u00e9lai.py"], ["src/d\u00e9lai.py", "src/de\u0301lai.py"], "src/d\u00e9lai.py"),
    (["src/stra\u00dfe"], ["src/stra\u00dfe", "src/STRASSE"], "src/stra\u00dfe"),
    (["src/a\u200db"], ["src/a\u200db", "src/ab"], "src/a\u200db"),
    (["src/x"], ["src/x", "src/x."], "src/x"),
    (["src/x.py"], ["src/x.py", "src/x.pyi", "src/xx.py"], ""),
    (["src/x.py"], ["src/x.py"], ""),
    ([], ["src/API.py", "src/api.py"], ""),
)


def folders(present: list[str]) -> dict[str, list[str]]:
    """The folders of a tree with these entries, as `clashes` wants them."""
    found: dict[str, list[str]] = {}
    for path in present:
        found.setdefault(path.rpartition("/")[0], []).append(path)
    return found


@pytest.mark.parametrize(("new", "present", "wanted"), CLASHES, ids=[ascii(n) for n, _, _ in CLASHES])
def test_an_added_name_may_not_be_a_siblings_on_a_folding_disk(new: list[str], present: list[str], wanted: str) -> None:
    found = paths.clashes(new, folders(present))
    assert [(f.rule, f.path) for f in found] == ([("name-clash", wanted)] if wanted else [])


def test_two_added_names_that_clash_are_both_named() -> None:
    both = ["src/A.py", "src/a.py"]
    assert [f.path for f in paths.clashes(both, folders(both))] == both


def test_a_thousand_files_in_a_clashing_folder_are_one_finding() -> None:
    new = [f"src/Gen/f{n}" for n in range(1000)]
    assert len(paths.clashes(new, folders(["src/Gen", "src/gen", *new]))) == 1


REPOSITORIES = (
    (["src/v/HEAD"], ["src/v/HEAD", "src/v/objects", "src/v/refs"], True),
    (["src/v/objects/x"], ["src/v/head", "src/v/OBJECTS", "src/v/refs"], True),
    (["src/v/HEAD"], ["src/v/HEAD", "src/v/commondir"], True),
    (["HEAD"], ["HEAD", "objects", "refs"], True),
    (["src/v/x"], ["src/v/x", "src/v/HEAD", "src/v/objects"], False),
    (["src/w/x"], ["src/w/x", "src/v/HEAD", "src/v/objects", "src/v/refs"], False),
)


@pytest.mark.parametrize(("new", "present", "found"), REPOSITORIES)
def test_an_addition_may_not_complete_a_bare_repository(new: list[str], present: list[str], *, found: bool) -> None:
    assert [f.rule for f in paths.repositories(new, folders(present))] == ["git-name"] * found


NAME = st.text(st.sampled_from("orcleORACLE.~1 \\:\u200d\u00e9src/"), min_size=1, max_size=14)


@settings(deadline=None)
@given(NAME)
@example("lib/src/../../oracle/LOCK")
@example("lib/src//oracle")
def test_whatever_is_allowed_lies_byte_for_byte_under_a_root_or_also(path: str) -> None:
    for candidate in (path, f"lib/src/{path}", f"tests/{path}"):
        found: list[Finding] = paths.judge_path(added(candidate), POLICY)
        if all(RULES[f.rule].level == "note" for f in found):
            assert candidate.startswith(("lib/src/", "tests/")) or candidate in {"bin/tool", "CHANGELOG.md"}
            assert not {"", ".", ".."} & set(candidate.split("/"))
