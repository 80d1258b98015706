"""File names as values: how file systems fold them, and what makes one not portable.

Sources: HFS+ ignorable code points and `.git` aliases as git's `fsck` and CVE-2014-9390 list them; Windows names
as "Naming Files, Paths, and Namespaces" (Microsoft) and CVE-2019-1349/1352 describe them; Unicode TR 9 for
bidirectional controls.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from ..model import bytes_of

#: What HFS+ ignores when it compares names (git, utf8.c `next_hfs_char`), and Unicode's Default_Ignorable_Code_Point.
IGNORABLE = dict.fromkeys(
    [0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0, *range(0x180B, 0x1810),
     *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10),
     *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)]
)  # fmt: skip
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\s*\..*)?", re.IGNORECASE)
_SHORT = re.compile(r"[^.]{1,6}~[1-9][0-9]{0,5}(\.[^.]{0,3})?")
_WINDOWS = frozenset('<>:"|?*\\')
#: What nearly every component looks like; it has none of the oddities below but perhaps a device's name.
_ORDINARY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}(?<!\.)")
_LONGEST = 255  # bytes a component: ext4, APFS and NTFS agree on about that


@lru_cache(maxsize=65536)
def fold(path: str) -> str:
    r"""The path as the most forgiving file systems compare it: full case folding, NFKC, no ignorable code
    points, no trailing dots and blanks, no alternate stream, `\\` as `/`. Two paths with one folding may be one
    file somewhere."""
    if path.isascii() and not _odd_ascii(path):
        return path.lower()
    return "/".join(_fold_component(part) for part in path.translate(IGNORABLE).replace("\\", "/").split("/"))


def _odd_ascii(path: str) -> bool:
    return any(c in path for c in ":\\") or any(part[-1:] in {".", " "} for part in path.split("/"))


def _fold_component(part: str) -> str:
    # Folding and composing can undo each other once; two rounds reach a fixed point (Unicode, D145).
    for _ in range(2):
        part = unicodedata.normalize("NFKC", part).casefold().translate(IGNORABLE)
    part = unicodedata.normalize("NFKC", part)
    head = part.split(":", 1)[0] if not part.startswith(":") else part
    return head.rstrip(". ") or part


def may_be(component: str, name: str) -> bool:
    """True if some file system opens `component` as `name` (both one component): folding, or a DOS short name."""
    folded, target = fold(component), fold(name)
    if folded == target:
        return True
    if not _SHORT.fullmatch(folded):
        return False
    # A short name is the first letters of the long one without dots and blanks, `~`, and a number.
    stem = re.sub(r"[. ]", "", target.rsplit(".", 1)[0] if "." in target.lstrip(".") else target)
    short = folded.split("~", 1)[0]
    hashed = len(short) == 6 and short[:2] == stem[:2] and bool(re.fullmatch(r"[0-9a-f]{4}", short[2:]))
    return len(short) >= 2 and (stem.startswith(short) or hashed)


def below(path: str, protected: str) -> bool:
    """True if some file system may open `path` as `protected` or as something below it."""
    folded, target = fold(path), fold(protected.removesuffix("/"))
    if folded == target or folded.startswith(target + "/"):
        return True
    parts, wanted = folded.split("/"), target.split("/")
    return "~" in folded and len(parts) >= len(wanted) and all(map(may_be, parts, wanted))


def oddity(path: str) -> tuple[str, str] | None:
    """`(rule, message)` for the first thing that makes the name not portable, or None."""
    return next((found for part in path.split("/") if (found := _odd(part))), None)


@lru_cache(maxsize=65536)
def _odd(part: str) -> tuple[str, str] | None:
    if _ORDINARY.fullmatch(part) and not _DEVICES.fullmatch(part):
        return None
    if part in {"", ".", ".."}:
        return "name-climbs", f"the component {part!r} is not a name"
    if any("\udc80" <= c <= "\udcff" for c in part):
        return "name-not-utf8", "the name is not valid UTF-8"
    if git_alias(part):
        return "git-name", f"some file system opens {part!r} as .git"
    if found := _invisible(part):
        called = unicodedata.name(found, "a control character")
        return "name-control", f"the name holds U+{ord(found):04X} ({called})"
    if part.startswith("-"):
        return "name-dash", f"{part!r} starts with a dash"
    if message := _windows(part):
        return "name-windows", message
    if len(bytes_of(part)) > _LONGEST:
        return "name-long", f"a component has {len(bytes_of(part))} bytes"
    return None


def git_alias(component: str) -> bool:
    """True if some file system opens this component as `.git` (but it is none of `.gitignore` and the like)."""
    return may_be(component, ".git") or re.fullmatch(r"git~[0-9]+", fold(component)) is not None


def _invisible(part: str) -> str:
    # Joiners are letters' business in Persian, Hindi or emoji, but HFS+ drops them: two names, one file.
    return next((c for c in part if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}), "")


def _windows(part: str) -> str:
    if part[-1] in {".", " "}:
        return f"{part!r} ends in a dot or a blank, which Windows drops"
    if found := next((c for c in part if c in _WINDOWS), ""):
        return f"the name holds {found!r}, which Windows cannot store or reads as a separator"
    if _DEVICES.fullmatch(part):
        return f"{part!r} is a device on Windows"
    if _SHORT.fullmatch(part):
        return f"{part!r} looks like the short form of another name"
    return ""
