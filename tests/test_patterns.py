"""gitignore's patterns: `git check-ignore` in a real repository is the oracle."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fence_tasks.oracle.patterns import check, matches
from tests.host import plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Pattern, a path it matches, a path it does not: gitignore(5), sentence by sentence.
DOCUMENTED = (
    ("build", "build", "builds"),
    ("build", "a/b/build/x.o", "a/b/build.o"),
    ("build/", "a/build/x.o", "a/build"),
    ("/build", "build/x", "a/build"),
    ("a/build", "a/build/x", "b/a/build"),
    ("a/build/", "a/build/x", "a/build"),
    ("*.py", "a/b/x.py", "a/b/x.pyi"),
    ("*.py", "\u00e9.py", "\u00e9.pyi"),
    ("\u00e9/", "a/\u00e9/b", "a/e\u0301/b"),
    ("a/*.py", "a/x.py", "a/b/x.py"),
    ("a/*", "a/b/c", "a"),
    ("**/x.py", "a/b/x.py", "a/b/ax.py"),
    ("**/x.py", "x.py", "x.pyi"),
    ("a/**", "a/b/c", "a"),
    ("a/**/b", "a/b", "a/xb"),
    ("a/**/b", "a/x/y/b/z", "ab"),
    ("a**b", "axxb", "a/b"),
    ("?.py", "x.py", "xy.py"),
    ("a?b", "axb", "a/b"),
    ("[a-c].py", "b.py", "d.py"),
    ("[!a-c].py", "d.py", "b.py"),
    ("[^a-c].py", "d.py", "b.py"),
    ("x[!a]y", "xby", "x/y"),
    ("a/x[!a]y", "a/xby", "a/x/y"),
    ("[]].py", "].py", "x.py"),
    ("[!]].py", "x.py", "].py"),
    ("[a-]x", "-x", "bx"),
    ("[[:digit:]].py", "7.py", "d.py"),
    ("[[:alpha:]_]x", "_x", "7x"),
    ("[\\]]x", "]x", "\\x"),
    ("\\*.py", "*.py", "x.py"),
    ("\\!x", "!x", "x"),
    ("\\#x", "#x", "x"),
    ("a\\?b", "a?b", "axb"),
    ("x.y", "x.y", "xzy"),
    ("(x|y)+", "(x|y)+", "x"),
    ("x ", "x", "x "),
    ("x\\ ", "x ", "x"),
)
#: Characters that mean something to a pattern, to a regular expression, or to both.
#: Left out: `**` glued to a letter and a class or `?` against a letter of several bytes, where git's own answers turn on
#: how it stores a pattern.
PIECE = st.sampled_from(["a", "b", "c", "*", "?", "/", "/**/", "[ab]", "[!a]", "[^b]", "[a-b]", "[]a]", "[!]]", ".",
                         "\\*", "\\a", "-", "+", "(", "{a}", "$", "^", "|", " x"])  # fmt: skip
PATTERN = st.lists(PIECE, min_size=1, max_size=5).map("".join)
NAME = st.text(st.sampled_from("abc*]-.+($^| x{}"), min_size=1, max_size=3).filter(lambda n: n not in {".", ".."})
PATH = st.lists(NAME, min_size=1, max_size=4).map("/".join)


def ignored(folder: Path, questions: Sequence[tuple[str, str]]) -> list[bool]:
    """Git's answer for each (pattern, path): every pattern is the `.gitignore` of a folder of its own."""
    repository = folder / "repository"
    if not repository.exists():
        subprocess.run(["git", "init", "--quiet", repository], env=plain(folder), check=True)
    patterns = list(dict.fromkeys(pattern for pattern, _ in questions))
    for number, pattern in enumerate(patterns):
        (repository / f"p{number}").mkdir(exist_ok=True)
        (repository / f"p{number}/.gitignore").write_text(pattern + "\n", "utf-8")
    asked = [f"p{patterns.index(pattern)}/{path}" for pattern, path in questions]
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"], cwd=repository, env=plain(folder), check=False,
        input="\0".join(asked).encode(), capture_output=True,
    )  # fmt: skip
    assert done.returncode in {0, 1}, done.stderr
    answers = set(done.stdout.decode().split("\0"))
    return [path in answers for path in asked]


@pytest.mark.parametrize(("pattern", "path", "other"), DOCUMENTED)
def test_a_documented_pattern_matches_as_gits_manual_says(tmp_path: Path, pattern: str, path: str, other: str) -> None:
    assert ignored(tmp_path, [(pattern, path), (pattern, other)]) == [True, False], "the row itself is wrong"
    assert matches(pattern, path)
    assert not matches(pattern, other)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(PATTERN, PATH), min_size=1, max_size=12))
@example([("**/", "a/b"), ("**", "a"), ("/**", "a/b"), ("**/**", "a"), ("a/**/**/b", "a/b"), ("*/a", "b/a/c")])
@example([("a//b", "a/b"), ("/", "a"), ("//a", "a"), ("a/.", "a/b"), ("***", "abc"), ("a***/b", "ax/b")])
@example([("c[!a]b", "c/b"), ("[!]]?", "a/b"), ("c[^a]", "c/b/d")])
@example([("[", "["), ("a[b", "a[b"), ("[]", "[]"), ("[!]", "[!]"), ("trail\\", "trail\\"), ("[a-\\c]", "b")])
def test_every_pattern_matches_what_git_ignores(tmp_path: Path, questions: list[tuple[str, str]]) -> None:
    plain_patterns = [(p.strip(" "), q) for p, q in questions if not p.startswith(("#", "!")) and p.strip(" ")]
    wanted = ignored(tmp_path, plain_patterns)
    found = [matches(pattern, path) for pattern, path in plain_patterns]
    wrong = [(*q, w) for q, w, f in zip(plain_patterns, wanted, found, strict=True) if w is not f]
    assert not wrong, "(pattern, path, git's answer)"


CLASSES = ("alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit", "nope")


def test_every_named_class_holds_the_characters_that_git_says(tmp_path: Path) -> None:
    names = [chr(code) for code in range(1, 128) if chr(code) not in "/."]
    questions = [(f"x[{bang}[:{name}:]]", f"x{char}") for name in CLASSES for bang in ("", "!") for char in names]
    wanted = ignored(tmp_path, questions)
    assert [q for q, w in zip(questions, wanted, strict=True) if matches(*q) is not w] == []


USELESS = ("", "/", "!x", "!", "[a", "src/[", "a\\", "src/x\\", "[[:nope:]]x", "[a-\\", "[]")


@pytest.mark.parametrize("pattern", USELESS)
def test_a_pattern_that_git_never_matches_is_known_as_wrong(tmp_path: Path, pattern: str) -> None:
    paths = ["a", "x", "src/x", "!x", "[a", "[]", "a\\", "[", "src/["]
    assert check(pattern)
    assert pattern.startswith("!") or not any(ignored(tmp_path, [(pattern, path) for path in paths]))


@pytest.mark.parametrize("pattern", [*dict.fromkeys(pattern for pattern, _, _ in DOCUMENTED), "**", "src/", "*"])
def test_a_pattern_that_can_match_is_not_known_as_wrong(pattern: str) -> None:
    assert check(pattern) == ""


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("[]ab-z!^\\:*/&|~."), min_size=1, max_size=10), PATH)
@example("[z-a]", "a")
@example("[[a]", "[")
@example("[a--b]", "a")
@example("[a&&b]", "a")
@example("[a||b]", "a")
@example("[\\", "a")
def test_no_pattern_whatever_makes_the_gate_fail(pattern: str, path: str) -> None:
    assert matches(pattern, path) in {True, False}
