"""The shape of the kit, from its syntax trees: who imports whom, what is pure, how large it is, where codes stand."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tokenize
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fence_tasks.rules import RULES, Code

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
KIT = ROOT / "fence_tasks"
MODULES = {".".join(p.relative_to(KIT).with_suffix("").parts): p for p in sorted(KIT.rglob("*.py"))}

#: Design, section 11: room → the rooms it may import (besides itself and the version). `trees`, `answers`, `private`
#: and `checkout` are git's side; `files` writes and digests for whoever needs it; `judging` is the fence's step. Decision 7 lets `maintain` ask the
#: path rules.
EVERYTHING = {"model", "rules", "oracle", "fence", "candidate", "score", "report", "git", "checkout", "trees", "files"}
ARROWS: dict[str, set[str]] = {
    "model": set(), "files": set(), "properties": set(),
    "rules": {"model"}, "trees": {"model"}, "answers": set(), "private": {"model"},
    "git": {"model", "trees", "answers", "private"}, "checkout": {"model", "git"},
    "oracle": {"rules", "model"},
    "fence": {"oracle", "rules", "model"},
    "candidate": {"model"},
    "score": {"candidate", "oracle", "git", "trees", "model", "files", "properties"},
    "report": {"oracle", "rules", "model"},
    "maintain": {"git", "checkout", "oracle", "report", "rules", "model", "files", "fence"},
    "judging": EVERYTHING, "steps": EVERYTHING | {"judging"}, "cli": EVERYTHING | {"judging", "steps"},
    "nox_sessions": {"steps", "maintain", "report", "cli", "rules", "model"},
    "invoke_tasks": {"steps", "maintain", "report", "cli", "rules", "model"},
    "__main__": {"cli"}, "noxfile": {"nox_sessions"}, "tasks": {"invoke_tasks"}, "__init__": set(),
}  # fmt: skip
PURE = ("oracle", "fence", "report", "trees", "model", "rules")
#: Modules of the standard library that read the machine: files, environment, clock, network, processes.
IMPURE = {"os", "io", "sys", "subprocess", "socket", "time", "pathlib", "shutil", "tempfile", "secrets", "random", "glob",
          "urllib", "http", "signal", "threading", "multiprocessing", "platform", "getpass", "ctypes", "resource"}  # fmt: skip
IMPURE_CALLS = {"open", "input", "print", "exec", "eval", "compile", "__import__", "breakpoint"}
CLOCK = {"now", "utcnow", "today", "fromtimestamp"}
#: What a module may need besides the standard library at import, by the longest name that fits.
NEEDS: dict[str, set[str]] = {
    "nox_sessions": {"nox"}, "noxfile": {"nox"}, "invoke_tasks": {"invoke"}, "tasks": {"invoke"}, "properties": {"hypothesis"},
    "candidate": {"msgspec"}, "candidate.worker": set(), "candidate.protocol": {"msgspec"}, "score": {"hypothesis", "msgspec"},
    "score.stage": set(), "score.plans": set(),
}  # fmt: skip


@lru_cache
def tree_of(name: str) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse(MODULES[name].read_bytes())


def room_of(name: str) -> str:
    """The room that a module is in: its folder, or itself at the top."""
    return name.split(".", 1)[0]


def imports_of(name: str) -> Iterator[str]:
    """The kit's own modules that a module imports, anywhere in it, also for types only."""
    package = name.split(".")[:-1]
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            target = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                inner = f"{target}.{alias.name}".removeprefix(".")
                package_itself = f"{target}.__init__".removeprefix(".")
                yield next(m for m in (inner, target, package_itself) if m in MODULES)


def test_every_module_is_in_a_room_that_has_arrows() -> None:
    assert {room_of(name) for name in MODULES} - set(ARROWS) == set()


@pytest.mark.parametrize("room", sorted(ARROWS))
def test_a_room_imports_only_what_its_arrows_allow(room: str) -> None:
    allowed = ARROWS[room] | {room, "__init__"}
    wrong = [f"{name} -> {other}" for name in MODULES if room_of(name) == room for other in imports_of(name)
             if room_of(other) not in allowed]  # fmt: skip
    assert wrong == []


def test_the_arrows_themselves_have_no_cycle() -> None:
    assert [room for room in ARROWS if room in _reached(room, ARROWS)] == []


def test_no_module_imports_itself_through_others() -> None:
    graph = {name: {other for other in imports_of(name) if other != name} for name in MODULES}
    reached = {name: _reached(name, graph) for name in graph}
    assert [f"{name} -> {other}" for name in graph for other in sorted(graph[name]) if name in reached[other]] == []


