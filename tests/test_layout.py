"""Where a repository keeps its production code, as `init-split` understands it."""

from __future__ import annotations

import pytest

from fence_tasks.maintain import layout
from fence_tasks.maintain.refusals import TaskError

SRC = ["README.md", "src/parsekit/__init__.py", "src/parsekit/api.py", "src/tests/test_api.py", "tests/test_all.py"]
FLAT = ["parsekit/__init__.py", "parsekit/api.py", "parsekit/tests/test_api.py", "setup.py"]
SPACE = ["lib/space/kit/api.py", "lib/space/kit/__init__.py"]

Texts = tuple[str, ...]
Row = tuple[str, list[str], list[str], list[str], str, Texts, Texts, Texts, str]
GOOD: list[Row] = [
    # what it is, paths, --production, --also, --api, roots, also, imports, api
    ("a src layout", SRC, ["src/"], [], "parsekit.api", ("src/",), (), ("src/",), "parsekit.api"),
    ("without the slash", SRC, ["src"], ["tests"], "parsekit", ("src/",), ("tests/",), ("src/",), "parsekit"),
    ("with a leading ./", SRC, ["./src/"], [], "parsekit", ("src/",), (), ("src/",), "parsekit"),
    ("the only package is the api", SRC, ["src/"], [], "", ("src/",), (), ("src/",), "parsekit"),
    ("a flat layout", FLAT, ["parsekit/"], [], "parsekit.api", ("parsekit/",), (), ("./",), "parsekit.api"),
    ("a flat layout, api guessed", FLAT, ["parsekit/"], [], "", ("parsekit/",), (), ("./",), "parsekit"),
    ("a package deeper down", ["py/kit/__init__.py"], ["py/kit/"], [], "kit", ("py/kit/",), (), ("py/",), "kit"),
    ("a namespace package", SPACE, ["lib/"], [], "space.kit.api", ("lib/",), (), ("lib/",), "space.kit.api"),
    ("one module at the top", ["kit.py"], ["kit.py"], [], "", ("kit.py",), (), ("./",), "kit"),
    ("a compiled module", ["src/kit.c", "src/kit.pyx"], ["src/"], [], "kit", ("src/",), (), ("src/",), "kit"),
    ("several also, commas and twice", SRC, ["src/"], ["tests/,README.md", "tests/"], "parsekit", ("src/",),
     ("tests/", "README.md"), ("src/",), "parsekit"),
    ("also that is not there yet", SRC, ["src/"], ["docs/"], "parsekit", ("src/",), ("docs/",), ("src/",), "parsekit"),
    ("two roots", [*SRC, "lib/x/__init__.py"], ["src/", "lib/"], [], "parsekit", ("src/", "lib/"), (),
     ("src/", "lib/"), "parsekit"),
    ("a name with a blank and an accent", ["mon é/kit.py"], ["mon é"], [], "", ("mon é/",), (), ("mon é/",), "kit"),
]  # fmt: skip
BAD = [
    # what is wrong, --production, --api, a word of the message
    ("no root at all", [], "parsekit", "--production is missing"),
    ("an empty root", [""], "parsekit", "--production is missing"),
    ("a root that is not there", ["scr/"], "parsekit", "no such folder"),
    ("a root that is the beginning of a name", ["sr"], "parsekit", "no such folder"),
    ("a root that climbs", ["../src/"], "parsekit", "counted from there"),
    ("the repository itself", ["./"], "parsekit", "counted from there"),
    ("a dot", ["."], "parsekit", "counted from there"),
    ("an absolute root", ["/src/"], "parsekit", "counted from there"),
    ("a backslash", ["src\\"], "parsekit", "counted from there"),
    ("a module that is not there", ["src/"], "parsekit.apy", "no module under src/"),
    ("a module outside the roots", ["tests/"], "parsekit", "no module under tests/"),
    ("a name that is no module", ["src/"], "parsekit/api", "not a module's name"),
]


@pytest.mark.parametrize("row", GOOD, ids=[row[0] for row in GOOD])
def test_a_layout_is_understood(row: Row) -> None:
    _, paths, production, also, api, *_ = row
    assert layout.of(paths, production, also, api) == layout.Layout(row[5], row[6], row[7], row[8])


@pytest.mark.parametrize(("production", "api", "said"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_wrong_word_is_bad_input(production: list[str], api: str, said: str) -> None:
    with pytest.raises(TaskError) as caught:
        layout.of(SRC, production, [], api)
    assert caught.value.code == 64
    assert said in caught.value.findings[0].message


def test_two_packages_need_the_api_named() -> None:
    with pytest.raises(TaskError, match="which module is the public one"):
        layout.of(["src/a/__init__.py", "src/b/__init__.py"], ["src/"], [], "")
