"""What a property holds of the candidate: `Api`, its public names, and `Handle`, an object that stays there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from .protocol import MisuseError


class Asker(Protocol):
    """What a handle needs of the client."""

    generation: int
    names: frozenset[str]

    def get(self, ref: Ref) -> object:
        """The value at `ref`, or a handle if it is a function, a class or a module."""

    def call(self, ref: Ref, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """What the candidate returns."""

    def fields(self, handle: Handle, names: tuple[str, ...]) -> list[Any]:
        """Several attributes at once."""

    def op(self, name: str, args: tuple[Any, ...]) -> object:
        """What the candidate's side answers to an operator."""

    def release(self, number: int, generation: int) -> None:
        """Say that no handle of that number is left."""

    def misused(self, message: str) -> MisuseError:
        """The error to raise; it is remembered, in case the property swallows it."""


class Ref:
    """Where a handle leads: an object's number in one generation of the worker (0 is the API module), and a path."""

    __slots__ = ("asker", "generation", "held", "names", "number", "parent")

    def __init__(self, asker: Asker, generation: int, number: int, names: tuple[str, ...], parent: Ref | None) -> None:
        self.asker = asker
        self.generation = generation
        self.number = number
        self.names = names
        self.parent = parent  # keeps the object alive whose attribute this is
        self.held: Handle | None = None

    def __del__(self) -> None:
        if self.number and self.parent is None:
            self.asker.release(self.number, self.generation)

    def at(self, name: str) -> Ref:
        """The attribute `name` of this."""
        return Ref(self.asker, self.generation, self.number, (*self.names, name), self.parent or self)


class Handle:
    """An object of the candidate's that is no plain value, or a function, class or module of its API.

    It has attributes and methods, can be called, and can be an argument. Every operator and conversion raises
    MisuseError, because it would answer for the handle and not for the object: the error shows what to write.
    """

    __slots__ = ("_fence_ref",)
    _fence_ref: Ref

    def __init__(self, ref: Ref) -> None:
        object.__setattr__(self, "_fence_ref", ref)

    def __getattr__(self, name: str) -> Any:
        """The attribute's value; a handle if it is no plain value. Raises CandidateError, AttributeError."""
        if name.startswith("__"):
            raise AttributeError(f"a handle does not pass {name} on")
        ref = self._fence_ref.at(name)
        return ref.asker.get(ref)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the candidate returns. Raises CandidateError, and CandidateFault, which is not an Exception."""
        ref = self._fence_ref
        return ref.asker.call(ref, args, kwargs)


def ref_of(handle: Handle) -> Ref:
    """Where `handle` leads; a function, because every attribute of a handle is the candidate's."""
    return handle._fence_ref  # noqa: SLF001


class Api:
    """The public names of the candidate's API module, as attributes (`api["name"]` where `op` or `fields` is in
    the way), and two questions about handles."""

    def __init__(self, asker: Asker) -> None:
        self._fence_asker = asker
        self._fence_paths: dict[str, Handle] = {}

    def __getattr__(self, name: str) -> Any:
        """A function, class or module as a handle, any other public name's value. Raises AttributeError."""
        if name in self._fence_paths:
            return self._fence_paths[name]
        if name not in self._fence_asker.names:
            raise AttributeError(f"the candidate's API has no public name {name!r}")
        value = self._fence_asker.get(Ref(self._fence_asker, 0, 0, (name,), None))
        if type(value) is Handle and ref_of(value).names:  # a name and no object: it holds across restarts
            self._fence_paths[name] = value
        return value

    def __getitem__(self, name: str) -> Any:
        """The same as the attribute `name`."""
        return self.__getattr__(name)

    def fields(self, handle: Handle, *names: str) -> list[Any]:
        """The values of several attributes of `handle`, in one question."""
        if type(handle) is not Handle:
            why = f"api.fields asks about a handle, not a value of type {type(handle).__name__}"
            raise self._fence_asker.misused(why)
        return self._fence_asker.fields(handle, names)

    def op(self, name: str, *args: Any) -> Any:
        """What the candidate's own Python answers to an operator or conversion of its objects.

        `name` is one of eq ne lt le gt ge str repr format len bool hash int float complex bytes index getitem
        contains iter reversed (lists) type (its name) isinstance await round divmod neg pos abs invert add sub
        mul matmul truediv floordiv mod pow lshift rshift and_ or_ xor.
        """
        return self._fence_asker.op(name, args)


def _refusal(what: str, write: str) -> Callable[..., NoReturn]:
    def refuse(handle: Handle, *_: object) -> NoReturn:
        raise ref_of(handle).asker.misused(f"a handle has no {what}, which would not ask the candidate; write {write}")

    return refuse


def _op(name: str, other: str = "") -> str:
    return f'api.op("{name}", handle{", " + other if other else ""})'


_SYMBOLS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
    "matmul": "@", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>",
    "and": "&", "or": "|", "xor": "^", "divmod": "divmod()",
}  # fmt: skip
_WORDS = ("str", "repr", "len", "bool", "hash", "int", "float", "complex", "bytes", "index", "iter", "reversed",
          "round", "neg", "pos", "abs", "invert", "await")  # fmt: skip
_OTHERS = {
    "__getitem__": ("[]", _op("getitem", "key")),
    "__contains__": ("in", _op("contains", "item")),
    "__format__": ("format() or f-string", _op("str")),
    "__next__": ("next()", _op("iter")),
    "__setitem__": ("assignment", "a call of the API"),
    "__delitem__": ("deletion", "a call of the API"),
    "__setattr__": ("assignment", "a call of the API"),
    "__delattr__": ("deletion", "a call of the API"),
    "__enter__": ("with", "a call of the API"),
    "__exit__": ("with", "a call of the API"),
    "__fspath__": ("path", _op("str")),
    "__reduce_ex__": ("copy", "a call of the API"),
}


def _refuse_all() -> None:
    for name, symbol in _SYMBOLS.items():
        write = _op(f"{name}_" if name in {"and", "or"} else name, "other")
        for method in (f"__{name}__", f"__r{name}__", f"__i{name}__"):
            setattr(Handle, method, _refusal(symbol, write))
    for name in _WORDS:
        setattr(Handle, f"__{name}__", _refusal(f"{name}()", _op(name)))
    for method, (what, write) in _OTHERS.items():
        setattr(Handle, method, _refusal(what, write))


_refuse_all()
