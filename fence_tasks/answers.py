"""The answers of a live `git cat-file --batch-command`, read from its pipe (git-cat-file(1), "BATCH OUTPUT")."""

from __future__ import annotations

import os
import select

#: Seconds without a byte after which an answer will not come. Git announces the size that an object claims and then
#: sends what it has: for a forged object that is less, and git waits for the next request.
SILENCE = 60.0


class EndedError(Exception):
    """The pipe ended, or stayed silent, in the middle of an answer."""


class Answers:
    """Reads lines and blocks of bytes from a file descriptor, never longer than `SILENCE` without progress."""

    def __init__(self, fd: int) -> None:
        """Read from `fd`."""
        self._fd = fd
        self._buffer = b""
        self._at = 0

    def line(self) -> bytes:
        """The next line without its newline. Raises EndedError."""
        while (end := self._buffer.find(b"\n", self._at)) < 0:
            self._buffer = self._buffer[self._at :] + self._more()
            self._at = 0
        line = self._buffer[self._at : end]
        self._at = end + 1
        return line

    def block(self, size: int) -> bytes:
        """The next `size` bytes and the newline after them, which is dropped. Raises EndedError."""
        end = self._at + size
        if end < len(self._buffer):
            data = self._buffer[self._at : end]
            self._at = end + 1
            return data
        chunks = [self._buffer[self._at :]]
        missing = size + 1 - len(chunks[0])
        while missing > 0:
            chunks.append(self._more())
            missing -= len(chunks[-1])
        whole = b"".join(chunks)
        self._buffer, self._at = whole[size + 1 :], 0
        return whole[:size]

    def _more(self) -> bytes:
        if not select.select([self._fd], [], [], SILENCE)[0]:
            raise EndedError(f"no byte came for {SILENCE:.0f} s")
        data = os.read(self._fd, 1 << 20)
        if not data:
            raise EndedError("the pipe ended")
        return data
