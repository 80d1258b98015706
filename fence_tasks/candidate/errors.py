"""What the candidate does wrong: exceptions that it raised, which are data, and faults, which no property swallows."""

from __future__ import annotations


class CandidateFault(BaseException):
    """The candidate's process died, hung, broke the protocol, answered too much, or could not import its API.

    It is no Exception, so that `except Exception` in a property does not swallow it.
    """

    def __init__(self, rule: str, message: str, missing: str = "") -> None:
        """Raise with a rule's name, what happened, and (for an import) the module that was not found."""
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.missing = missing

    def again(self) -> CandidateFault:
        """A fresh copy to raise, so that tracebacks do not pile up on one object."""
        return CandidateFault(self.rule, self.message, self.missing)


class CandidateError(Exception):
    """An exception of the candidate's, as data: `name` of its class, `names` of all its classes, and its `text`.

    Those that derive from a builtin exception of `CATCHABLE` can be caught by that builtin class too.
    """

    def __init__(self, names: list[str], text: str, missing: str = "") -> None:
        """Raise with the classes' names, the exception's own first, its text, and the module that it misses."""
        Exception.__init__(self, text)  # not super(): some builtin exceptions insist on arguments of their own
        self.names = names
        self.text = text
        self.missing = missing

    @property
    def name(self) -> str:
        """The name of the exception's class."""
        return self.names[0] if self.names else "Exception"

    def __str__(self) -> str:
        """The class's name and the text."""
        return f"{self.name}: {self.text}" if self.text else self.name


#: Never SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration or AssertionError: a property's own machinery
#: gives those a meaning.
CATCHABLE = (
    ArithmeticError, AttributeError, BlockingIOError, BrokenPipeError, BufferError, ChildProcessError,
    ConnectionAbortedError, ConnectionError, ConnectionRefusedError, ConnectionResetError, EOFError, FileExistsError,
    FileNotFoundError, FloatingPointError, ImportError, IndentationError, IndexError, InterruptedError,
    IsADirectoryError, KeyError, LookupError, ModuleNotFoundError, NameError, NotADirectoryError, NotImplementedError,
    OSError, OverflowError, PermissionError, ProcessLookupError, RecursionError, ReferenceError, RuntimeError,
    SyntaxError, TabError, TimeoutError, TypeError, UnboundLocalError, UnicodeDecodeError, UnicodeEncodeError,
    UnicodeError, UnicodeTranslateError, ValueError, ZeroDivisionError,
)  # fmt: skip

_KINDS = {kind.__name__: type(f"Candidate{kind.__name__}", (CandidateError, kind), {}) for kind in CATCHABLE}


def error_of(names: list[str], builtin: list[str], text: str, missing: str) -> CandidateError:
    """The exception to raise in the scorer for one whose builtin classes are named in `builtin`, nearest first."""
    kind = next((_KINDS[name] for name in builtin if name in _KINDS), CandidateError)
    error: CandidateError = kind(names, text, missing)
    return error
