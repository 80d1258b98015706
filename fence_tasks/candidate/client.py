"""Asks one revision's candidate: starts its worker, keeps its deadlines, makes values or faults of what it does."""

from __future__ import annotations

import os
import secrets
from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ..model import Finding, RefusedError
from . import watch
from .errors import CandidateError, CandidateFault, error_of
from .handles import Api, Handle, Ref, ref_of
from .launch import BUBBLEWRAP, SCRATCH_BYTES
from .process import Process, make_undumpable
from .protocol import VERSION, Codec, Limits, MisuseError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from .launch import Launch


_VALUE, _RAISED, _REFUSED, _MEMBER = range(4)
#: Importing may take longer than a call, by this factor, and a worker may say hello this much later (seconds).
_IMPORT_CALLS, _HELLO_SECONDS = 4, 20.0
_LOG_KEPT = 1 << 20
#: Bounds of an exception as it is shown: characters, and names of classes.
_TEXT, _NAMES = 2000, 16


class Client:
    """One candidate, through one worker at a time. `api` is what properties get.

    `fault` stays set from a fault until `restart`, so that a property that swallows it is found out; `calls`
    counts answers; `until` (monotonic seconds) ends every call at the latest; `limited` says that a time or
    memory limit was met; `generation` counts the workers started.
    """

    def __init__(self, launch: Launch, limits: Limits | None = None, restarts: int = 20) -> None:
        """Make a client; nothing is started yet. After `restarts` restarts no more are made."""
        self.launch = launch
        self.limits = limits or Limits()
        self.api = Api(self)
        self.names: frozenset[str] = frozenset()
        self.language = ""
        self.fault: CandidateFault | None = None
        self.misuse: MisuseError | None = None
        self.calls = 0
        self.until = float("inf")
        self.limited = False
        self.generation = 0
        self._most = restarts + 1
        self._number = 0
        self._released: list[int] = []
        self._process: Process | None = None
        self._log = -1
        self._codec = Codec(self.limits, {Handle: self._number_of}, self._handle)

    def __enter__(self) -> Self:
        """The client itself, started."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def start(self) -> None:
        """Start the worker, if there is none, and import the API.

        Raises CandidateFault (`candidate-import`, or `candidate-died` after the last restart), and RefusedError
        (`environment`) if the interpreter gives no hello, since nothing of the candidate has run then.
        """
        if self._process is not None:
            return
        if self.generation >= self._most:
            self._fail("candidate-died", f"it was restarted {self._most - 1} times; no more")
        self._launch()
        self._hello()
        try:
            end = monotonic() + _IMPORT_CALLS * self.launch.call_seconds
            _, names = self._ask(["import", None, [], [], []], end)
        except CandidateFault as fault:
            self._fail("candidate-import", f"{self.launch.api}: {fault.message}")
        except CandidateError as error:
            self._fail("candidate-import", f"{self.launch.api}: {error}", error.missing)
        if type(names) is not list or not all(type(name) is str for name in names):
            self._fail("candidate-import", f"{self.launch.api}: its public names are not a list of texts")
        self.names = frozenset(names)

    def restart(self) -> None:
        """Forget the fault and start another worker. Raises as `start` does."""
        self.close()
        self.fault = None
        self.start()

    def close(self) -> None:
        """Kill the worker with its whole group. Its handles die with it."""
        if self._process is not None:
            self._process.kill()
            self._process = None
        if self._log >= 0:
            os.close(self._log)
            self._log = -1

    def trim(self) -> None:
        """Empty the file of the candidate's output if it has grown, so that chatter never meets the file limit."""
        if self._log >= 0 and os.fstat(self._log).st_size > _LOG_KEPT:
            os.ftruncate(self._log, 0)

    def misused(self, message: str) -> MisuseError:
        """The error that a property gets for what cannot cross; remembered, since a property may swallow it."""
        self.misuse = MisuseError(message)
        return self.misuse

    # What handles and `api` ask.

    def get(self, ref: Ref) -> object:
        """The value at `ref`, or a handle if it is a function, a class or a module."""
        status, value = self._request("get", self._root(ref), ref.names)
        if status == _MEMBER:
            self.calls -= 1
            return Handle(ref)
        return value

    def call(self, ref: Ref, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """What the candidate returns."""
        words = [part for pair in kwargs.items() for part in pair] if kwargs else ()
        return self._request("call", self._root(ref), ref.names, args, words)[1]

    def fields(self, handle: Handle, names: tuple[str, ...]) -> list[Any]:
        """The values of several attributes at once."""
        _, values = self._request("fields", self._codec.pack(handle), names)
        if type(values) is not list or len(values) != len(names):
            self._fail("candidate-protocol", f"{len(names)} fields were asked for, and others came")
        return values

    def op(self, name: str, args: tuple[Any, ...]) -> object:
        """What the candidate's side answers to an operator."""
        return self._request("op", None, (name,), args)[1]

    def release(self, number: int, generation: int) -> None:
        """Tell the worker, with the next request, that no handle of `number` is left."""
        if generation == self.generation:
            self._released.append(number)

    # Handles.

    def _handle(self, number: int) -> Handle:
        return Handle(Ref(self, self.generation, number, (), None))

    def _root(self, ref: Ref) -> Any:
        return self._codec.reference(self._alive(ref)) if ref.number else None

    def _alive(self, ref: Ref) -> int:
        if ref.generation != self.generation:
            raise self.misused("this handle's worker has ended; ask the API for the object again")
        return ref.number

    def _number_of(self, handle: Handle) -> int:
        """The number that stands for `handle` as an argument; a name is turned into an object first."""
        ref = ref_of(handle)
        if ref.asker is not self:
            raise self.misused("a handle of the other revision's candidate cannot cross; send plain values")
        if not ref.names:
            return self._alive(ref)
        if ref.held is None or ref_of(ref.held).generation != self.generation:
            self.calls -= 1
            _, held = self._request("hold", self._root(ref), ref.names)
            if type(held) is not Handle:
                self._fail("candidate-protocol", "a handle was asked for, and a plain value came")
            ref.held = held
        return ref_of(ref.held).number

    # Starting.

    def _launch(self) -> None:
        make_undumpable()
        scratch = self.launch.scratch
        try:
            name = f"{scratch}/output-{secrets.token_hex(8)}.log"
            self._log = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._process = self.launch.start(self._log, self.limits.frame)
        except OSError as error:
            if self.generation:  # it worked before: the candidate has removed or closed what it needs
                self._fail("candidate-died", "its scratch folder cannot be used any more")
            reason = f"the candidate's worker cannot be started: {error.strerror}"
            raise RefusedError(Finding("environment", reason)) from error
        self._process.look = self._look
        self.generation += 1
        self._released = []

    def _look(self) -> None:
        """Bound what no rlimit bounds. Raises CandidateFault."""
        pid = self._process.pid if self._process is not None else 0
        watch.threads(pid)
        if self.launch.confinement == BUBBLEWRAP:
            watch.mounted(self.launch.scratch, pid)
        else:
            watch.scratch(self.launch.scratch, SCRATCH_BYTES)

    def _hello(self) -> None:
        wanted = self.launch.hello(asdict(self.limits))
        try:
            _, answer = self._ask(["hello", None, [], [self._codec.pack(wanted)], []], monotonic() + _HELLO_SECONDS)
        except (CandidateFault, CandidateError) as error:
            answer = [str(error)]
        if type(answer) is not list or len(answer) != 2 or answer[0] != VERSION:
            self.close()
            self.fault = None
            raise RefusedError(Finding("environment", f"the candidate's worker gave no hello: {answer!r:.300}"))
        self.language = str(answer[1])

    # Asking.

    def _request(
        self, verb: str, root: Any, names: Sequence[str], args: Iterable[Any] = (), words: Iterable[Any] = ()
    ) -> tuple[int, Any]:
        """Ask within the time of a call. Raises CandidateError, CandidateFault, MisuseError."""
        if self.fault is not None:
            raise self.fault.again()
        pack = self._codec.pack
        try:
            packed, named = [pack(arg) for arg in args], [pack(word) for word in words]
        except MisuseError as error:
            self.misuse = error
            raise
        self.calls += 1
        end = min(monotonic() + self.launch.call_seconds, self.until)
        return self._ask([verb, root, names, packed, named], end)

    def _ask(self, request: list[Any], end: float) -> tuple[int, Any]:
        """One exchange: the status, `_VALUE` or `_MEMBER`, and the value. Raises as `_request` does.

        `request` is verb, root, names, arguments and keywords, packed; `end` is in monotonic seconds.
        """
        if self._process is None:
            self._fail("candidate-died", "no worker runs")
        self._number += 1
        released, self._released = self._released, []
        try:
            frame = self._codec.frame([self._number, released, *request])
        except MisuseError as error:
            self.misuse = error
            self._released += released
            raise
        try:
            message = self._codec.message(self._process.exchange(frame, end))
            if len(message) != 3 or message[0] != self._number or type(message[0]) is not int:
                raise ProtocolError("an answer that nobody asked for")
            status, value = message[1], self._codec.unpack(message[2])
        except ProtocolError as error:
            self._fail("candidate-too-big" if error.too_big else "candidate-protocol", str(error))
        except CandidateFault as fault:
            self._fail(fault.rule, fault.message)
        if type(status) is int and (status == _VALUE or (status == _MEMBER and request[0] == "get")):
            return status, value
        if status == _REFUSED and type(value) is str:
            self._fail("candidate-too-big", value[:_TEXT])
        if status != _RAISED:
            self._fail("candidate-protocol", "an answer has an unknown status")
        raise self._raised(value)

    def _raised(self, value: Any) -> CandidateError:
        """The exception that `value` describes: names of its classes, those that are builtin, text, missing module."""
        if not (type(value) is list and list(map(type, value)) == [list, list, str, str]):
            self._fail("candidate-protocol", "an exception is not described as one")
        names, builtin, text, missing = value
        if not all(type(name) is str for name in (*names, *builtin)):
            self._fail("candidate-protocol", "an exception is not described as one")
        self.limited |= "MemoryError" in builtin
        return error_of([name[:_TEXT] for name in names[:_NAMES]], builtin, text[:_TEXT], missing[:_TEXT])

    def _fail(self, rule: str, message: str, missing: str = "") -> NoReturn:
        """Kill the worker, remember the fault and raise it."""
        if rule == "candidate-hung":
            self.limited = True
            if monotonic() >= self.until:
                message = "the time for this evidence is spent"
        self.limited |= message.endswith("SIGKILL")
        self.close()
        self.fault = CandidateFault(rule, message, missing)
        raise self.fault.again() from None
