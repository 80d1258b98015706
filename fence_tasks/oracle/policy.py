"""`oracle/policy.toml` as a value: parsed strictly, every fault reported with its key and line."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, fields
from typing import Any

from ..model import Finding, RefusedError
from . import patterns
from .names import below, oddity

PATH = "oracle/policy.toml"
FORMAT = 1
ORACLE = "oracle/"

#: CI files of the known forges; whatever a policy says, no proposer may write them (design, section 5).
FORGE_FILES = (
    ".github/", ".gitlab/", ".gitlab-ci.yml", ".circleci/", ".travis.yml", ".forgejo/", ".gitea/", ".drone.yml",
    ".woodpecker/", ".woodpecker.yml", ".buildkite/", ".cirrus.yml", ".cirrus.star", ".semaphore/", ".builds/",
    ".build.yml", ".appveyor.yml", "appveyor.yml", "azure-pipelines.yml", ".azure-pipelines/", "Jenkinsfile",
    "bitbucket-pipelines.yml", "cloudbuild.yaml", ".tekton/", ".teamcity/", ".harness/",
)  # fmt: skip

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SIZE = re.compile(r"([1-9][0-9]*)(B|KiB|MiB|GiB)")


@dataclass(frozen=True, slots=True)
class Production:
    """What a proposer may write: `roots` make the candidate, `also` are writable and never evidence."""

    roots: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    permit: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gate:
    """The code that judges, as protected paths."""

    paths: tuple[str, ...] = ("fence_tasks/", "noxfile.py", "tasks.py", ".github/", ".gitlab-ci.yml")


@dataclass(frozen=True, slots=True)
class People:
    """How people's own changes are judged, and more paths that they own."""

    route: str = "refuse"
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """How the candidate is started. Times are seconds, `memory` is bytes."""

    adapter: str = "python"
    path: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    api: str = ""
    argv: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    requirements: str = ""
    python: str = ""
    call_seconds: float = 5.0
    budget_seconds: float = 120.0
    memory: int = 1 << 30
    isolation: str = "confined"


@dataclass(frozen=True, slots=True)
class Fixtures:
    """The API function that maps `oracle/fixtures/*.in` to output, both bytes ("" if there are none)."""

    function: str = ""


@dataclass(frozen=True, slots=True)
class Properties:
    """The pinned seed, the bound on examples, and the least share of them that must reach the candidate."""

    seed: int = 0
    examples: int = 200
    min_effective: float = 0.1


@dataclass(frozen=True, slots=True)
class Skips:
    """What is done with skips that a patch adds; `max_bytes` is the largest file judged."""

    unconditional: str = "ban"
    conditional: str = "report"
    deleted: str = "report"
    markers: tuple[str, ...] = ()
    max_bytes: int = 2 << 20


@dataclass(frozen=True, slots=True)
class Freezes:
    """The limits on freezes: cases an owner, days until expiry, runs while observing."""

    cap_per_owner: int = 5
    longest_days: int = 90
    runs: int = 50


@dataclass(frozen=True, slots=True)
class History:
    """Whether oracle or gate touched and restored within the range is reported or banned."""

    touched: str = "report"


@dataclass(frozen=True, slots=True)
class Policy:
    """The whole of `oracle/policy.toml`."""

    production: Production = field(default_factory=Production)
    gate: Gate = field(default_factory=Gate)
    people: People = field(default_factory=People)
    candidate: Candidate = field(default_factory=Candidate)
    fixtures: Fixtures = field(default_factory=Fixtures)
    properties: Properties = field(default_factory=Properties)
    skips: Skips = field(default_factory=Skips)
    freezes: Freezes = field(default_factory=Freezes)
    history: History = field(default_factory=History)

    @property
    def protected(self) -> tuple[str, ...]:
        """Every path that no proposer may write: oracle, gate, forge files."""
        return (ORACLE, *self.gate.paths, *FORGE_FILES)

    @property
    def writable(self) -> tuple[str, ...]:
        """Roots and also together."""
        return (*self.production.roots, *self.production.also)


