"""Start the gate from its file: `python -I fence_tasks/__main__.py VERB …` (design, section 4).

The file and not the folder: `python fence_tasks` would run a planted `__pycache__/__main__.*.pyc` first.
"""

import importlib.util
import os
import secrets
import sys
import tempfile


def _start() -> int:
    # Bytecode is neither read nor written: this folder is new to everybody, and nothing makes it.
    sys.dont_write_bytecode = True
    sys.pycache_prefix = os.path.join(tempfile.gettempdir(), "fence-" + secrets.token_hex(16))  # noqa: PTH118
    if not sys.flags.isolated:
        sys.stderr.write("NONE 64  usage: start the gate isolated: python -I fence_tasks/__main__.py …\n")
        return 64
    if sys.version_info < (3, 11):  # noqa: UP036 - somebody may start it with an older one
        sys.stderr.write("NONE 69  environment: the gate needs Python 3.11 or newer\n")
        return 69
    # The package is loaded from this very folder under its own name; no folder of the checkout joins the path,
    # so no module beside it can stand in for one of the standard library's.
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    spec = importlib.util.spec_from_file_location(
        "fence_tasks", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]  # noqa: PTH118
    )  # fmt: skip
    if spec is None or spec.loader is None:
        return 70
    package = importlib.util.module_from_spec(spec)
    sys.modules["fence_tasks"] = package
    spec.loader.exec_module(package)
    cli = importlib.import_module("fence_tasks.cli")
    return int(cli.main(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(_start())
