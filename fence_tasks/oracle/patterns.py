"""gitignore's patterns as a predicate over paths, without negation (gitignore(5); git's wildmatch.c, `dowild`).

No regular expression is made of a pattern: matching is bounded by the product of their lengths, whatever they hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_Test = Callable[[str], bool]  # whether one character fits one place of a pattern
_DEEP = "**"  # a component that stands for any number of folders
_CLASSES: dict[str, _Test] = {
    "alnum": lambda c: c.isascii() and c.isalnum(), "alpha": lambda c: c.isascii() and c.isalpha(),
    "blank": lambda c: c in " \t", "cntrl": lambda c: c < " " or c == "\x7f",
    "digit": lambda c: c.isascii() and c.isdigit(), "graph": lambda c: "!" <= c <= "~",
    "lower": lambda c: "a" <= c <= "z", "print": lambda c: " " <= c <= "~",
    "punct": lambda c: "!" <= c <= "~" and not c.isalnum(), "space": lambda c: c in " \t\n\r",
    "upper": lambda c: "A" <= c <= "Z", "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}  # fmt: skip


class PatternError(ValueError):
    """A pattern that git never matches: a class without its end, an unknown class, a lone backslash."""


def matches(pattern: str, path: str) -> bool:
    """True if the pattern matches `path` (POSIX, relative to the root) or one of the folders above it. A pattern
    that is malformed matches nothing, as in git; a policy with one is refused (`check`)."""
    try:
        components, anchored, folders_only = _parsed(pattern)
    except PatternError:
        return False
    parts = path.split("/")
    prefixes = [parts[: n + 1] for n in range(len(parts) - (1 if folders_only else 0))]
    if not anchored:
        return any(_fits(components[0], prefix[-1]) for prefix in prefixes)
    return any(_match(components, prefix) for prefix in prefixes)


def check(pattern: str) -> str:
    """What is wrong with a pattern, or ""."""
    if pattern.startswith("!"):
        return "negation is not supported"
    try:
        components, _, _ = _parsed(pattern)
        for component in components:
            if component != _DEEP:
                _places(component)
    except PatternError as error:
        return str(error)
    if any(low > high for low, high in re.findall(r"\[[^\]]*?([^\[!^])-([^\]])", pattern)):
        return "a range that is the wrong way round"
    return "" if components and all(components) else "it matches nothing"


@lru_cache(maxsize=1024)
def _parsed(pattern: str) -> tuple[tuple[str, ...], bool, bool]:
    """`(components, anchored, folders only)`."""
    while pattern.endswith(" ") and not pattern.endswith("\\ "):
        pattern = pattern[:-1]
    body = pattern.removesuffix("/")
    anchored = "/" in body
    components = tuple(
        _DEEP if len(part) > 1 and not part.strip("*") else part for part in body.removeprefix("/").split("/")
    )
    if not body:
        raise PatternError("it is empty")
    return components, anchored, pattern.endswith("/")


def _match(components: tuple[str, ...], parts: list[str]) -> bool:
    """True if all of `parts` match; `reach` are the numbers of parts that the components so far can have taken."""
    reach = {0}
    for number, component in enumerate(components):
        if component == _DEEP:
            last = number == len(components) - 1  # "a/**" is what lies inside a, not a itself
            reach = {taken for start in reach for taken in range(start + last, len(parts) + 1)}
        else:
            reach = {taken + 1 for taken in reach if taken < len(parts) and _fits(component, parts[taken])}
    return len(parts) in reach


def _fits(component: str, name: str) -> bool:
    """True if one component of a pattern matches one name: the last star takes one more character at each miss."""
    if component == _DEEP:
        return True
    try:
        places = _places(component)
    except PatternError:
        return False
    at, here, star, retry = 0, 0, -1, 0
    while at < len(name):
        place = places[here] if here < len(places) else None
        if here < len(places) and place is None:
            star, retry = here, at
            here += 1
        elif place is not None and place(name[at]):
            at, here = at + 1, here + 1
        elif star >= 0:
            retry += 1
            at, here = retry, star + 1
        else:
            return False
    return all(place is None for place in places[here:])


@lru_cache(maxsize=1024)
def _places(component: str) -> tuple[_Test | None, ...]:
    """A test for each character that the component stands for; None for a star."""
    places: list[_Test | None] = []
    at = 0
    while at < len(component):
        char = component[at]
        if char == "[":
            test, at = _class(component, at + 1)
            places.append(test)
            continue
        if char == "\\":
            at += 1
            if at == len(component):
                raise PatternError("it ends in a lone backslash")
            places.append(component[at].__eq__)
        elif char == "*":
            places.append(None)
        else:
            places.append((lambda _: True) if char == "?" else char.__eq__)
        at += 1
    return tuple(places)


def _class(text: str, at: int) -> tuple[_Test, int]:
    """The test of a class whose `[` stands before `at`, and the place after its `]`."""
    negated = text[at : at + 1] in {"!", "^"}
    start = at = at + negated
    tests: list[_Test] = []
    before = ""  # the character that a dash would start a range from
    while at == start or text[at : at + 1] != "]":
        char = text[at : at + 1]
        if text.startswith("[:", at) and (end := text.find("]", at + 2)) > at + 2 and text[end - 1] == ":":
            name = text[at + 2 : end - 1]
            if name not in _CLASSES:
                raise PatternError(f"[:{name}:] is no class")
            tests.append(_CLASSES[name])
            at, before = end + 1, ""
            continue
        ranged = char == "-" and before and text[at + 1 : at + 2] not in {"", "]"}
        at += bool(ranged)
        char, at = _literal(text, at)
        tests.append(_between(before if ranged else char, char))
        before = "" if ranged else char
    return (lambda c: any(test(c) for test in tests) is not negated), at + 1


def _literal(text: str, at: int) -> tuple[str, int]:
    at += text[at : at + 1] == "\\"
    if at >= len(text):
        raise PatternError("a class has no end")
    return text[at], at + 1


def _between(low: str, high: str) -> _Test:
    return lambda c: low <= c <= high
