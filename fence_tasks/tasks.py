"""For hosts that keep a tasks.py of their own: `invoke -r fence_tasks --list`."""

import importlib
import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
# Invoke has put this folder on the path, where `git` or `report` would be this kit's and nobody else's.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _FOLDER]
sys.path.insert(0, str(_FOLDER.parent))
try:
    ns = importlib.import_module(f"{_FOLDER.name}.invoke_tasks").collection()
finally:
    sys.path.remove(str(_FOLDER.parent))
