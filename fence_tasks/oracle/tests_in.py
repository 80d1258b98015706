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


def tests(tree: ast.Module) -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function whose name starts with `test`, at any depth of classes, conditions or blocks, as
    ("test_x" or "Class.test_x", its node)."""
    found = []
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, prefix = todo.pop(0)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                todo.append((child, f"{prefix}{child.name}."))
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                if child.name.startswith("test"):
                    found.append((prefix + child.name, child))
            elif isinstance(child, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.excepthandler):
                todo.append((child, prefix))
    return found


def test_names(content: bytes) -> tuple[str, ...]:
    """The names of the tests a Python file defines, "test_x" or "Class.test_x"; () if it does not parse."""
    tree = parsed(content)
    return tuple(dict.fromkeys(name for name, _ in tests(tree))) if tree else ()