_SECTIONS = {f.name: f.default_factory for f in fields(Policy)}
_REQUIRED = {("production", "roots"), ("candidate", "path"), ("properties", "seed")}
_CHOICES = {
    ("people", "route"): ("refuse", "code-owners"),
    ("candidate", "adapter"): ("python", "command", "filter"),
    ("candidate", "isolation"): ("confined", "any"),
    ("skips", "unconditional"): ("ban", "report"),
    ("skips", "conditional"): ("ban", "report"),
    ("skips", "deleted"): ("ban", "report"),
    ("history", "touched"): ("report", "ban"),
}
_PATHS = {("production", "roots"), ("production", "also"), ("gate", "paths"), ("people", "paths"),
          ("candidate", "path"), ("candidate", "imports")}  # fmt: skip
_RANGES = {
    ("candidate", "call_seconds"): (0.01, 3600.0),
    ("candidate", "budget_seconds"): (0.1, 86400.0),
    ("properties", "seed"): (0, 2**64 - 1),
    ("properties", "examples"): (1, 1_000_000),
    ("properties", "min_effective"): (0.0, 1.0),
    ("freezes", "cap_per_owner"): (0, 1_000_000),
    ("freezes", "longest_days"): (1, 36500),
    ("freezes", "runs"): (1, 1_000_000),
}


def parse(raw: bytes) -> Policy:
    """The policy in `raw` (bytes of a TOML file).

    Raises RefusedError with one `policy-malformed` finding a fault, each with key and line.
    """
    try:
        text = raw.decode("utf-8")
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, a number of 5,000 digits, 1,000 brackets
        line = re.search(r"at line (\d+)", str(error))
        raise RefusedError(_fault(f"not TOML: {error}", int(line.group(1)) if line else 1)) from error
    reader = _Reader(text)
    policy = reader.read(document)
    if reader.faults:
        raise RefusedError(*reader.faults)
    return policy


def _fault(message: str, line: int) -> Finding:
    return Finding("policy-malformed", message, PATH, line)


def _places(text: str) -> list[tuple[tuple[str, ...], int]]:
    """What each line of a TOML file sets: (table and key, line from 1). For messages only; `tomllib` has no lines."""
    places: list[tuple[tuple[str, ...], int]] = []
    table: tuple[str, ...] = ()
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not quote:
            if header := re.match(r"\s*\[\[?([^\]]+)\]", line):
                table = _parts(header.group(1))
                places.append((table, number))
            elif assigned := re.match(r"\s*([^#=]+?)\s*=", line):
                places.append(((*table, *_parts(assigned.group(1))), number))
        for mark in re.findall(r"\"{3}|'{3}", line):  # a multi-line string hides what looks like a key
            quote = "" if quote == mark else quote or mark
    return places


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


