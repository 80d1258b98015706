"""What authors of properties import.

A property is a function `prop_…(api, …)` that returns True where it holds and False where it does not:

    from fence_tasks.properties import cover, given, st

    @given(st.binary())
    def prop_roundtrip(api, data):
        r = api.parse(data)
        cover("accepted", r.ok, at_least=0.2)
        return not r.ok or api.encode(r.value) == data

`docs/protocol.md` says what `api` and the objects that it gives can be asked.
"""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import hypothesis
from hypothesis import assume, example, given, strategies

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["assume", "at_most", "cover", "example", "given", "note", "st", "strategies"]

st = strategies
_Function = TypeVar("_Function", bound="Callable[..., Any]")


def note(value: str) -> None:
    """Show `value` with the counterexample, if this example becomes it."""
    if hypothesis.currently_in_test_context():  # a counterexample is tried on base outside of Hypothesis
        hypothesis.note(value)


class Record:
    """The shares that one run of one property covers. An example that is rejected leaves no trace."""

    def __init__(self) -> None:
        """Start with no example."""
        self.examples = 0
        self.wanted: dict[str, float] = {}
        self._hits: Counter[str] = Counter()
        self._now: dict[str, tuple[bool, float]] = {}

    def add(self, label: str, *, condition: bool, at_least: float) -> None:
        """Note what the running example says."""
        met, most = self._now.get(label, (False, 0.0))
        self._now[label] = (met or condition, max(most, at_least))

    def begin(self) -> None:
        """An example starts."""
        self._now = {}

    def keep(self) -> None:
        """The example ended without being rejected."""
        self.examples += 1
        for label, (met, at_least) in self._now.items():
            self.wanted[label] = max(self.wanted.get(label, 0.0), at_least)
            self._hits[label] += met

    def shares(self) -> dict[str, float]:
        """For each label the share of all kept examples that met its condition, in order of labels."""
        return {label: self._hits[label] / self.examples for label in sorted(self.wanted)}

    def missed(self) -> list[str]:
        """The labels whose share is too small."""
        return [label for label, share in self.shares().items() if share < self.wanted[label]]


#: The record of the property that runs; the scorer sets it.
RECORD: ContextVar[Record | None] = ContextVar("RECORD", default=None)


def cover(label: str, condition: bool, at_least: float) -> None:  # noqa: FBT001 - reads as QuickCheck's cover does
    """Demand that `condition` holds for a share of `at_least` (over 0, up to 1) of this property's examples.

    It keeps a candidate from making a property vacuous by refusing everything. Call it before any early return;
    where it is not reached, the example counts as one that does not meet the condition. Raises TypeError and
    ValueError for arguments of a wrong kind.
    """
    if type(label) is not str or type(condition) is not bool:
        raise TypeError(f"cover takes a text and a Boolean, not {type(label).__name__}, {type(condition).__name__}")
    if not 0 < at_least <= 1:
        raise ValueError(f"cover takes a share over 0 and up to 1, not {at_least}")
    if (record := RECORD.get()) is not None:
        record.add(label, condition=condition, at_least=float(at_least))


def at_most(examples: int) -> Callable[[_Function], _Function]:
    """A decorator for a property that is content with fewer examples than the policy's bound.

    Raises ValueError for a number below 1.
    """
    if type(examples) is not int or examples < 1:
        raise ValueError(f"at_most takes a number of examples, not {examples!r}")

    def decorate(function: _Function) -> _Function:
        function.__dict__["fence_at_most"] = examples
        return function

    return decorate
