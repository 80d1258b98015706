"""Small oracles and candidates for the scorer's tests: real files, real processes."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fence_tasks.candidate.launch import Launch
from fence_tasks.score.job import Job

CANDIDATES = Path(__file__).with_name("candidates")
FLIP = """
from fence_tasks.properties import given, st

@given(st.binary(min_size=1))
def prop_flip(api, data):
    return api.flip(api.flip(data)) == data and api.flip(data + b"!")[:1] == b"!"
"""


def launch(folder: Path, scratch: Path, call_seconds: float = 0.5, memory: int = 1 << 30) -> Launch:
    """How a candidate in `folder` is started, with an empty `scratch`."""
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Launch(sys.executable, (), (str(folder),), "api", str(scratch), memory, call_seconds)


@dataclass
class Bench:
    """An oracle, and two revisions' candidates, in a folder of the test's own."""

    root: Path
    settings: dict[str, Any] = field(default_factory=dict)

    def oracle(self, name: str, text: str) -> None:
        """Write a file below the oracle."""
        path = self.root / "oracle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def fixture(self, data: bytes, output: bytes, folder: str = "") -> str:
        """Store a fixture; its id is answered."""
        name = "/".join(part for part in ("fixtures", folder, hashlib.sha256(data).hexdigest()) if part)
        self.oracle(f"{name}.expected", hashlib.sha256(output).hexdigest() + "\n")
        (self.root / "oracle" / f"{name}.in").write_bytes(data)
        return name

    def candidate(self, side: str, text: str) -> None:
        """Write the API module of `head` or `base`."""
        folder = self.root / side
        folder.mkdir(exist_ok=True)
        (folder / "api.py").write_text(text, encoding="utf-8")

    def job(self, head: Path | None = None, base: Path | None = None, **changes: Any) -> Job:
        """The job that runs everything."""
        call = changes.pop("call_seconds", 0.5)
        values = {"seed": 7, "examples": 40, "min_effective": 0.1, "budget_seconds": 10.0, "function": "flip"}
        (self.root / "oracle").mkdir(exist_ok=True)
        return Job(
            oracle=str(self.root / "oracle"),
            head=launch(head or self.root / "head", self.root / "scratch-head", call),
            base=launch(base or self.root / "base", self.root / "scratch-base", call),
            **{**values, **changes},
        )
