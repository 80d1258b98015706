"""Start the gate from its file: `python -I fence_tasks/__main__.py VERB …` (design, section 4).

The file and not the folder: `python fence_tasks` would run a planted `__pycache__/__main__.*.pyc` first.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys

TYPE_CHECKING = False  # what type checkers take for true; importing it from `typing` costs more than this file
if TYPE_CHECKING:
    import types

NAME = "fence_tasks"
FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs as much as all the rest


class FromSource(importlib.machinery.SourceFileLoader):
    """Compiles this package's modules from their source: bytecode beside them is neither read nor written."""

    def get_code(self, fullname: str) -> types.CodeType:
        """The module's code."""
        path = self.get_filename(fullname)
        code: types.CodeType = compile(self.get_data(path), path, "exec", dont_inherit=True)
        return code

    @classmethod
    def find_spec(cls, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module of this package, from this very folder; None for any other module.

        No folder of the checkout joins the import path, so nothing beside this one can stand in for a module of the
        standard library or an installed one.
        """
        if name != NAME and not name.startswith(NAME + "."):
            return None
        stem = os.path.join(FOLDER, *name.split(".")[1:])  # noqa: PTH118
        package = os.path.isdir(stem)  # noqa: PTH112
        file = os.path.join(stem, "__init__.py") if package else stem + ".py"  # noqa: PTH118
        return importlib.util.spec_from_file_location(
            name, file, loader=cls(name, file), submodule_search_locations=[stem] if package else None
        )


def _isolated() -> bool:
    """True if nothing of the caller's can steer this interpreter: `-I`, or what a step starts its scorer with (no user
    site, no script folder, and of Python's variables at most the hash seed)."""
    variables = {name for name in os.environ if name.startswith("PYTHON")} - {"PYTHONHASHSEED"}
    return bool(sys.flags.isolated or (sys.flags.safe_path and sys.flags.no_user_site and not variables))


def _start() -> int:
    sys.dont_write_bytecode = True
    if sys.version_info < (3, 11):  # noqa: UP036 - somebody may start it with an older one
        sys.stderr.write("NONE 69  environment: the gate needs Python 3.11 or newer\n")
        return 69
    if not _isolated():
        sys.stderr.write("NONE 64  usage: start the gate isolated: python -I fence_tasks/__main__.py …\n")
        return 64
    sys.meta_path.insert(0, FromSource)
    return int(importlib.import_module(f"{NAME}.cli").main(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(_start())