class _Reader:
    """Reads one document and gathers its faults."""

    def __init__(self, text: str) -> None:
        self.places = _places(text)
        self.faults: list[Finding] = []

    def fault(self, section: str, key: str, message: str) -> None:
        name = f"{section}.{key}" if section and key else section or key
        self.faults.append(_fault(f"{name}: {message}", self.line(section, key)))

    def line(self, section: str, key: str) -> int:
        """The line, from 1, that sets `key` of `section`; else the section's first; else 1."""
        wanted = tuple(part for part in (section, key) if part)
        for path in (wanted, wanted[:1]):
            for place, number in self.places:
                if path and place[: len(path)] == path:
                    return number
        return 1

    def read(self, document: dict[str, Any]) -> Policy:
        version = document.pop("format", None)
        if type(version) is not int:
            self.fault("", "format", f"is {version!r}; this kit reads format {FORMAT}")
        elif version > FORMAT:
            self.fault("", "format", f"is {version}, newer than this kit's {FORMAT}; run invoke update-kit")
        elif version < FORMAT:
            self.fault("", "format", f"is {version}; this kit reads format {FORMAT}")
        sections: dict[str, Any] = {}
        for name, value in document.items():
            if name not in _SECTIONS:
                self.fault("" if not isinstance(value, dict) else name, name if not isinstance(value, dict) else "",
                           "unknown key")  # fmt: skip
            elif not isinstance(value, dict):
                self.fault("", name, "is not a table")
            else:
                sections[name] = self.section(name, value)
        for section, key in sorted(_REQUIRED):
            table = document.get(section, {})
            if isinstance(table, dict) and key not in table:
                self.fault(section, key, "is missing")
        policy = Policy(**sections)
        if not self.faults:
            self.check(policy)
        return policy

    def section(self, name: str, table: dict[str, Any]) -> Any:
        kind: Any = _SECTIONS[name]
        known = {f.name: f.default for f in fields(kind)}
        values = {}
        for key, value in table.items():
            if key not in known:
                self.fault(name, key, "unknown key")
            else:
                values[key] = self.value(name, key, value, known[key])
        return kind(**{k: v for k, v in values.items() if v is not None})

    def value(self, section: str, key: str, value: Any, default: Any) -> Any:
        at = (section, key)
        if key in {"memory", "max_bytes"}:
            match = _SIZE.fullmatch(value) if isinstance(value, str) else None
            if not match:
                return self.fault(section, key, "is not a size such as 512MiB or 1GiB")
            return int(match.group(1)) * _UNITS[match.group(2)]
        if isinstance(default, tuple):
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                return self.fault(section, key, "is not a list of strings")
            if at in _PATHS:
                self.paths(section, key, value)
            for pattern in value if key in {"permit", "deny"} else ():
                if wrong := patterns.check(pattern):
                    self.fault(section, key, f"the pattern {pattern!r} cannot be used: {wrong}")
            return tuple(value)
        if isinstance(default, float) and type(value) is int:
            value = float(max(min(value, 1 << 60), -1 << 60))  # beyond any range, and no overflow
        if type(value) is not type(default):
            return self.fault(section, key, f"is not a {type(default).__name__}")
        if at in _CHOICES and value not in _CHOICES[at]:
            return self.fault(section, key, f"is {value!r}, not one of {', '.join(_CHOICES[at])}")
        if at in _RANGES and not _RANGES[at][0] <= value <= _RANGES[at][1]:
            return self.fault(section, key, f"is {value}, outside {_RANGES[at][0]} to {_RANGES[at][1]}")
        return value

    def paths(self, section: str, key: str, values: list[str]) -> None:
        for value in values:
            parts = value.removesuffix("/").split("/")
            plain = value == "./" and key == "imports"
            if not plain and (not value or any(part in {"", ".", ".."} for part in parts) or "\\" in value):
                self.fault(section, key, f"{value!r} is not a plain path relative to the repository's root")

    def check(self, policy: Policy) -> None:
        """What one key says against another."""
        if not policy.production.roots:
            self.fault("production", "roots", "is empty")
        for key in ("roots", "also"):
            for path in getattr(policy.production, key):
                for other in policy.protected:
                    if overlaps(path, other):
                        self.fault("production", key, f"{path!r} overlaps the protected {other!r}")
        if policy.candidate.adapter == "python" and not policy.candidate.api:
            self.fault("candidate", "api", "is empty; the python adapter needs a module")
        if policy.candidate.adapter != "python" and not policy.candidate.argv:
            self.fault("candidate", "argv", f"is empty; the {policy.candidate.adapter} adapter needs a program")
        if not policy.candidate.path:
            self.fault("candidate", "path", "is empty; the candidate would have no code")
        for path in policy.candidate.path:
            if any(covers(other, path) for other in (*policy.protected, *policy.production.also)):
                self.fault("candidate", "path", f"{path!r} is oracle, gate or also, which is never loaded")
        requirements = policy.candidate.requirements
        if requirements and (not covers(ORACLE, requirements) or oddity(requirements)):
            self.fault("candidate", "requirements", f"{requirements!r} is not under oracle/, or no plain path")


def covers(prefix: str, path: str) -> bool:
    """True if `path` is `prefix` or lies below it (POSIX paths; a folder's prefix ends in `/`)."""
    return path == prefix or (prefix.endswith("/") and path.startswith(prefix))


def is_candidate(path: str, policy: Policy) -> bool:
    """True if the candidate is given this path: below `candidate.path`, and never oracle, gate or also."""
    left_out = (*policy.protected, *policy.production.also)
    return any(covers(p, path) for p in policy.candidate.path) and not any(covers(p, path) for p in left_out)


def overlaps(one: str, other: str) -> bool:
    """True if one path is, or lies above or below, the other under any folding."""
    return below(one.removesuffix("/"), other) or below(other.removesuffix("/"), one)
