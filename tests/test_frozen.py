"""Whether a patch recreates a frozen case: by path, by content, by name (design, section 6.7)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fence_tasks.fence import frozen
from fence_tasks.fence.frozen import Frozen, Text
from fence_tasks.oracle.freezes import Case

RETIRED = "src/tests/test_net.py"
SOURCE = b'''"""Waits for a datagram."""

import socket


class TestNet:
    def test_slow(self):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.settimeout(0.05)  # seconds
        assert len(receiver.recv(2048)) == 1472, "the datagram came late"


def test_other():
    assert True
'''
CPP = b"""// A flaky case.
TEST(Net, Slow) {
  Receiver receiver("127.0.0.1", 1472);
  receiver.settimeout(0.05);
  ASSERT_EQ(receiver.recv(2048).size(), 1472u) << "the datagram came late";
}
"""
BODY = b"".join(SOURCE.splitlines(keepends=True)[7:10])


def case(content: bytes = SOURCE, *names: str, path: str = RETIRED, stays: bool = False) -> Frozen:
    """A frozen case; `stays` says that base still has the retired path."""
    rest: dict[str, Any] = {"owner": "net", "reason": "late", "repro_cmd": "pytest", "expires_unix": 4_000_000_000}
    return Frozen(Case(id="net", retired_src_path=path, retired_names=names or None, **rest), content, stays)


AGAIN = (
    RETIRED, f"{RETIRED}/x.py", f"{RETIRED}/a/b", "src/tests/Test_Net.py", "SRC/tests/test_net.py", "src/Tests/test_net.py/x",
    "src/tests/test_net.py.", "src/tests/test_n\u200det.py", "src/tests/test_net.py::$DATA", "src/tests/\uff54est_net.py",
    "src\\tests\\test_net.py", "src/tests/TEST_N~1.PY",
)  # fmt: skip
ELSEWHERE = ("src/tests/test_net2.py", "src/tests/test_net.pyi", "src/tests/test_ne.py", "src/tests", "tests/test_net.py",
             "src/test_net.py", "lib/src/tests/test_net.py")  # fmt: skip


@pytest.mark.parametrize("path", AGAIN, ids=ascii)
def test_a_retired_path_may_not_come_back_under_any_folding(path: str) -> None:
    assert [(f.rule, f.path) for f in frozen.by_path([case()], [path])] == [("frozen-path", path)]


@pytest.mark.parametrize("path", ELSEWHERE)
def test_a_path_that_only_looks_like_it_may_come(path: str) -> None:
    assert frozen.by_path([case()], [path]) == []


@pytest.mark.parametrize("form", ["src/tests/de\u0301lai.py", "src/tests/d\u00e9lai.py"], ids=["NFD", "NFC"])
@pytest.mark.parametrize("new", ["src/tests/de\u0301lai.py", "src/tests/d\u00e9lai.py"], ids=["NFD", "NFC"])
def test_a_retired_path_is_one_path_in_every_unicode_form(form: str, new: str) -> None:
    assert frozen.by_path([case(path=form)], [new])


def test_where_base_still_has_the_file_its_path_is_not_banned() -> None:
    assert frozen.by_path([case(stays=True)], [RETIRED, f"{RETIRED}/x"]) == []


def test_every_case_is_asked() -> None:
    cases = [case(), case(path="src/tests/test_slow.py")]
    found = frozen.by_path(cases, ["src/x.py", "src/tests/TEST_SLOW.py"])
    assert [f.path for f in found] == ["src/tests/TEST_SLOW.py"]


HELD = {
    "the file itself": SOURCE,
    "pasted into another": b"import os\n\n\ndef test_a():\n    assert os\n\n\n" + SOURCE + b"\nX = 1\n",
    "with other line ends": SOURCE.replace(b"\n", b"\r\n"),
    "with old line ends": SOURCE.replace(b"\n", b"\r"),
    "indented anew": SOURCE.replace(b"    ", b"\t"),
    "requoted": SOURCE.replace(b'"', b"'"),
    "with a comment on each line": SOURCE.replace(b"\n", b"  # mine\n"),
    "with its own comments gone": SOURCE.replace(b"  # seconds", b""),
    "spread out": SOURCE.replace(b"(", b" ( ").replace(b",", b" , "),
    "with blank lines between": SOURCE.replace(b"\n", b"\n\n   \n"),
    "in an open string": b'"""\n' + SOURCE,
    "after a comment's start": b"/*\n" + SOURCE,
    "with its test renamed": SOURCE.replace(b"test_slow", b"test_fast"),
    "the body in another test": b"import socket\n\n\ndef test_quick():\n" + BODY.replace(b"        ", b"    "),
    "the body outside any test": b"import socket\n" + BODY.replace(b"        ", b""),
    "in a file that is no python": b"<script>\n" + SOURCE + b"</script>",
}


