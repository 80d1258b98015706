"""One property, run on one revision's candidate: examples are drawn, counted and digested, and its answer judged."""

from __future__ import annotations

import hashlib
import inspect
from contextlib import contextmanager
from functools import wraps
from time import monotonic
from typing import TYPE_CHECKING, Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.errors import Flaky, HypothesisException, StopTest, Unsatisfiable, UnsatisfiedAssumption
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.reporting import with_reporter

from ..candidate.errors import CandidateFault
from ..candidate.protocol import Codec, MisuseError
from ..properties import RECORD, Record
from . import shown
from .calibrate import COVER, FALSE, FAULT, FLAKY, HELD, MISUSE, NOT_BOOLEAN, RAISED, REFERENCE, STARVED, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..candidate.client import Client
    from .discover import Property

#: How Hypothesis starts its own account of a failure, which would repeat the arguments.
_ACCOUNT = "Failing test case"


class _FalsifiedError(Exception):
    """The property returned False."""


class _NotBooleanError(Exception):
    """The property returned something else than a Boolean."""


class Trial:
    """One run of one property. `examples`, `effective` (they asked the candidate and were not rejected) and
    `rejected` count what was executed; `counterexample` is readable, and `form` its arguments' encoding, if plain."""

    def __init__(self, prop: Property, client: Client, reference: Client | None) -> None:
        """Prepare the run of `prop` on `client`; `reference` is base's candidate for a property that compares."""
        self.examples = self.effective = self.rejected = 0
        self.counterexample = ""
        self.form: bytes | None = None
        self.record = Record()
        self._property = prop
        self._client = client
        self._reference = reference
        self._codec = Codec()
        self._digest = hashlib.sha256()
        self._start = client.calls
        self._text = ""
        self._failed: tuple[Outcome, bytes | None, str] | None = None
        for one in (client, reference):
            if one is not None:
                one.misuse = None

    @property
    def calls(self) -> int:
        """How many questions the candidate was asked."""
        return self._client.calls - self._start

    def cases(self) -> str:
        """The SHA-256 of every argument list so far, in order, as hex."""
        return self._digest.hexdigest()

    def run(self, seed: int, examples: int, least: float) -> Outcome:
        """Up to `examples` examples from `seed`, of which the share `least` must be effective."""
        prop = self._property
        if prop.drawn:
            found = self._caught(lambda: self._drive(seed, min(examples, prop.examples or examples)))
        else:
            found = self._caught(lambda: self._checked()(**self._apis()))
        return found or self._held(least)

    def replay(self, form: bytes) -> Outcome:
        """The one example whose arguments `form` encodes."""
        values = self._codec.undigested(form)
        drawn = dict(zip(self._property.drawn, values, strict=True))
        found = self._caught(lambda: self._checked()(**self._apis(), **drawn))
        return found or Outcome(HELD, effective=self.effective)

    def _apis(self) -> dict[str, Any]:
        given = {"api": self._client.api}
        if self._property.compares and self._reference is not None:
            given["base_api"] = self._reference.api
        return given

    def _drive(self, seed: int, examples: int) -> None:
        """Let Hypothesis run the property, everything pinned that could differ between two runs."""
        function: Any = self._property.function
        function.hypothesis.inner_test = self._checked()
        function.__dict__.pop("_hypothesis_internal_settings_applied", None)  # a second run sets them again
        hypothesis.seed(seed)(function)
        hypothesis.settings(
            max_examples=examples, derandomize=False, database=None, deadline=None, report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck), verbosity=Verbosity.normal, print_blob=False,
            phases=(Phase.explicit, Phase.generate, Phase.shrink), backend="hypothesis",
        )(function)  # fmt: skip
        with with_reporter(lambda _: None), _pinned_generation():
            function(**self._apis())

    def _checked(self) -> Callable[..., None]:
        """The property's body, wrapped: an answer that is not True is an exception, and nothing swallows a fault."""
        body, drawn, client = self._property.body, self._property.drawn, self._client
        names = tuple(inspect.signature(body).parameters)

        @wraps(body)
        def check(*args: Any, **kwargs: Any) -> None:
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            self._begin([given[name] for name in drawn])
            before = client.calls
            try:
                answer = body(*args, **kwargs)
            except BaseException as error:
                self._raise_faults()
                if isinstance(error, UnsatisfiedAssumption | StopTest):
                    self.rejected += 1
                elif isinstance(error, Exception):
                    self._fail(RAISED, shown.error(error))
                raise
            self._raise_faults()
            self.effective += client.calls > before
            self.record.keep()
            if type(answer) is not bool:
                self._fail(NOT_BOOLEAN, f"a value of type {type(answer).__name__}")
                raise _NotBooleanError(f"a value of type {type(answer).__name__}")
            if not answer:
                self._fail(FALSE, "")
                raise _FalsifiedError

        return check

    def _begin(self, values: list[Any]) -> None:
        if monotonic() >= self._client.until:  # a slow property; a slow candidate meets this in a call
            self._client.limited = True
            raise CandidateFault("candidate-hung", "the time for this evidence is spent")
        self.examples += 1
        self.record.begin()
        try:
            self.form, self._text = self._codec.digest_form(values), ""
        except MisuseError:
            text = shown.arguments(dict(zip(self._property.drawn, values, strict=True)))
            self.form, self._text = None, text
        form = self.form if self.form is not None else self._text.encode("utf-8", "surrogatepass")
        self._digest.update(len(form).to_bytes(8, "big") + form)

    def _raise_faults(self) -> None:
        """A property may have swallowed a fault or a misuse (`except:`, `return` in `finally`); it counts all the
        same."""
        for client in (self._client, self._reference):
            if client is not None and client.fault is not None:
                raise client.fault.again() from None
            if client is not None and client.misuse is not None:
                raise client.misuse from None

    def _fail(self, kind: str, detail: str) -> None:
        self._failed = (Outcome(kind, detail=detail, effective=self.effective), self.form, self._text)

    def _caught(self, action: Callable[[], None]) -> Outcome | None:
        """What `action` came to, or None if it ended well."""
        token = RECORD.set(self.record)
        try:
            action()
        except CandidateFault as fault:
            return self._faulted(fault)
        except Unsatisfiable:
            return Outcome(STARVED, detail="every example is rejected")
        except Flaky:
            return self._missed(Outcome(FLAKY))
        except (_FalsifiedError, _NotBooleanError) as error:
            return self._missed(Outcome(NOT_BOOLEAN if str(error) else FALSE, detail=str(error)), error)
        except (MisuseError, HypothesisException) as error:
            return self._missed(Outcome(MISUSE, detail=shown.error(error)), error)
        except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001 - whatever the property raises
            return self._missed(Outcome(RAISED, detail=shown.error(error)), error)
        finally:
            RECORD.reset(token)
        return None

    def _faulted(self, fault: CandidateFault) -> Outcome:
        if self._failed is not None:  # it came while a counterexample was being made smaller
            outcome, self.form, self._text = self._failed
            return self._missed(outcome)
        if self._reference is not None and self._reference.fault is not None:
            return self._missed(Outcome(REFERENCE, detail=fault.message))
        return self._missed(Outcome(FAULT, fault.rule, fault.message))

    def _missed(self, outcome: Outcome, error: BaseException | None = None) -> Outcome:
        """`outcome`, with the counterexample noted: the arguments, what the property drew and noted, what it raised."""
        parts = [self._text]
        if self.form is not None:
            values = self._codec.undigested(self.form)
            parts = [shown.arguments(dict(zip(self._property.drawn, values, strict=True)))]
        notes = [n for n in getattr(error, "__notes__", ()) if type(n) is str and not n.startswith(_ACCOUNT)]
        parts += [shown.cut(note.strip(), 500) for note in notes[:10]]
        if outcome.kind in {RAISED, MISUSE, FAULT, REFERENCE, NOT_BOOLEAN}:
            parts.append(outcome.detail)
        self.counterexample = "; ".join(part for part in parts if part)
        return outcome

    def _held(self, least: float) -> Outcome:
        """The outcome of a run that falsified nothing: it may still have seen too little."""
        shares = self.record.shares()
        if not self.examples or self.effective / self.examples < least:
            detail = f"{self.effective} of {self.examples} examples reach the candidate"
            return Outcome(STARVED, "", detail, self.effective)
        missed = [f"{name!r} is covered by {shares[name]:.1%}, not {self.record.wanted[name]:.1%}"
                  for name in self.record.missed()]  # fmt: skip
        missed += [f"{name!r} is never reached" for name in sorted(self._property.labels - shares.keys())]
        return Outcome(COVER if missed else HELD, "", "; ".join(missed), self.effective)


@contextmanager
def _pinned_generation() -> Iterator[None]:
    """Draw no literals of modules that happen to be imported: which those are depends on where the kit and the
    stage lie and on what ran before. Hypothesis has no setting for it; its exact version is locked."""
    original = providers._get_local_constants  # noqa: SLF001
    providers._get_local_constants = Constants  # noqa: SLF001
    providers.CONSTANTS_CACHE.cache.clear()
    try:
        yield
    finally:
        providers._get_local_constants = original  # noqa: SLF001
        providers.CONSTANTS_CACHE.cache.clear()
