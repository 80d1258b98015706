"""Where the candidate's modules are in its API, and how it is asked what several properties need.

The API is the command line's module; the pure modules are attributes of attributes. If one moves, it moves here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import currently_in_test_context

from fence_tasks.properties import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ABSENT = "000000"
POLICY = """format = 1
[production]
roots = ["src/", "oracle_tools/"]
also = ["tests/", "CHANGELOG.md"]
[gate]
paths = ["fence_tasks/", "noxfile.py", "first_steps/contrôle.toml"]
[people]
paths = ["src/owned/", "src/straße/résumé.toml"]
[candidate]
path = ["src/"]
api = "kit"
[properties]
seed = 1
"""


def audit(api: Any) -> Any:
    """The module of `audit`; its attributes are those of the oracle's files: policy, lock, freezes, fixtures."""
    return api.judging.audit


def fence(api: Any) -> Any:
    """The module of `judge`; `paths` and `frozen` are its attributes."""
    return api.judging.judge


def trees(api: Any) -> Any:
    """The module that reads raw trees."""
    return api.judging.git.trees


def reader(api: Any) -> Any:
    """A function on the candidate's side that makes of objects (id → bytes) what `difference` reads trees with."""
    source = "lambda objects: lambda ids: [objects.get(oid) for oid in ids]"
    return api.judging.git.subprocess.builtins.eval(source)


def report(api: Any) -> Any:
    """The module that builds a verdict; `code_of` is its attribute."""
    return api.verdict


def refused(function: Callable[..., Any], *arguments: Any) -> str:
    """What the candidate says where it refuses `arguments` with findings, or "" where it takes them."""
    try:
        function(*arguments)
    except Exception as error:
        if getattr(error, "name", "") != "RefusedError":
            raise
        return str(error)
    return ""


def none_of(taken: list[Any]) -> bool:
    """True if nothing was taken that had to be refused; else the counterexample says what."""
    if taken and currently_in_test_context():  # one example alone is run outside of any test
        note(f"taken: {taken}")
    return not taken


def change(api: Any, path: str, old: str = ABSENT, new: str = "100644") -> Any:
    """One changed path, by modes; the content is another one too."""
    ids = ["0" * 40 if mode == ABSENT else digit * 40 for mode, digit in ((old, "a"), (new, "b"))]
    return trees(api).Change(path, old, new, *ids)


def folders(paths: Iterable[str]) -> dict[str, list[str]]:
    """Every folder of a tree that holds `paths`, "" the root, with the paths of its entries."""
    found: dict[str, set[str]] = {}
    for path in paths:
        parts = path.split("/")
        for n in range(len(parts)):
            found.setdefault("/".join(parts[:n]), set()).add("/".join(parts[: n + 1]))
    return {folder: sorted(entries) for folder, entries in found.items()}


def judged(api: Any, changes: list[Any], policy: str = POLICY, **patch: Any) -> tuple[int, set[str]]:
    """The exit code and the rules, notes included, of a patch under `policy`."""
    rules = audit(api).policy.parse(policy.encode())
    findings = fence(api).judge(fence(api).Patch(changes, **patch), rules)
    return code(api, findings), {finding.rule for finding in findings}


def code(api: Any, findings: Any) -> int:
    """The exit code of findings."""
    return int(api.op("int", report(api).code_of(findings)))