@pytest.mark.parametrize("content", HELD.values(), ids=HELD)
@pytest.mark.parametrize("path", ["src/tests/test_other.py", "tests/a.txt", "src/x"])
def test_the_content_of_a_case_may_not_come_back_in_any_file(path: str, content: bytes) -> None:
    assert [f.rule for f in frozen.by_content([case()], [Text(path, content)])] == ["frozen-content"]


CPP_HELD = {
    "the file itself": CPP,
    "with line comments": CPP.replace(b";\n", b"; // mine\n"),
    "with block comments": CPP.replace(b";\n", b"; /* mine */\n"),
    "with a block comment of lines": CPP.replace(b";\n", b";\n/*\n * mine\n */\n"),
}


@pytest.mark.parametrize("content", CPP_HELD.values(), ids=CPP_HELD)
def test_a_case_in_another_language_may_not_come_back_either(content: bytes) -> None:
    assert frozen.by_content([case(CPP, path="src/tests/net.cpp")], [Text("src/tests/udp.cpp", content)])


def test_content_that_base_has_in_the_same_file_is_not_new() -> None:
    old = b"import os\n" + SOURCE
    assert frozen.by_content([case()], [Text("src/tests/a.py", old + b"\nX = 1\n", old)]) == []
    assert frozen.by_content([case()], [Text("src/tests/a.py", old, b"import os\n")])


def test_an_honest_file_that_imports_and_asserts_alike_is_no_copy() -> None:
    honest = SOURCE.replace(b"settimeout(0.05)", b"settimeout(5)")
    assert frozen.by_content([case()], [Text("src/tests/test_b.py", honest)]) == []


@pytest.mark.parametrize("length", [63, 64])
def test_a_case_shorter_than_64_bytes_proves_nothing(length: int) -> None:
    content = b"x" * length
    found = frozen.by_content([case(content, path="src/a.txt")], [Text("src/b.txt", b"y" + content)])
    assert bool(found) is (length >= 64)


def test_a_short_body_in_a_long_case_proves_nothing() -> None:
    assert frozen.by_content([case()], [Text("src/tests/a.py", b"def test_x():\n    assert True\n")]) == []


def test_a_case_without_a_stored_file_has_no_content_to_compare() -> None:
    assert frozen.by_content([case(b"")], [Text("src/tests/a.py", SOURCE)]) == []


def test_where_base_has_the_file_only_the_retired_bodies_are_banned() -> None:
    kept = case(SOURCE, "TestNet.test_slow", stays=True)
    text = Text("src/tests/a.py", b"import socket\n\n\ndef test_quick():\n" + BODY)
    assert frozen.by_content([kept], [text])
    assert frozen.by_content([case(SOURCE, "test_other", stays=True)], [text]) == []


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=60), st.binary(max_size=60), st.sampled_from([b" ", b"\t", b"\n\n", b"'", b'"', b"  \r\n"]))
def test_whatever_stands_around_a_copy_it_is_found(before: bytes, after: bytes, gap: bytes) -> None:
    text = Text("src/a.py", before + b"\n" + SOURCE.replace(b"\n", b"\n" + gap) + b"\n" + after)
    assert frozen.by_content([case()], [text])


