"""File names as values: what the most forgiving file systems fold together, and what is not portable."""

from __future__ import annotations

import subprocess
import unicodedata
from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fence_tasks.model import bytes_of, text_of
from fence_tasks.oracle import names
from tests.host import plain

if TYPE_CHECKING:
    from pathlib import Path

#: What each name is on some disk. One row a kind of folding, protected path on the right.
ALIASES = (
    ("oracle/LOCK", "oracle/", "it is the path itself"),
    ("oracle", "oracle/", "a file takes the folder's place"),
    ("ORACLE/LOCK", "oracle/", "case, on APFS and NTFS"),
    ("oRaClE/x/y", "oracle/", "case, deeper"),
    ("oracle./x", "oracle/", "Windows drops the last dot"),
    ("oracle .. /x", "oracle/", "Windows drops dots and blanks"),
    ("oracle::$INDEX_ALLOCATION/x", "oracle/", "an NTFS stream"),
    ("oracle:s/x", "oracle/", "another stream"),
    ("oracle\\x", "oracle/", "a backslash is a separator on Windows"),
    ("ORACLE~1/x", "oracle/", "a DOS short name"),
    ("or1a2b~1/x", "oracle/", "a hashed short name"),
    ("or~1/x", "oracle/", "a short name of two letters"),
    ("ORACLE~123456.D/x", "oracle/", "a short name with a long number"),
    ("ora\u200dcle/x", "oracle/", "HFS+ ignores joiners"),
    ("\ufefforacle/x", "oracle/", "HFS+ ignores the byte order mark"),
    ("ora\u00adcle/x", "oracle/", "ext4 ignores the soft hyphen"),
    ("oracl\u0435\u200b/x".replace("\u0435", "e"), "oracle/", "a blank of no width"),
    ("\uff4fracle/x", "oracle/", "full width, on file systems that compare NFKC"),
    ("oracl\u212f/x", "oracle/", "a script small e"),
    ("\uff2f\uff32\uff21\uff23\uff2c\uff25/x", "oracle/", "full width and case"),
    ("noxfil~1.py", "noxfile.py", "a file's short name"),
    ("NOXFILE.PY", "noxfile.py", "a file's case"),
    ("noxfile.py/x", "noxfile.py", "a folder in a file's place"),
    ("GITHUB~1/x", ".github/", "short names have no leading dot"),
    (".GitHub/workflows/x", ".github/", "case of a dotted name"),
    ("gitlab~1.yml", ".gitlab-ci.yml", "a short name of a name with two dots"),
    ("fence_~1/x", "fence_tasks/", "a short name keeps the underscore"),
    ("src/\u017fecrets/x", "src/secrets/", "the long s folds to s"),
    ("stra\u00dfe/x", "STRASSE/", "sharp s folds to ss"),
    ("de\u0301lai/x", "d\u00e9lai/", "decomposed, as HFS+ stores it"),
)
#: Names that only look like it: a gate that refuses them blocks honest work.
OTHERS = (
    ("oracles/x", "oracle/"), ("oracle2/x", "oracle/"), ("my-oracle/x", "oracle/"), (" oracle/x", "oracle/"),
    ("src/oracle/x", "oracle/"), ("o/racle", "oracle/"), ("orac1e/x", "oracle/"), ("o~1/x", "oracle/"),
    ("orange~1/x", "oracle/"), ("oracle.py", "oracle/"), ("oracle-x/LOCK", "oracle/"), ("noxfile_old.py", "noxfile.py"),
    ("noxfile.pyi", "noxfile.py"), ("github/x", ".github/"), ("src", "src/secrets/"), ("d\u00e8lai/x", "d\u00e9lai/"),
)  # fmt: skip

#: Code points that git's HFS+ comparison skips (utf8.c, `next_hfs_char`).
HFS_IGNORES = (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
#: Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt, assigned ones and their blocks: ext4 and f2fs
#: leave them out of a folder's comparison where it has `+F` (the kernel's fs/unicode, NFDICF).
DEFAULT_IGNORABLE = (
    0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0x200B, 0x2010),
    *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0,
    *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), 0xE0001, *range(0xE0020, 0xE0080), *range(0xE0100, 0xE01F0),
)  # fmt: skip

