"""The candidates of one run: head's, and base's, which is started only when something has to be compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ..candidate.client import Client
from ..candidate.errors import CandidateFault
from ..model import Finding
from .calibrate import base_candidate
from .shown import scrubbed

if TYPE_CHECKING:
    from types import TracebackType

    from ..candidate.launch import Launch


class Pair:
    """Head's worker, base's, and a second one of base's for properties that compare head with base."""

    def __init__(self, head: Launch, base: Launch, oracle: str) -> None:
        """Make the clients; none is started."""
        self.head = Client(head)
        self.base = Client(base)
        self.reference = Client(base)
        self._folders = [
            oracle, *(folder for one in (head, base) for folder in (one.scratch, *one.imports, *one.site)),
        ]  # fmt: skip

    def __enter__(self) -> Self:
        """The pair itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Kill all workers."""
        for client in (self.head, self.base, self.reference):
            client.close()

    def ready(self, client: Client, until: float) -> None:
        """Have a worker without a fault, whose calls end by `until` (monotonic seconds). Raises CandidateFault."""
        client.until = until
        if client.fault is not None:
            client.restart()
        client.start()
        client.trim()

    def broken(self) -> Finding | None:
        """The finding if head's candidate cannot be imported at all, blamed after base's was tried; else None."""
        try:
            self.head.start()
        except CandidateFault as fault:
            try:
                self.base.start()
            except CandidateFault as other:
                return base_candidate(self.clean(other.message))
            if fault.missing and not _present(fault.missing, self.head.launch):
                return Finding("candidate-needs-package", f"head imports {fault.missing}, which base does without")
            return Finding(fault.rule, self.clean(fault.message))
        return None

    def clean(self, text: str) -> str:
        """`text` without this run's folders and addresses, so that two runs give the same."""
        return scrubbed(text, self._folders)

    @property
    def limited(self) -> bool:
        """True if a time or memory limit was met, so that another run may differ."""
        return self.head.limited or self.base.limited or self.reference.limited


def _present(module: str, launch: Launch) -> bool:
    """True if the top of `module` is the standard library's, or lies in a folder of the candidate's own."""
    top = module.partition(".")[0]
    names = (f"{top}.py", top)
    return top in sys.stdlib_module_names or any((Path(d) / n).exists() for d in launch.imports for n in names)
