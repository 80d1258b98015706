"""The kit as it lies in a host: its files, and `VENDORED.toml`, which says what was vendored."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from .. import __version__, files
from ..model import REGULAR_MODES
from . import staged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..model import Entry

PATH = files.KIT_PATH + files.VENDORED
FORMAT = 1


def render(kit: Mapping[str, bytes], blake3: Callable[[bytes], str]) -> bytes:
    """The VENDORED.toml for a kit's files."""
    return (
        "# Which kit this folder is. Written by init-split and update-kit; invoke check compares it with the files.\n"
        f'format = {FORMAT}\nversion = "{__version__}"\ndigest = "{files.kit_digest(kit, blake3)}"\n'
    ).encode()


def read(root: str, index: Sequence[Entry]) -> tuple[dict[str, bytes], str]:
    """`(the kit's files that the index holds, as files.kit_files gives them; the digest in VENDORED.toml or "")`."""
    entries = [e for e in index if e.path.startswith(files.KIT_PATH) and e.mode in REGULAR_MODES]
    content = {p.removeprefix(files.KIT_PATH): data for p, data in staged.contents(root, entries).items()}
    try:
        digest = str(tomllib.loads(content.get(files.VENDORED, b"").decode()).get("digest", ""))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        digest = ""
    return {p: data.replace(b"\r\n", b"\n") for p, data in content.items() if files.in_kit(p)}, digest
