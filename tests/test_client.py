"""The client against real workers: values, handles, exceptions, faults, and what the worker may not reach."""

from __future__ import annotations

import copy
import gc
import importlib.util
import json
import os
import py_compile
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from fence_tasks.candidate.client import Client
from fence_tasks.candidate.errors import CATCHABLE, CandidateError, CandidateFault
from fence_tasks.candidate.launch import Launch
from fence_tasks.candidate.protocol import MisuseError
from fence_tasks.model import RefusedError
from tests.evidence import CANDIDATES, launch

Start = Callable[..., Client]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a client of a candidate by name; it is closed when the test ends."""
    clients: list[Client] = []

    def make(name: str, **changes: Any) -> Client:
        settings = launch(CANDIDATES / name, tmp_path / f"scratch-{len(clients)}")
        clients.append(Client(replace(settings, **changes)))
        clients[-1].start()
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def api(start: Start) -> Any:
    """The API of the candidate `objects`."""
    return start("objects").api


def fault_of(action: Callable[[], object]) -> CandidateFault:
    with pytest.raises(CandidateFault) as caught:
        action()
    return caught.value


def test_public_names_are_attributes_and_constants_are_values(api: Any) -> None:
    assert api.LIMIT == 64
    assert api.echo(1, [b"2"], a={3}) == (1, [b"2"], {"a": {3}})
    assert "enum" in api._fence_asker.names  # `__all__` adds to the plain names and hides none
    for name in ("_private", "nothing"):
        with pytest.raises(AttributeError, match="no public name"):
            getattr(api, name)
    assert api["fields"]() == "a function of this name"


def test_an_object_is_a_handle_with_attributes_and_methods(api: Any) -> None:
    point = api.Point.at(3, y=4)
    assert (point.x, point.moved(2).x, point.twin.twin.y) == (3, 5, 4)
    assert api.fields(point, "x", "y", "x") == [3, 4, 3]
    assert api.fields(point, "twin")[0].x == 3
    assert api.Colour.RED.value == 1
    assert api.op("getitem", api.Pair(1, 2), 1) == 2
    assert [p.x for p in api.points(3)] == [0, 1, 2]


def test_a_handle_and_a_name_can_be_arguments(api: Any) -> None:
    point = api.Point(1)
    assert api.op("eq", api.echo(point), point) is True
    assert api.echo([point, {"k": point}])[1]["k"].x == 1
    assert api.op("isinstance", point, api.Point) is True
    assert api.op("isinstance", point, api.Colour) is False
    assert api.echo(point.moved)(4).x == 5


def test_operators_ask_the_candidate_by_name(api: Any) -> None:
    one, two = api.Point(1), api.Point(2)
    answers = {"eq": False, "ne": True, "lt": True, "le": True, "gt": False, "ge": False}
    assert {name: api.op(name, one, two) for name in answers} == answers
    assert api.op("repr", one) == "Point(x=1, y=0)" == api.op("str", one)
    assert (api.op("len", one), api.op("bool", one), api.op("getitem", one, 0)) == (2, True, 1)
    assert api.op("hash", one) == api.op("hash", api.Point(1))
    assert (api.op("type", one), api.op("contains", [1, 2], 2)) == ("Point", True)
    assert api.op("iter", api.counted()) == [0, 1, 2] == api.op("reversed", [2, 1, 0])
    assert api.op("await", api.waits()) == 5
    with pytest.raises(KeyError):
        api.op("no such operator", one)


REFUSED: dict[str, tuple[Callable[[Any], object], str]] = {
    "==": (lambda h: h == 1, 'api.op("eq", handle, other)'),
    "== reflected": (lambda h: h == 1, 'api.op("eq", handle, other)'),
    "!=": (lambda h: h != h, 'api.op("ne", handle, other)'),  # noqa: PLR0124
    "<": (lambda h: h < 1, 'api.op("lt", handle, other)'),
    "> reflected": (lambda h: h < 1, 'api.op("lt", handle, other)'),
    ">=": (lambda h: h >= 1, 'api.op("ge", handle, other)'),
    "+": (lambda h: h + 1, 'api.op("add", handle, other)'),
    "+ reflected": (lambda h: 1 + h, 'api.op("add", handle, other)'),
    "&": (lambda h: h & 1, 'api.op("and_", handle, other)'),
    "-": (lambda h: -h, 'api.op("neg", handle)'),
    "**": (lambda h: h**2, 'api.op("pow", handle, other)'),
    "in a list": (lambda h: h in [1, 2], 'api.op("eq", handle, other)'),
    "in": (lambda h: 1 in h, 'api.op("contains", handle, item)'),
    "[]": (lambda h: h[0], 'api.op("getitem", handle, key)'),
    "key": (lambda h: {h: 1}, 'api.op("hash", handle)'),
    "str": (str, 'api.op("str", handle)'),
    "repr": (repr, 'api.op("repr", handle)'),
    "f-string": (lambda h: f"{h}", 'api.op("str", handle)'),
    "f-string of repr": (lambda h: f"{h!r}", 'api.op("repr", handle)'),
    "%": (lambda h: "%s" % h, 'api.op("str", handle)'),  # noqa: UP031
    "len": (len, 'api.op("len", handle)'),
    "bool": (bool, 'api.op("bool", handle)'),
    "if": (lambda h: 1 if h else 2, 'api.op("bool", handle)'),
    "not": (lambda h: not h, 'api.op("bool", handle)'),
    "for": (list, 'api.op("iter", handle)'),
    "unpacking": (lambda h: [*h], 'api.op("iter", handle)'),
    "sorted": (lambda h: sorted([h, h]), 'api.op("lt", handle, other)'),
    "int": (int, 'api.op("int", handle)'),
    "float": (float, 'api.op("float", handle)'),
    "bytes": (bytes, 'api.op("bytes", handle)'),
    "next": (next, 'api.op("iter", handle)'),
    "index": (lambda h: [1][h], 'api.op("index", handle)'),
    "path": (os.fspath, 'api.op("str", handle)'),
    "assignment": (lambda h: setattr(h, "x", 1), "a call of the API"),
    "deletion": (lambda h: delattr(h, "x"), "a call of the API"),
    "copy": (copy.deepcopy, "a call of the API"),
    "with": (lambda h: h.__class__.__enter__(h), "a call of the API"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_handle_refuses_to_be_a_value_and_says_what_to_write(api: Any, what: str) -> None:
    action, write = REFUSED[what]
    for handle in (api.Point(1), api.Point):
        with pytest.raises(MisuseError) as refusal:
            action(handle)
        assert str(refusal.value).endswith(f"write {write}")


def test_a_handle_has_no_special_attributes(api: Any) -> None:
    assert not hasattr(api.Point(1), "__dict__")
    assert not hasattr(api.Point(1), "__array__")
    assert not hasattr(api.Point(1), "nothing_of_this_name")


def test_exceptions_cross_as_data_and_builtin_ones_can_be_caught_as_such(api: Any) -> None:
    with pytest.raises(ValueError, match="at byte 3") as caught:
        api.raises("ParseError", "at byte 3")
    error = caught.value
    assert isinstance(error, CandidateError)
    assert (error.name, error.text, str(error)) == ("ParseError", "at byte 3", "ParseError: at byte 3")
    assert error.names[:2] == ["ParseError", "ValueError"]
    for kind in CATCHABLE:
        if not issubclass(kind, UnicodeError) or kind is UnicodeError:
            with pytest.raises(kind, match="some text"):
                api.raises(kind.__name__, "some text")


@pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "StopIteration", "AssertionError",
                                  "StopAsyncIteration", "BaseException", "Exception", "MemoryError", "Warning"])  # fmt: skip
def test_exceptions_with_a_meaning_of_their_own_do_not_come_back_as_themselves(api: Any, name: str) -> None:
    with pytest.raises(CandidateError) as caught:
        api.raises(name)
    assert caught.value.name == name
    assert type(caught.value) is CandidateError


def test_an_exception_is_bounded(api: Any) -> None:
    with pytest.raises(CandidateError) as caught:
        api.raises("ValueError", "x" * 1_000_000)
    assert len(caught.value.text) == 2000


def test_answers_over_a_limit_are_a_fault(start: Start) -> None:
    client = start("objects")
    assert client.api.nested(190)
    fault = fault_of(lambda: client.api.nested(300))
    assert (fault.rule, client.fault and client.fault.rule) == ("candidate-too-big", "candidate-too-big")
    client.restart()
    assert fault_of(lambda: client.api.op("iter", client.api.endless())).rule == "candidate-too-big"


def test_arguments_that_cannot_cross_leave_the_worker_alone(start: Start) -> None:
    client = start("objects")
    for bad in (object(), [object()], bytes(17 << 20), print):
        with pytest.raises(MisuseError):
            client.api.echo(bad)
    assert client.api.echo(1) == 1
    assert client.fault is None


FORGED = {
    "unknown status": (b"\x09\xc0", True), "status a Boolean": (b"\xc2\xc0", True), "status a text": (b"\xa1a\xc0", True),
    "status a float": (b"\xcb" + bytes(8) + b"\xc0", True), "a name where a value was asked": (b"\x03\xc0", True),
    "no array": (b"\x01", False), "another number": (b"\x93\x00\x00\xc0", False), "a float number": (b"\x93\xcb" + bytes(8) + b"\x00\xc0", False),
    "two parts": (b"\x92\x00\x00", False), "nothing": (b"", False), "junk": (b"\xc1", False), "a map": (b"\x00\x80", True),
    "trailing bytes": (b"\x00\xc0\xc0", True), "an exception that is none": (b"\x01\xc0", True),
    "an exception of numbers": (b"\x01\x95\x00\x92\x00\x01\x91\x00\xa1a\xa1a", True),
    "an exception too short": (b"\x01\x92\x00\x91\x00", True), "no text why": (b"\x02\x01", True),
    "unhashable": (b"\x00\x92\x03\x91\x00", True),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_answer_is_a_fault_and_no_value(start: Start, what: str) -> None:
    client = start("forger")
    echo = client.api.echo
    client.api.forge(FORGED[what][0], FORGED[what][1])
    for _ in range(2):
        assert fault_of(lambda: echo(1)).rule == "candidate-protocol"
    client.restart()
    assert echo(1) == 1


def test_an_exception_cannot_pretend_to_be_a_control_exception(start: Start) -> None:
    client = start("forger")
    client.api.forge(b"\x01\x95\x00" + b"\x92\x00\xaaSystemExit" * 2 + b"\xa0\xa0")
    with pytest.raises(CandidateError) as caught:
        client.api.echo(1)
    assert not isinstance(caught.value, SystemExit)


def test_other_answers_to_fields_and_to_a_held_name_are_faults(start: Start) -> None:
    client = start("forger")
    thing = client.api.thing()
    client.api.forge(b"\x00\x92\x00\x01")
    assert fault_of(lambda: client.api.fields(thing, "name", "name")).rule == "candidate-protocol"
    client.restart()
    echo, name = client.api.echo, client.api.Thing
    client.api.forge(b"\x00\x01")
    assert fault_of(lambda: echo(name)).rule == "candidate-protocol"


def test_handles_die_with_their_worker(start: Start) -> None:
    client = start("objects")
    point, name = client.api.Point(1), client.api.Point
    client.api.echo(name)
    client.restart()
    for action in (lambda: point.x, lambda: client.api.echo(point), lambda: client.api.fields(point, "x")):
        with pytest.raises(MisuseError, match="worker has ended"):
            action()
    assert name(2).x == 2
    assert client.api.echo(name)(3).x == 3


def test_handles_of_two_revisions_do_not_mix(start: Start) -> None:
    one, other = start("objects").api, start("objects").api
    with pytest.raises(MisuseError, match="other revision"):
        one.echo(other.Point(1))


def test_handles_that_are_given_up_are_given_back(start: Start) -> None:
    client = start("forger")
    kept = client.api.thing()
    for _ in range(50):
        client.api.thing()
    gc.collect()
    assert client.api.alive() == 1
    assert kept.name == "thing"


def test_a_fault_stays_until_a_restart_and_restarts_are_bounded(tmp_path: Path) -> None:
    client = Client(launch(CANDIDATES / "leaves_in_call", tmp_path / "scratch"), restarts=2)
    for _ in range(3):
        client.restart()
        assert fault_of(lambda: client.api.flip(b"")).rule == "candidate-died"
        assert fault_of(lambda: client.api.flip(b"")).rule == "candidate-died"
    assert "no more" in fault_of(client.restart).message
    client.close()


def test_a_candidate_that_does_not_read_does_not_block_its_judge(start: Start) -> None:
    client = start("stops")
    assert fault_of(lambda: client.api.flip(bytes(1))).rule == "candidate-hung"
    client.restart()
    client.until = time.monotonic() + 0.2
    begin = time.monotonic()
    os.kill(client._process._child.pid, signal.SIGSTOP)  # type: ignore[union-attr]
    fault_of(lambda: client.api.flip(bytes(8 << 20)))
    assert time.monotonic() - begin < 5
    assert client.fault is not None
    assert "time for this evidence" in client.fault.message
    assert client.limited


def test_the_deadline_holds_for_the_whole_answer(start: Start) -> None:
    client, begin = start("drips"), time.monotonic()
    assert fault_of(lambda: client.api.flip(b"")).rule == "candidate-hung"
    assert 0.4 < time.monotonic() - begin < 5


def test_a_forked_child_does_not_hide_its_parents_end(start: Start) -> None:
    client = start("forks_and_leaves", call_seconds=60.0)
    begin = time.monotonic()
    assert fault_of(lambda: client.api.flip(b"")).rule == "candidate-died"
    assert time.monotonic() - begin < 30


def test_faults_say_how_the_process_ended(start: Start) -> None:
    assert "SIGSEGV" in fault_of(lambda: start("crashes").api.flip(b"")).message
    assert "status 0" in fault_of(lambda: start("leaves_in_call").api.flip(b"")).message


def test_the_memory_of_a_candidate_is_bounded_and_a_run_that_meets_it_is_not_repeatable(start: Start) -> None:
    client = start("allocates")
    with pytest.raises(CandidateError, match="MemoryError"):
        client.api.flip(b"")
    assert client.limited


def test_the_candidate_cannot_read_its_judge_or_another_worker(start: Start) -> None:
    one, other = start("reads_its_parent").api, start("reads_its_parent").api
    assert one.parent() == os.getpid()
    assert one.reached(os.getpid()) == []
    assert one.reached(other.me()) == []


def test_the_worker_gets_nothing_of_the_callers_environment(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/secret")
    monkeypatch.setenv("PYTHONPATH", "/secret")
    client = start("reads_its_parent")
    environment, descriptors, text, limits = client.api.about()
    assert set(environment) == {
        "PATH", "HOME", "TMPDIR", "LANG", "TZ", "PYTHONHASHSEED", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}  # fmt: skip
    assert environment == client.launch.environment()
    assert len(descriptors) == 8  # its streams, its pipes, and the three that looking takes
    status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    assert (status["CapEff"], status["CapPrm"], status["NoNewPrivs"]) == ("0" * 16, "0" * 16, "1")
    assert limits.split("Max address space")[1].split()[0] == str(1 << 30)
    assert limits.split("Max core file size")[1].split()[0] == "0"


def test_the_order_of_a_set_is_the_same_in_every_worker(start: Start) -> None:
    assert start("objects").api.words() == start("objects").api.words()


def test_bytecode_beside_the_source_is_not_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "candidate"
    (folder / "pkg").mkdir(parents=True)
    evil = tmp_path / "evil.py"
    evil.write_text("def flip(data): return b'evil'\n")
    for module in (folder / "api.py", folder / "pkg" / "inner.py"):
        module.write_text("def flip(data): return b'honest'\n")
        cached = Path(importlib.util.cache_from_source(str(module)))
        cached.parent.mkdir(exist_ok=True)
        py_compile.compile(str(evil), str(cached), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    py_compile.compile(str(evil), str(folder / "only_bytecode.pyc"))
    (folder / "api.py").write_text("import pkg.inner\ndef flip(data): return pkg.inner.flip(data)\n"
                                   "def other(): import only_bytecode\n")  # fmt: skip
    with Client(launch(folder, tmp_path / "scratch")) as client:
        assert client.api.flip(b"") == b"honest"
        with pytest.raises(ModuleNotFoundError):
            client.api.other()


def test_the_candidates_folders_come_before_the_installed_ones(tmp_path: Path) -> None:
    for name, text in (("site/dep.py", "WHO = 'site'\n"), ("site/api.py", ""), ("src/api.py", "import dep\nWHO = dep.WHO\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    settings = replace(launch(tmp_path / "src", tmp_path / "scratch"), site=(str(tmp_path / "site"),))
    with Client(settings) as client:
        assert client.api.WHO == "site"


def test_only_python_that_answers_is_an_interpreter(tmp_path: Path) -> None:
    for python in ("/no/such/program", "/bin/true", "/bin/cat"):
        settings = replace(launch(CANDIDATES / "honest", tmp_path / "scratch"), python=python)
        with pytest.raises(RefusedError, match="environment"):
            Client(settings).start()


def test_a_missing_module_is_named(tmp_path: Path) -> None:
    client = Client(launch(CANDIDATES / "needs_a_package", tmp_path / "scratch"))
    fault = fault_of(client.start)
    assert (fault.rule, fault.missing) == ("candidate-import", "fence_tasks_no_such_package")
    client.close()


def test_a_launch_is_plain_data(tmp_path: Path) -> None:
    settings = launch(CANDIDATES / "honest", tmp_path)
    document = json.loads(json.dumps(asdict(settings)))
    lists = {name: tuple(document[name]) for name in ("site", "imports", "readable")}
    assert Launch(**{**document, **lists}) == settings


def test_chatter_is_thrown_away_and_does_not_fill_the_disk(start: Start) -> None:
    client = start("chatty")
    for _ in range(20):
        assert client.api.flip(b"ab") == b"ba"
    client.trim()
    assert sum(file.stat().st_size for file in Path(client.launch.scratch).iterdir()) == 0
    assert client.api.flip(b"ab") == b"ba"
