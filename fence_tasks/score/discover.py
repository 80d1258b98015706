"""Finds the properties of an exported oracle and loads them: by file path, under private names, never from a cache."""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import hypothesis

from ..model import Finding
from .shown import error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: What a property must not bring: the scoring job pins these. Hypothesis leaves its mark on the function.
_MARKS = {
    "_hypothesis_internal_settings_applied": "@settings",
    "_hypothesis_internal_use_seed": "@seed",
    "_hypothesis_internal_use_reproduce_failure": "@reproduce_failure",
}
_PRIVATE = "_oracle_property_"
_GIVEN_BY_US = ("api", "base_api")


@dataclass(frozen=True, slots=True)
class Property:
    """One property as it was loaded: `body` as it was written, `function` as Hypothesis runs it (the same if nothing
    is `drawn`). `compares` says that it wants base's candidate too; `examples` is its own lower bound, if it has
    one; `labels` are the shares that its source names."""

    id: str
    path: str
    line: int
    function: Callable[..., Any]
    body: Callable[..., Any]
    drawn: tuple[str, ...]
    compares: bool
    examples: int | None
    labels: frozenset[str]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.id.rsplit("::", 1)[1]


class Folder:
    """`oracle/properties` of an exported oracle. Each load executes a file and its helpers afresh, so that nothing
    that one revision answered is left for the other."""

    def __init__(self, oracle: str) -> None:
        """Look at the oracle in the absolute folder `oracle`."""
        self.root = Path(oracle) / "properties"
        self.files = sorted(self.root.rglob("*.py"), key=lambda file: file.relative_to(self.root).as_posix())
        self._loads = 0

    @contextmanager
    def importable(self) -> Iterator[None]:
        """Let properties import helpers from the folder (last on the path, and without writing caches)."""
        path, caches = list(sys.path), sys.dont_write_bytecode
        sys.path.append(str(self.root))
        sys.dont_write_bytecode = True
        try:
            yield
        finally:
            self._forget()
            sys.path[:], sys.dont_write_bytecode = path, caches

    def load(self, file: Path) -> tuple[list[Property], list[Finding]]:
        """The properties that `file` defines, and what is wrong with it."""
        relative = file.relative_to(self.root).as_posix()
        path = f"oracle/properties/{relative}"
        self._forget()
        self._loads += 1
        try:
            source = file.read_bytes()
            tree = ast.parse(source, filename=path)
            module = ModuleType(f"{_PRIVATE}{self._loads}")
            module.__file__ = str(file)
            sys.modules[module.__name__] = module
            exec(compile(source, str(file), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - people's
        except (Exception, SystemExit) as fault:  # noqa: BLE001 - the file's own code
            line = fault.lineno or 0 if isinstance(fault, SyntaxError) else 0
            return [], [Finding("property-malformed", f"{relative} cannot be loaded: {error(fault)}", path, line)]
        lines = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        found: list[Property] = []
        findings: list[Finding] = []
        for name, function in list(vars(module).items()):
            if not name.startswith("prop_"):
                continue
            made = _property(f"properties/{relative}::{name}", path, function, lines.get(name))
            if isinstance(made, Property):
                found.append(made)
            else:
                findings.append(made)
        return found, findings

    def helpers(self) -> set[Path]:
        """The files of the folder that the last load imported."""
        loaded = f"{_PRIVATE}{self._loads}"
        return {Path(module.__file__ or "") for module in self._ours() if module.__name__ != loaded}

    def _ours(self) -> list[ModuleType]:
        inside = f"{self.root}/"
        return [m for m in list(sys.modules.values()) if (getattr(m, "__file__", None) or "").startswith(inside)]

    def _forget(self) -> None:
        ours = {id(module) for module in self._ours()}
        for name in [name for name, module in sys.modules.items() if id(module) in ours]:
            del sys.modules[name]


def _property(name: str, path: str, function: Any, node: ast.stmt | None) -> Property | Finding:
    """The property, ready to be run, or what is wrong with it."""
    line = node.lineno if node else 0

    def fault(message: str) -> Finding:
        return Finding("property-malformed", f"{name.rsplit('::', 1)[1]} {message}", path, line)

    if not inspect.isfunction(function):
        return fault("is not a function")
    body = function.hypothesis.inner_test if hypothesis.is_hypothesis_test(function) else function  # type: ignore[attr-defined]
    for mark, what in _MARKS.items():
        if any(getattr(one, mark, None) is not None for one in (function, body)):
            return fault(f"uses {what}; the scoring job sets it")
    names = tuple(inspect.signature(body).parameters)
    if "api" not in names:
        return fault("has no parameter api, so it could never ask the candidate")
    drawn = tuple(n for n in names if n not in _GIVEN_BY_US)
    if drawn and body is function:
        try:
            hints = typing.get_type_hints(function)
            strategies = {n: hypothesis.strategies.from_type(hints[n]) for n in drawn}
        except Exception as problem:  # noqa: BLE001 - annotations are expressions
            return fault(f"has a parameter that is neither given nor annotated: {error(problem)}")
        function = hypothesis.given(**strategies)(function)
    limit = getattr(function, "fence_at_most", getattr(body, "fence_at_most", None))
    return Property(name, path, line, function, body, drawn, "base_api" in names, limit, _labels(node))


def _labels(node: ast.AST | None) -> frozenset[str]:
    """The labels of `cover` that a property's source names: one that head never reaches is missed all the same."""
    found = set()
    for call in ast.walk(node) if node else ():
        if isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) == "cover":
            label = next((k.value for k in call.keywords if k.arg == "label"), call.args[0] if call.args else None)
            if isinstance(label, ast.Constant) and isinstance(label.value, str):
                found.add(label.value)
    return frozenset(found)
