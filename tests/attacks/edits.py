"""Small patches: each function answers a builder, so that a table's row reads as one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.host import API

from .attempt import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.host import Host

    Builder = Callable[[Host], Attempt]
    Change = Callable[[Host], None]

#: A correct change of the production code.
BETTER = (
    API
    + '''

def fields(data: bytes) -> int:
    """How many fields a record has."""
    return data.count(b",") + 1
'''
)
#: A wrong one: the last byte of a record is lost.
LOSSY = API.replace('b",".join(value)', 'b",".join(value)[:-1]')
#: Another wrong one: what is too long is cut instead of refused.
CUTTING = API.replace('return {"ok": False, "value": [], "written": 0}', "data = data[:cap]")


def propose(host: Host, *changes: Change, at: str = "main") -> Attempt:
    """One commit on a new branch `agent`, checked out, with all the changes."""
    host.branch("agent", at)
    for change in changes:
        change(host)
    host.commit("a patch")
    return Attempt()


def patch(*changes: Change) -> Builder:
    """A builder for one commit on top of main."""
    return lambda host: propose(host, *changes)


def wrote(name: str, content: str | bytes, *, executable: bool = False) -> Change:
    """Write a file, new or not."""
    return lambda host: host.write(name, content, executable=executable)


def appended(name: str, content: str) -> Change:
    """Write at the end of a file that is there."""
    return lambda host: host.write(name, host.path(name).read_bytes() + content.encode())


def moved(old: str, new: str) -> Change:
    """Rename a file."""

    def change(host: Host) -> None:
        host.path(new).parent.mkdir(parents=True, exist_ok=True)
        host.path(old).rename(host.path(new))

    return change


def copied(old: str, new: str) -> Change:
    """Copy a file, byte for byte."""
    return lambda host: host.write(new, host.path(old).read_bytes())


def removed(name: str) -> Change:
    """Remove a file or folder."""
    return lambda host: host.remove(name)


def linked(name: str, target: str) -> Change:
    """Put a symbolic link in the place of whatever is there."""
    return lambda host: host.link(name, target)


def better(host: Host) -> None:
    """An honest change of the production code."""
    host.write("src/parsekit/api.py", BETTER)


def relocked(host: Host) -> None:
    """Make LOCK agree with the oracle of the work tree."""
    host.lock()
