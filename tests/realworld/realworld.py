"""Fence three real libraries and score patches to them: `python -m tests.realworld.realworld`.

Prints a row a patch, with the code and rule that `table.toml` expects and those that came. Exits 3 if a row differs:
1 and 2 are what Python and argparse exit with when nothing was judged.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fence_tasks import __version__
from tests.demo.demo import Score, score

from . import hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

WRONG = 3
LINE = "{:6}{:9} {:15} {:23} {:23}{:>6}  {}\n"


@dataclass(frozen=True, slots=True)
class Row:
    """One patch, what it does, and the code and rule that it must get ("" where it passes)."""

    library: str
    patch: str
    what: str
    code: int
    rule: str

    @property
    def expected(self) -> str:
        """Code and rule, as the table shows them."""
        return shown(self.code, self.rule)


def table() -> tuple[list[hosts.Library], list[Row]]:
    """The libraries and rows of `table.toml`."""
    data = tomllib.loads((hosts.HERE / "table.toml").read_text("utf-8"))
    return [hosts.Library(**one) for one in data["library"]], [Row(**one) for one in data["patch"]]


def swapped(rows: Sequence[Row]) -> list[Row]:
    """The rows, with two expectations exchanged: those of the first patch that passes and the first that does not."""
    good = next(row for row in rows if row.code == 0)
    bad = next(row for row in rows if row.code != 0)
    other = {good: replace(good, code=bad.code, rule=bad.rule), bad: replace(bad, code=good.code, rule=good.rule)}
    return [other.get(row, row) for row in rows]


def shown(code: int, rule: str) -> str:
    """A code and a rule."""
    return f"{code} {rule}".strip()


def got(result: Score) -> str:
    """Code and rule that a score came to; the exit code too where the verdict has another one."""
    code = result.verdict.get("code")
    rule = next(
        (f["rule"] for f in result.verdict.get("findings", []) if f["code"] == code and f["level"] == "error"), ""
    )
    return shown(result.code, rule) if code == result.code else f"{result.code} but verdict {code}"


def ran(result: Score) -> bool:
    """True if both kinds of evidence ran and were met, as a pass demands."""
    kinds = [result.verdict.get(kind, []) for kind in ("properties", "fixtures")]
    return [len(kind) for kind in kinds] == [2, 10] and all(e["status"] in {"held", "met"} for k in kinds for e in k)


def judge(host: Path, library: hosts.Library, row: Row) -> bool:
    """Score one patch and print its row; True if it came out as expected."""
    started = time.monotonic()
    result = score(host, "main", hosts.propose(host, library, row.patch), host.with_name(f"{library.name}-{row.patch}"))
    came = got(result)
    right = came == row.expected and (row.code != 0 or ran(result))
    spent = f"{time.monotonic() - started:.1f} s"
    say(LINE.format("ok" if right else "WRONG", library.name, row.patch, row.expected, came, spent, row.what))
    if not right:
        nox = "nox > " if result.verdict else "\0"  # its own lines matter only where no verdict came
        say("".join(line for line in result.output.splitlines(keepends=True) if not line.startswith(nox)))
    return right


def build(folder: Path, libraries: Sequence[hosts.Library], *, swap: bool = False) -> dict[str, Path]:
    """A fenced host for each library, below `folder`."""
    wheels, made = hosts.download(folder / "wheels"), {}
    for library in libraries:
        started = time.monotonic()
        made[library.name] = host = folder / library.name
        hosts.plain(host, wheels[library.name], library)
        hosts.fence(host, library, swap=swap)
        say(
            f"{wheels[library.name].name}: fenced with two properties and ten fixtures in {time.monotonic() - started:.1f} s\n"
        )
    return made


def say(text: str) -> None:
    """Print at once: a run takes minutes."""
    sys.stdout.write(text)
    sys.stdout.flush()


def main() -> int:
    """Build the hosts and print the table; 0 if every row came out as expected."""
    parser = argparse.ArgumentParser(prog="nox -s realworld --", description=__doc__, allow_abbrev=False)
    libraries, rows = table()
    parser.add_argument("--only", action="append", choices=[one.name for one in libraries], help="one library")
    parser.add_argument("--patch", action="append", choices=sorted({row.patch for row in rows}), help="one patch")
    parser.add_argument("--swap", choices=["verdicts", "fixtures"], help="exchange two expectations: must exit 3")
    parser.add_argument("--build", metavar="FOLDER", help="build the hosts there, and stop")
    options = parser.parse_args()
    libraries = [one for one in libraries if not options.only or one.name in options.only]
    rows = [row for row in rows if row.library in {one.name for one in libraries}]
    rows = swapped(rows) if options.swap == "verdicts" else rows
    rows = [row for row in rows if not options.patch or row.patch in options.patch]
    if options.build:
        build(Path(options.build), libraries)
        return 0
    say(f"kit {__version__}, Python {platform.python_version()}\n")
    with tempfile.TemporaryDirectory(prefix="fence-realworld-") as scratch:
        made = build(Path(scratch), libraries, swap=options.swap == "fixtures")
        say(LINE.format("", "library", "patch", "expected", "got", "time", "what the patch does"))
        right = [judge(made[one.name], one, row) for one in libraries for row in rows if row.library == one.name]
    say(f"{sum(right)} as expected, {len(right) - sum(right)} not\n")
    return 0 if right and all(right) else WRONG


if __name__ == "__main__":
    sys.exit(main())
