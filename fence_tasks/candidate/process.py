"""One worker's process: started, asked with a deadline, killed with its whole group. It knows frames, not values."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
from math import ceil
from struct import Struct
from time import monotonic, sleep
from typing import TYPE_CHECKING

from .errors import CandidateFault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: A frame's length (docs/protocol.md).
HEADER = Struct(">I")
LOOK_SECONDS = 0.25
_PR_SET_DUMPABLE, _SIGNALLED = 4, 128
_CHUNK = 1 << 16


def make_undumpable() -> None:
    """Close this process's memory to ptrace and /proc for processes of the same user (prctl(2)). Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) failed")


class Process:
    """A program that gets two more arguments, the numbers of the pipes it reads requests from and answers to."""

    def __init__(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], output: int, largest: int) -> None:
        """Start `argv` in a session of its own; its standard streams go to the file descriptor `output`, and a
        frame may have `largest` bytes. Raises OSError."""
        read_request, self._requests = os.pipe()
        self._answers, write_answer = os.pipe()
        inherited = (read_request, write_answer)
        self._largest = largest
        #: True if `argv` ends with 128 and the number of the signal that killed the program within, as bwrap(1) does.
        self.wrapped = False
        #: Called every LOOK_SECONDS while answers are waited for; it may raise CandidateFault.
        self.look: Callable[[], None] = lambda: None
        self._looked = monotonic()
        self._exit = -1
        try:
            self._child = subprocess.Popen(  # noqa: S603 - the worker, as the policy says
                [*argv, *map(str, inherited)], pass_fds=inherited, cwd=cwd, env=dict(env), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        except BaseException:
            os.close(self._requests)
            os.close(self._answers)
            raise
        finally:
            os.close(read_request)
            os.close(write_answer)
        os.set_blocking(self._requests, False)
        os.set_blocking(self._answers, False)
        self._exit = _pidfd(self._child.pid)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(self._answers, select.POLLIN)
        self._writable.register(self._requests, select.POLLOUT)
        if self._exit >= 0:
            self._readable.register(self._exit, select.POLLIN)

    @property
    def pid(self) -> int:
        """The number of the process that was started."""
        return self._child.pid

    def exchange(self, frame: bytes | bytearray, end: float) -> memoryview:
        """Send one frame, and answer the content of the one that comes back by `end` (monotonic seconds).

        Raises CandidateFault; the process must be killed then. Neither a candidate that does not read nor one
        that drips keeps this longer than `end`.
        """
        self._send(frame, end)
        return self._receive(end)

    def _send(self, frame: bytes | bytearray, end: float) -> None:
        left = memoryview(frame)
        while True:
            try:
                left = left[os.write(self._requests, left) :]
            except BlockingIOError:
                pass
            except BrokenPipeError:
                raise self._gone() from None
            if not left:
                return
            self._wait(self._writable, end)

    def _receive(self, end: float) -> memoryview:
        buffer = bytearray()
        while True:
            self._wait(self._readable, end)
            try:
                chunk = os.read(self._answers, _CHUNK)
            except BlockingIOError:  # its exit woke us, and a child of its own still holds the pipe
                raise self._gone() from None
            if not chunk:
                raise self._gone()
            buffer += chunk
            if len(buffer) < HEADER.size:
                continue
            size = HEADER.unpack_from(buffer)[0]
            if size > self._largest:
                raise CandidateFault("candidate-too-big", f"an answer announces {size} bytes, over {self._largest}")
            if len(buffer) > HEADER.size + size:
                raise CandidateFault("candidate-protocol", "more than one frame answers one request")
            if len(buffer) == HEADER.size + size:
                return memoryview(buffer)[HEADER.size :]

    def _wait(self, poll: select.poll, end: float) -> None:
        while (now := monotonic()) < end:
            if now - self._looked >= LOOK_SECONDS:
                self._looked = now
                self.look()
            if poll.poll(ceil(min(end - now, LOOK_SECONDS) * 1000)):
                return
        raise CandidateFault("candidate-hung", "the candidate gave no answer in time")

    def _gone(self) -> CandidateFault:
        """The fault of a process whose pipe has ended."""
        by_itself = ends_within(self._child.pid, 1.0)
        status = self.kill()
        if self.wrapped and status > _SIGNALLED:
            status = _SIGNALLED - status
        if not by_itself:
            return CandidateFault("candidate-protocol", "the candidate closed its pipe")
        if status < 0:
            return CandidateFault("candidate-died", f"the candidate's process was killed by {_signal(-status)}")
        return CandidateFault("candidate-died", f"the candidate's process ended with status {status}")

    def kill(self) -> int:
        """Kill the whole group and close the pipes; the exit status, negative for a signal. May be called again."""
        if self._child.returncode is None:
            try:
                os.killpg(self._child.pid, signal.SIGKILL)
            except ProcessLookupError:
                self._child.kill()
            self._child.wait()
            for fd in (self._requests, self._answers, self._exit):
                if fd >= 0:
                    os.close(fd)
        return int(self._child.returncode)


def ends_within(pid: int, seconds: float) -> bool:
    """True if the child `pid` ends in that time. It is not reaped, so that its number and its group stay its own."""
    end, fd = monotonic() + seconds, _pidfd(pid)
    try:
        if fd >= 0:
            return bool(select.select([fd], [], [], seconds)[0])
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if monotonic() >= end:
                return False
            sleep(0.01)
        return True
    finally:
        if fd >= 0:
            os.close(fd)


def _pidfd(pid: int) -> int:
    """A descriptor that becomes readable when `pid` ends, or -1 where the kernel or a sandbox has none."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):  # some builds of Python leave it out
        return -1


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
