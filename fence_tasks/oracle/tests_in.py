"""The tests that a Python file defines, by parsing it. Nothing is imported or run."""

from __future__ import annotations

import ast
import warnings


def parsed(content: bytes) -> ast.Module | None:
    """The syntax tree of Python source, or None if it does not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def definitions(tree: ast.Module) -> list[tuple[str, ast.stmt]]:
    """Every name that a module or a class in it defines, at any depth of conditions and blocks, as ("name" or
    "Class.name", the statement): functions, assignments, imports."""
    found: list[tuple[str, ast.stmt]] = []
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, prefix = todo.pop(0)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                todo.append((child, f"{prefix}{child.name}."))
            elif isinstance(child, ast.stmt) and (names := _defined(child)):
                found += [(prefix + name, child) for name in names]
            elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                todo.append((child, prefix))
    return found


def _defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in statement.names]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign) and statement.value:
        targets = [statement.target]
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def tests(tree: ast.Module) -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions among the definitions whose name starts with `test`."""
    return [(name, node) for name, node in definitions(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")]  # fmt: skip


def test_names(content: bytes) -> tuple[str, ...]:
    """The names of the tests a Python file defines, "test_x" or "Class.test_x"; () if it does not parse."""
    tree = parsed(content)
    return tuple(dict.fromkeys(name for name, _ in tests(tree))) if tree else ()
