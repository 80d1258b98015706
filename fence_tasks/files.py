"""Files as every room writes them, whole or not at all; and the kit's own files with their digest."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KIT = Path(__file__).resolve().parent
KIT_PATH = "fence_tasks/"
#: What `init-split` adds to a kit in a host: the version and digest that were vendored. No part of the kit itself.
VENDORED = "VENDORED.toml"
_KEPT_DOT_FILES = {".gitignore", ".gitattributes"}


def as_json(value: Any) -> bytes:
    """JSON with sorted keys in plain ASCII, so that no hostile name reaches a terminal raw."""
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode("ascii")


def write_whole(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write `data` to `path` by a rename within its folder, so that nobody ever sees half of it."""
    handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def in_kit(path: str) -> bool:
    """True if `path` (POSIX, relative to the kit's folder) is of the kit, and not a cache or a tool's leftover."""
    *folders, name = path.split("/")
    if any(part.startswith(".") or part == "__pycache__" for part in folders) or path == VENDORED:
        return False
    return not name.endswith(".pyc") and (not name.startswith(".") or name in _KEPT_DOT_FILES)


def kit_files() -> dict[str, bytes]:
    """The running kit's own files: path relative to its folder → bytes after CRLF → LF, sorted by path.

    A clone with autocrlf holds other bytes than the blobs; the kit itself has no CRLF.
    """
    found = {p.relative_to(KIT).as_posix(): p for p in KIT.rglob("*") if p.is_file()}
    return {path: found[path].read_bytes().replace(b"\r\n", b"\n") for path in sorted(found) if in_kit(path)}


def kit_digest(files: Mapping[str, bytes], blake3: Callable[[bytes], str]) -> str:
    """One BLAKE3 hex digest for a kit's files (path → bytes after CRLF → LF); `blake3` gives that of bytes."""
    return blake3(b"".join(f"{blake3(data)}  {path}\n".encode() for path, data in sorted(files.items())))