DEFINES = {
    "a function": b"def test_slow():\n    pass\n",
    "a coroutine": b"async def test_slow():\n    pass\n",
    "under a condition": b"if True:\n    def test_slow():\n        pass\n",
    "under else": b"if False:\n    pass\nelse:\n    def test_slow(): pass\n",
    "in try": b"try:\n    def test_slow(): pass\nexcept OSError:\n    pass\n",
    "in except": b"try:\n    pass\nexcept OSError:\n    def test_slow(): pass\n",
    "in except*": b"try:\n    def test_slow(): pass\nexcept* OSError:\n    pass\n",
    "in with": b"with open('x'):\n    def test_slow(): pass\n",
    "in a loop": b"for _ in '1':\n    def test_slow(): pass\n",
    "in match": b"match 1:\n    case 1:\n        def test_slow(): pass\n",
    "decorated": b"@mark\ndef test_slow(): pass\n",
    "by assignment": b"def _quick(): pass\n\n\ntest_slow = _quick\n",
    "by an annotated assignment": b"def _quick(): pass\n\n\ntest_slow: object = _quick\n",
    "by import": b"from helpers import quick as test_slow\n",
    "in a file that does not parse": b"def test_slow(:\n",
}
NOT_DEFINES = {
    "another name": b"def test_slower():\n    pass\n",
    "a call": b"def test_a():\n    test_slow()\n",
    "a comment": b"# test_slow is frozen\ndef test_a():\n    pass\n",
    "a string": b"X = 'test_slow'\n",
    "a class's own": b"class TestOther:\n    def test_slow(self): pass\n",
}


@pytest.mark.parametrize("content", DEFINES.values(), ids=DEFINES)
def test_a_retired_name_may_not_be_defined_again_in_its_file(content: bytes) -> None:
    found = frozen.by_name([case(SOURCE, "test_slow", stays=True)], [Text(RETIRED, content)])
    assert [(f.rule, f.path) for f in found] == [("frozen-name", RETIRED)]


@pytest.mark.parametrize("content", NOT_DEFINES.values(), ids=NOT_DEFINES)
def test_a_mention_of_a_retired_name_is_no_definition(content: bytes) -> None:
    assert frozen.by_name([case(SOURCE, "test_slow", stays=True)], [Text(RETIRED, content)]) == []


def test_a_bare_name_is_banned_in_its_own_file_only_and_under_any_folding_of_it() -> None:
    content = b"def test_slow(): pass\n"
    kept = case(SOURCE, "test_slow", stays=True)
    assert frozen.by_name([kept], [Text("src/tests/test_b.py", content)]) == []
    assert frozen.by_name([kept], [Text("src/tests/TEST_NET.py", content)])


def test_a_name_with_its_class_is_banned_everywhere() -> None:
    content = b"class TestNet:\n    def test_slow(self): pass\n"
    named = case(SOURCE, "TestNet.test_slow")
    assert frozen.by_name([named], [Text("src/tests/test_b.py", content)])
    assert frozen.by_name([named], [Text("src/tests/test_b.py", content.replace(b"TestNet", b"TestTcp"))]) == []
    assert frozen.by_name([named], [Text("src/tests/test_b.py", b"def test_slow(): pass\n")]) == []


@pytest.mark.parametrize("name", ["check_slow", "runTest", "it_works"])
def test_a_retired_name_that_does_not_start_with_test_is_banned_too(name: str) -> None:
    content = b"def %s():\n    pass\n" % name.encode()
    assert frozen.by_name([case(SOURCE, name, stays=True)], [Text(RETIRED, content)])


def test_a_name_that_base_defines_in_the_same_file_is_not_new() -> None:
    text = Text(RETIRED, b"def test_slow():\n    assert 1\n", b"def test_slow():\n    assert 2\n")
    assert frozen.by_name([case(SOURCE, "test_slow", stays=True)], [text]) == []


def test_other_languages_are_compared_by_token() -> None:
    named = case(CPP, "Net.Slow", path="src/tests/net.cpp")
    assert frozen.by_name([named], [Text("src/tests/a.cpp", CPP)])
    assert frozen.by_name([named], [Text("src/tests/a.cpp", CPP.replace(b"Slow", b"Slower"))]) == []


@settings(deadline=None)
@given(st.binary(max_size=80), st.binary(max_size=80), st.sampled_from(["src/a.py", "src/a.cpp", RETIRED]))
def test_no_content_whatever_makes_the_gate_fail(new: bytes, old: bytes, path: str) -> None:
    cases = [case(SOURCE, "test_slow", "TestNet.test_slow"), case(new or SOURCE, "test_slow", stays=True)]
    text = Text(path, b"def test_slow" + new, old)
    assert isinstance(frozen.by_content(cases, [text]) + frozen.by_name(cases, [text]), list)