def _reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Every module that `start` imports, directly or not."""
    reached: set[str] = set()
    todo = [*graph[start]]
    while todo:
        here = todo.pop()
        if here not in reached:
            reached.add(here)
            todo += graph[here]
    return reached


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_imports_the_kit_by_relative_imports_only(name: str) -> None:
    for node in ast.walk(tree_of(name)):
        absolute = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            absolute.append(node.module or "")
        assert not [n for n in absolute if n.split(".")[0] in {"fence_tasks", "fence_batch", "tests"}]


@pytest.mark.parametrize("name", [name for name in sorted(MODULES) if room_of(name) in PURE])
def test_a_pure_module_reads_no_file_no_clock_and_nothing_of_the_machine(name: str) -> None:
    wrong = []
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            wrong += [a.name for a in node.names if a.name.split(".")[0] in IMPURE]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            wrong += [node.module or ""] if (node.module or "").split(".")[0] in IMPURE else []
        elif isinstance(node, ast.Call):
            called = node.func
            wrong += [called.id] if isinstance(called, ast.Name) and called.id in IMPURE_CALLS else []
            wrong += [called.attr] if isinstance(called, ast.Attribute) and called.attr in CLOCK else []
    assert wrong == []
    assert {room_of(other) for other in imports_of(name)} & {"git", "checkout", "files"} == set()


def starts_git(node: ast.AST) -> bool:
    """True for a list or tuple that is a command line of git."""
    if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
        return False
    first = node.elts[0]
    if isinstance(first, ast.Constant):
        return isinstance(first.value, str) and (first.value == "git" or first.value.endswith("/git"))
    called = first.func if isinstance(first, ast.Call) else first
    return "program" in {getattr(called, "id", ""), getattr(called, "attr", "")}


def test_only_git_py_runs_git() -> None:
    runs = {"subprocess", "posix_spawn", "Popen", "execv", "execve", "execvp", "system"}
    wrong = []
    for name in MODULES:
        nodes = [*ast.walk(tree_of(name))]
        words = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.attr for n in nodes if isinstance(n, ast.Attribute)}
        if words & runs and any(map(starts_git, nodes)):
            wrong.append(name)
    assert wrong == ["git"], "a command line of git, in a module that can start processes"


# Size


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_has_at_most_400_lines_and_a_function_60(name: str) -> None:
    assert len(MODULES[name].read_bytes().splitlines()) <= 400
    long = {node.name: node.end_lineno - node.lineno + 1 for node in ast.walk(tree_of(name))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno}  # fmt: skip
    assert {function: lines for function, lines in long.items() if lines > 60} == {}


def lines_of_code(name: str) -> int:
    """Lines that hold code: no blank ones, comments or docstrings (decision 5)."""
    docstrings = set()
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            docstrings |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    nothing = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(MODULES[name].read_text("utf-8")).readline)
    found = {line for t in tokens if t.type not in nothing for line in range(t.start[0], t.end[0] + 1)}
    return len(found - docstrings)


def test_the_vendored_files_have_at_most_7500_lines_of_code_together() -> None:
    assert sum(map(lines_of_code, MODULES)) <= 7500


# Rules and codes


def strings_of(name: str) -> set[str]:
    """Every string constant of a module."""
    return {n.value for n in ast.walk(tree_of(name)) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_finding_has_a_rule_of_the_table(name: str) -> None:
    unknown = []
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "rule")]
            unknown += [g.value for g in given if isinstance(g, ast.Constant) and g.value not in RULES]
    assert unknown == []


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_of_the_table_is_used_somewhere(rule: str) -> None:
    assert [name for name in MODULES if name != "rules" and rule in strings_of(name)]


def bare_codes(name: str) -> list[str]:
    """Places of a module that write an exit code as a number."""
    high = {int(code) for code in Code if code >= 64}
    found = []

    def number(node: ast.expr | None) -> int:
        return node.value if isinstance(node, ast.Constant) and type(node.value) is int else 0

    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [*node.args, *(k.value for k in node.keywords)]
            if called in {"exit", "_exit", "quit", "SystemExit", "Exit"} and any(map(number, given)):
                found.append(f"line {node.lineno}: {called}")
            if any(k.arg in {"code", "returncode"} and number(k.value) for k in node.keywords):
                found.append(f"line {node.lineno}: a keyword")
        elif isinstance(node, ast.Return) and number(node.value) in high:
            found.append(f"line {node.lineno}: return")
        elif isinstance(node, ast.Dict):
            pairs = [(k.value, v) for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)]
            found += [f"line {node.lineno}: a dict" for key, value in pairs if key == "code" and number(value)]
    return found


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"rules", "__main__"}))
def test_exit_codes_stand_in_the_rule_table_only(name: str) -> None:
    assert bare_codes(name) == []


def test_the_two_codes_that_come_before_any_import_are_the_tables() -> None:
    returned = [n.value.value for n in ast.walk(tree_of("__main__")) if isinstance(n, ast.Return)
                and isinstance(n.value, ast.Constant) and type(n.value.value) is int]  # fmt: skip
    assert {Code(code) for code in returned} == {Code.USAGE, Code.UNAVAILABLE}


# What importing does

IMPORT_ALL = """
import json, os, resource, signal, sys, threading
sys.dont_write_bytecode = True
root, names = sys.argv[1], sys.argv[2:]
sys.path.append(root)
import importlib
events, watched = [], False
ACTS = ("subprocess.", "socket.", "os.system", "os.exec", "os.fork", "os.spawn", "os.posix_spawn", "os.mkdir", "os.rename",
        "os.remove", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate", "os.chdir", "os.putenv",
        "os.unsetenv", "os.kill", "shutil.", "tempfile.", "urllib.", "sys.addaudithook", "sys.setprofile", "sys.settrace")
