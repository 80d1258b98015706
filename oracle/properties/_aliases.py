"""Other names for a path that some disk takes for the same: how NTFS, APFS, HFS+ and ext4 with case folding compare.

Sources: git's utf8.c (`next_hfs_char`) for what HFS+ leaves out; "Naming Files, Paths, and Namespaces" (Microsoft)
for dots, blanks and streams; the rules of 8.3 names; Unicode's NFKC and case folding.
"""

from __future__ import annotations

import unicodedata

from fence_tasks.properties import st

#: What HFS+ leaves out of a name: joiners, directional marks, the byte order mark.
IGNORED = [chr(c) for c in (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)]
STREAMS = ("::$DATA", ":$I30:$INDEX_ALLOCATION", ":x")
LIGATURES = {"ff": "\ufb00", "fi": "\ufb01", "fl": "\ufb02", "st": "\ufb06"}
_ROOM, _ROOM_AFTER = 8, 3  # characters of an 8.3 name before and after its dot
_HASHES = st.sampled_from(["", "", "1A2B", "0F9C"])


def _twins() -> dict[str, list[str]]:
    """ASCII letter or digit → single characters that NFKC and case folding make of it."""
    found: dict[str, list[str]] = {}
    for c in map(chr, (*range(0x80, 0x2200), *range(0x2460, 0x2500), *range(0xFF00, 0xFF60), *range(0x1D400, 0x1D800))):
        plain = unicodedata.normalize("NFKC", c).casefold()
        if len(plain) == 1 and plain.isascii() and plain.isalnum():
            found.setdefault(plain, []).append(c)
    return found


TWINS = _twins()


def short(name: str, number: int, digest: str = "") -> str:
    """The 8.3 name that Windows gives the `number`-th such name, or `name` itself if it needs none.

    Where many names share six letters, four hex digits, `digest`, follow the first two.
    """
    stem, _, suffix = name.lstrip(".").rpartition(".")
    stem, suffix = (stem, suffix) if stem else (suffix, "")
    plain = stem.replace(".", "").replace(" ", "")
    fits = name in {plain, f"{plain}.{suffix}"} and len(plain) <= _ROOM and len(suffix) <= _ROOM_AFTER
    if fits or not name.isascii():
        return name
    mark = f"~{number}"
    letters = plain[:2] + digest if digest else plain[: min(6, _ROOM - len(mark))]
    return letters.upper() + mark + (f".{suffix[:_ROOM_AFTER].upper()}" if suffix else "")


@st.composite
def component(draw: st.DrawFn, name: str) -> tuple[str, set[str]]:
    """Another name that some disk opens as `name`, and the kinds of folding that make it one."""
    kinds = draw(st.sets(st.sampled_from(["case", "form", "twin", "ignored", "dots", "stream"]), max_size=3))
    alias = name
    if draw(st.booleans()):
        digest = draw(_HASHES)
        alias = short(alias, 1 if digest else draw(st.integers(1, 12)), digest)
        kinds |= {"short"} if alias != name else set()
    if "case" in kinds:
        alias = "".join(draw(st.sampled_from([c, c.upper(), c.lower()])) for c in alias)
    if "twin" in kinds and "~" not in alias:  # short names are of ASCII
        for pair, ligature in LIGATURES.items():
            alias = alias.replace(pair, draw(st.sampled_from([pair, ligature])))
        at = draw(st.integers(0, len(alias) - 1))
        alias = alias[:at] + draw(st.sampled_from(TWINS.get(alias[at].lower(), [alias[at]]))) + alias[at + 1 :]
    if "form" in kinds:
        alias = unicodedata.normalize(draw(st.sampled_from(["NFC", "NFD"])), alias)
    if "ignored" in kinds:
        for mark in draw(st.lists(st.sampled_from(IGNORED), min_size=1, max_size=2)):
            at = draw(st.integers(0, len(alias)))
            alias = alias[:at] + mark + alias[at:]
    if "dots" in kinds:
        alias += draw(st.text(". ", min_size=1, max_size=3))
    if "stream" in kinds:
        alias += draw(st.sampled_from(STREAMS))
    return alias, kinds if alias != name else set()


@st.composite
def alias(draw: st.DrawFn, path: str) -> tuple[str, set[str]]:
    """Another path that some disk opens as `path`, and the kinds of folding that make it one."""
    parts = [draw(component(part)) for part in path.split("/")]
    kinds = {kind for _, found in parts for kind in found}
    separators = [draw(st.sampled_from(["/", "/", "/", "\\"])) for _ in parts[1:]]
    if "\\" in separators:
        kinds.add("backslash")
    return "".join(part + mark for (part, _), mark in zip(parts, [*separators, ""], strict=True)), kinds
