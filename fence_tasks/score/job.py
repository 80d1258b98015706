"""One evidence run as a value, `Job`, and its strict JSON."""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, TypeVar, get_origin, get_type_hints

from ..candidate.launch import Launch

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Job:
    """What is run on what.

    `oracle` is the absolute folder of the exported, verified oracle; `head` and `base` say how the candidates are
    started; `seed`, `examples` and `min_effective` are the policy's; `budget_seconds` bounds one property, or all
    fixtures of one function; `function` is called for the fixtures at the store's top; `only` names one piece of
    evidence ("" is all); `pending` and `retiring` name evidence as people listed it.
    """

    oracle: str
    head: Launch
    base: Launch
    seed: int
    examples: int
    min_effective: float
    budget_seconds: float
    function: str = ""
    only: str = ""
    pending: tuple[str, ...] = ()
    retiring: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The job as JSON, for the scorer's process."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str | bytes) -> Job:
        """The job that `to_json` wrote. Raises ValueError for anything else."""
        document = json.loads(text)
        if type(document) is dict:
            document = {k: made(Launch, v, k) if k in {"head", "base"} else v for k, v in document.items()}
        return made(Job, document, "job")


def made(kind: type[_T], document: Any, where: str) -> _T:
    """An instance of the dataclass `kind` from JSON: no key is unknown, what has no default is there, and every value
    is of its type.

    Raises ValueError.
    """
    hints, values = get_type_hints(kind), dict[str, Any]()
    described: Any = kind
    needed = {f.name for f in fields(described) if f.default is MISSING and f.default_factory is MISSING}
    if type(document) is not dict or not needed <= document.keys() <= hints.keys():
        raise ValueError(f"{where}: not exactly the keys {', '.join(hints)}")
    for name, value in document.items():
        plain, values[name] = get_origin(hints[name]) or hints[name], value
        if plain is float and type(value) is int:
            values[name] = float(value)
        if hints[name] == tuple[str, ...] and type(value) is list and all(type(item) is str for item in value):
            values[name] = tuple(value)
        if type(values[name]) is not plain:
            raise ValueError(f"{where}.{name}: not of type {hints[name]}")
    return kind(**values)