def hook(event, args):
    if watched and (event.startswith(ACTS) or event == "open" and args[1] and set(str(args[1])) & set("wax+")):
        events.append(event)
sys.addaudithook(hook)
def state():
    return [dict(os.environ), os.getcwd(), list(sys.path), list(sys.argv), threading.active_count(), sys.excepthook is sys.__excepthook__,
            [str(signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGALRM)],
            [resource.getrlimit(r) for r in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)],
            [type(finder).__name__ for finder in sys.meta_path], os.umask(os.umask(0o22) or 0o22), sys.getrecursionlimit()]
answers = {}
for name in names:
    for loaded in [m for m in sys.modules if m.split(".")[0] == "fence_tasks"]:
        del sys.modules[loaded]
    before, missing = state(), ""
    events.clear()
    watched = True
    try:
        importlib.import_module("fence_tasks." + name)
    except ModuleNotFoundError as error:
        missing = error.name
    watched = False
    answers[name] = [missing, sorted(set(events)), before == state()]
print(json.dumps(answers))
"""


@lru_cache
def imported_bare() -> dict[str, tuple[str, list[str], bool]]:
    """What importing each module does where only the standard library is there: (missing package, acts, unchanged)."""
    names = [name.removesuffix(".__init__") for name in MODULES if name != "__init__"]
    done = subprocess.run([sys.executable, "-I", "-S", "-c", IMPORT_ALL, str(ROOT), *names], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    return dict(json.loads(line))


def needs_of(name: str) -> set[str]:
    """The packages that a module may need."""
    parts = name.split(".")
    return next((NEEDS[n] for n in (".".join(parts[:k]) for k in range(len(parts), 0, -1)) if n in NEEDS), set())


@pytest.mark.parametrize("name", [name.removesuffix(".__init__") for name in sorted(MODULES) if name != "__init__"])
def test_importing_a_module_does_nothing_and_needs_only_its_own_packages(name: str) -> None:
    missing, acts, unchanged = imported_bare()[name]
    assert {missing} - {""} <= needs_of(name)
    assert acts == []
    assert unchanged


DOOR = """
import importlib, sys
sys.dont_write_bytecode = True
sys.path.append(sys.argv[1])
for name in sys.argv[3:]:
    importlib.import_module(name)
before = {m.split(".")[0] for m in sys.modules}
importlib.import_module("fence_tasks." + sys.argv[2])
new = {m.split(".")[0] for m in sys.modules} - before - set(sys.stdlib_module_names) - {"fence_tasks"}
print(*sorted(new))
"""


@pytest.mark.parametrize(
    ("door", "runner"), [("nox_sessions", ["nox"]), ("noxfile", ["nox"]), ("invoke_tasks", ["invoke"]), ("tasks", ["invoke"]),
                         ("cli", []), ("steps", []), ("__main__", [])],
)  # fmt: skip
def test_what_a_runner_imports_needs_only_the_runner_and_the_standard_library(door: str, runner: list[str]) -> None:
    done = subprocess.run([sys.executable, "-I", "-c", DOOR, str(ROOT), door, *runner], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_the_kit_ships_an_ignore_file_for_compiled_code() -> None:
    assert "__pycache__/" in (KIT / ".gitignore").read_text().splitlines()
