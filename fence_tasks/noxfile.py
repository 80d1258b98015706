"""For hosts that keep a noxfile of their own: `nox -f fence_tasks/noxfile.py -s score`."""

import importlib
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2026.7.11"
nox.options.envdir = "../.nox"  # beside the gate, never in it

_FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(_FOLDER.parent))
try:
    importlib.import_module(f"{_FOLDER.name}.nox_sessions").register()
finally:
    sys.path.pop(0)