ODD = (
    ("src//x.py", "name-climbs"),
    ("/src/x.py", "name-climbs"),
    ("src/x.py/", "name-climbs"),
    ("src/./x.py", "name-climbs"),
    ("src/../x.py", "name-climbs"),
    ("", "name-climbs"),
    ("src/caf\udce9.py", "name-not-utf8"),
    ("src/.git/config", "git-name"),
    ("src/.GIT", "git-name"),
    ("src/.git./x", "git-name"),
    ("src/.git /x", "git-name"),
    ("src/.git::$INDEX_ALLOCATION/x", "git-name"),
    ("src/git~1/x", "git-name"),
    ("src/GIT~27/x", "git-name"),
    ("src/.g\u200cit/x", "git-name"),
    ("src/.\uff47it/x", "git-name"),
    ("src/a\nb.py", "name-control"),
    ("src/a\x7fb.py", "name-control"),
    ("src/\x1b[31mred.py", "name-control"),
    ("src/a\u0085b.py", "name-control"),
    ("src/a\u202eyp.b", "name-control"),
    ("src/a\u2066b.py", "name-control"),
    ("src/a\u200bb.py", "name-control"),
    ("src/a\u2028b.py", "name-control"),
    ("src/a\u2029b.py", "name-control"),
    ("src/a\U000e0041b.py", "name-control"),
    ("src/-rf", "name-dash"),
    ("--help/x", "name-dash"),
    ("src/x.py.", "name-windows"),
    ("src/x.py ", "name-windows"),
    ("src/a:b", "name-windows"),
    ("src/a\\b", "name-windows"),
    ("src/a?b", "name-windows"),
    ("src/a*b", "name-windows"),
    ('src/a"b', "name-windows"),
    ("src/a<b", "name-windows"),
    ("src/a|b", "name-windows"),
    ("src/con", "name-windows"),
    ("src/NUL.txt", "name-windows"),
    ("src/aux/x.py", "name-windows"),
    ("src/com1.py", "name-windows"),
    ("src/LPT\u00b9", "name-windows"),
    ("src/conin$", "name-windows"),
    ("src/nul .x", "name-windows"),
    ("src/PROGRA~1/x", "name-windows"),
    ("src/" + "n" * 256, "name-long"),
    ("src/" + "\u00e9" * 128, "name-long"),
)
PLAIN = (
    "src/x.py", "README.md", ".gitignore", "src/.gitignore", "src/.gitkeep", "src/git", "src/digit~", "src/.hidden",
    "src/a b.py", "src/a-b_c+d,e;f=g@h#i%j&k.py", "src/caf\u00e9.py", "src/cafe\u0301.py",
    "src/\u65e5\u672c\u8a9e/\u540d.py", "src/\u05e9\u05dc\u05d5\u05dd.py", "src/\U0001f600.md", "src/x~", "src/x.py~",
    "src/console.py", "src/auxiliary/x", "src/com.py", "src/com10x.py", "src/null.py", "src/...x", "src/a.b.c", "src/$x",
    "src/" + "n" * 255, "src/" + "\u00e9" * 127, "src/[x].py", "src/{x}.py", "src/'x'.py", "src/!x", "src/_-x",
)  # fmt: skip

relaxed = settings(deadline=None)  # a busy machine is no fault
WORD = st.text(st.sampled_from("abcxyzABCXYZ019._-éÉßñÑжЖσς"), min_size=1, max_size=8)
ANY_NAME = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=12)
FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")


@pytest.mark.parametrize(("path", "protected", "why"), ALIASES, ids=[why for _, _, why in ALIASES])
def test_a_name_that_some_disk_opens_as_a_protected_path_is_below_it(path: str, protected: str, why: str) -> None:
    assert names.below(path, protected), why


@pytest.mark.parametrize(("path", "protected"), OTHERS, ids=[ascii(path) for path, _ in OTHERS])
def test_a_name_that_only_looks_like_a_protected_path_is_not_below_it(path: str, protected: str) -> None:
    assert not names.below(path, protected)


@pytest.mark.parametrize(("path", "rule"), ODD, ids=[ascii(path)[1:40] for path, _ in ODD])
def test_a_name_that_is_not_portable_has_its_own_rule(path: str, rule: str) -> None:
    found = names.oddity(path)
    assert found
    assert found[0] == rule
    assert found[1]


@pytest.mark.parametrize("path", PLAIN, ids=ascii)
def test_an_honest_name_is_not_odd(path: str) -> None:
    assert names.oddity(path) is None


def test_the_code_points_that_hfs_ignores_fold_away() -> None:
    assert [hex(c) for c in HFS_IGNORES if names.fold(f"a{chr(c)}b") != "ab"] == []


def test_the_code_points_that_unicode_calls_default_ignorable_fold_away() -> None:
    assert [hex(c) for c in DEFAULT_IGNORABLE if names.fold(f"a{chr(c)}b") != "ab"] == []


@relaxed
@given(st.lists(WORD, min_size=1, max_size=3).map("/".join))
def test_case_never_makes_another_name(path: str) -> None:
    assert names.fold(path.upper()) == names.fold(path) == names.fold(path.lower())


@relaxed
@given(ANY_NAME, st.sampled_from(FORMS))
def test_the_unicode_form_never_makes_another_name(name: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> None:
    assert names.fold(unicodedata.normalize(form, name)) == names.fold(name)


@relaxed
@given(ANY_NAME)
@example("\u0345\u0300")
@example("\u1f80\u0345")
@example("a. :b")
def test_a_folded_name_folds_to_itself(name: str) -> None:
    once = names.fold(name)
    assert names.fold(once) == once


@relaxed
@given(st.lists(ANY_NAME.filter(lambda name: "\\" not in name), min_size=1, max_size=3), st.lists(ANY_NAME, max_size=2))
def test_every_path_is_below_itself_and_its_folders_whatever_its_names_hold(head: list[str], tail: list[str]) -> None:
    folder = "/".join(head)
    assert names.below("/".join([*head, *tail]), folder + "/")


@relaxed
@given(st.binary(max_size=40))
def test_bytes_of_a_path_survive_being_text(raw: bytes) -> None:
    assert bytes_of(text_of(raw)) == raw


@relaxed
@given(st.text(max_size=40))
def test_no_text_whatever_fails_to_become_bytes(text: str) -> None:
    raw = bytes_of(text)
    assert raw == text.encode("utf-8", "replace") or bytes_of(text_of(raw)) == raw


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.sampled_from(".gitGIT~12 :\\\u200c\u200d\ufeff\u00ad\u0130modulesx"), min_size=1, max_size=7))
@example(".gi\u0442")
def test_what_is_not_odd_gits_own_protection_lets_through(tmp_path: Path, name: str) -> None:
    if names.oddity(name) is None:
        git = ["git", "-c", "core.protectHFS=true", "-c", "core.protectNTFS=true"]
        env = plain(tmp_path)
        if not (tmp_path / ".git").exists():
            subprocess.run(["git", "init", "--quiet", tmp_path], env=env, check=True)
        empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
        line = f"100644 {empty}\t".encode() + bytes_of(name) + b"\0"
        done = subprocess.run([*git, "update-index", "-z", "--index-info"], cwd=tmp_path, env=env, input=line,
                              capture_output=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
