"""The vocabulary: plain values that every room shares. Nothing here reads a file, a clock or git."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: The mode git prints for "no such entry" in raw diff output (git-diff(1), "Raw output format").
ABSENT = "000000"
REGULAR_MODES = frozenset({"100644", "100755"})
LINK_MODE = "120000"
SUBMODULE_MODE = "160000"
TREE_MODE = "040000"


def text_of(raw: bytes) -> str:
    """A path or line of git's as `str`; bytes that are not UTF-8 survive as lone surrogates (PEP 383)."""
    return raw.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The inverse of `text_of`. A lone surrogate that stands for no byte (JSON may hold one) becomes `?`,
    so that it equals no path of git's."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of `git ls-tree -r -t`: octal mode, object id, POSIX path relative to the root."""

    mode: str
    oid: str
    path: str


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two trees; an absent side has mode `ABSENT` and an id of zeros."""

    path: str
    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str

    @property
    def added(self) -> bool:
        """True if base lacks the path."""
        return self.old_mode == ABSENT

    @property
    def deleted(self) -> bool:
        """True if the merge result lacks the path."""
        return self.new_mode == ABSENT


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, by the name of its rule. Code, level, remedy and who must act stand in `rules.RULES`;
    `remedy` here is a more exact command for this very case. Texts may hold hostile characters: whoever
    prints them escapes them."""

    rule: str
    message: str
    path: str = ""
    line: int = 0
    remedy: str = ""


class RefusedError(Exception):
    """Judging cannot go on: the findings say why. The doors turn it into a verdict and an exit code."""

    def __init__(self, *findings: Finding) -> None:
        """Raise with the findings that stop the run (at least one)."""
        super().__init__("; ".join(f"{f.rule}: {f.message}" for f in findings))
        self.findings = findings


@dataclass(frozen=True, slots=True)
class Plan:
    """What is judged, by ids only: commits `base`, `head`, `onto` ("" if not given), the merge bases, the
    merge result's tree, base's tree, and the merge methods by which exactly that tree lands."""

    base: str
    head: str
    onto: str
    merge_bases: tuple[str, ...]
    base_tree: str
    merge_result: str
    methods: tuple[str, ...]
    subject: str  # patch | review | self
    names: dict[str, str] = field(default_factory=dict)  # what was typed: {"base": "main", …}


@dataclass(frozen=True, slots=True)
class PropertyResult:
    """What one property did on head. `cases` is the SHA-256 of every argument list drawn, in order;
    `counterexample` is the shrunk arguments as readable text ("" if none)."""

    id: str  # "properties/roundtrip.py::prop_roundtrip"
    examples: int
    effective: int
    rejected: int
    calls: int
    cases: str
    cover: dict[str, float] = field(default_factory=dict)
    counterexample: str = ""
    status: str = "held"  # held | missed | pending | retiring | fixed


@dataclass(frozen=True, slots=True)
class FixtureResult:
    """What one fixture gave on head: its id ("fixtures/<function>/<digest>"), expected and actual SHA-256
    hex digests ("" where no bytes came back), and lines of a diff between base's output and head's."""

    id: str
    function: str
    expected: str
    actual: str
    status: str = "met"  # met | missed | pending | retiring | fixed
    diff: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one evidence step found out. `repeatable` is false where a time or memory limit was met."""

    properties: tuple[PropertyResult, ...] = ()
    fixtures: tuple[FixtureResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    repeatable: bool = True
    timings: dict[str, Any] = field(default_factory=dict)  # goes to run.json, never to verdict.json
