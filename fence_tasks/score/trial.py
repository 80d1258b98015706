"""One property, run on one revision's candidate: examples are drawn, counted and digested, and its answer judged."""

from __future__ import annotations

import hashlib
import random
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.errors import Flaky, HypothesisException, Unsatisfiable, UnsatisfiedAssumption
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


class _FalsifiedError(Exception):
    """The property returned False."""


class _NotBooleanError(Exception):
    """The property returned something else than a Boolean."""


class Trial:
    """One run. `examples`, `effective` (they asked the candidate and were not rejected) and `rejected` count what
    was executed; `cases()` is the digest of all that was drawn, in order; `counterexample` is readable."""

    def __init__(self, prop: Property, client: Client, reference: Client | None) -> None:
        """Prepare the run of `prop`; `reference` is base's candidate for a property that compares."""
        self._property = prop
        self._client = client
        self._reference = reference
        self._codec = Codec()
        self._digest = hashlib.sha256()
        self._record = Record()
        self._start = client.calls
        self._form: bytes | None = None
        self._shown = ""
        self._failed: Outcome | None = None
        self._failed_on: tuple[bytes | None, str] = (None, "")
        self.examples = self.effective = self.rejected = 0
        self.counterexample = ""

    @property
    def calls(self) -> int:
        """How many questions the candidate has answered."""
        return self._client.calls - self._start

    def cases(self) -> str:
        """The SHA-256 of every argument list so far, in order, as hex."""
        return self._digest.hexdigest()

    def run(self, seed: int, examples: int, least: float) -> Outcome:
        """Run up to `examples` examples from `seed`; at least the share `least` of them must be effective."""
        prop = self._property
        given = {"api": self._client.api}
        if self._reference is not None and prop.compares:
            given["base_api"] = self._reference.api
        token = RECORD.set(self._record)
        try:
            if prop.drawn:
                self._drive(seed, min(examples, prop.examples or examples), given)
            else:
                self._checked(prop.function)(**given)
        except CandidateFault as fault:
            return self._faulted(fault)
        except Unsatisfiable:
            return self._done(STARVED, "every example was rejected")
        except Flaky:
            return self._missed(FLAKY, "")
        except (MisuseError, HypothesisException) as error:
            return self._missed(MISUSE, shown.error(error))
        except _FalsifiedError:
            return self._missed(FALSE, "")
        except _NotBooleanError as error:
            return self._missed(NOT_BOOLEAN, str(error))
        except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001 - whatever the property raises
            return self._missed(RAISED, shown.error(error), error)
        finally:
            RECORD.reset(token)
        return self._held(least)

    def again(self, form: bytes) -> Outcome:
        """Run the one example whose arguments `form` encodes: does this candidate miss it too?"""
        values = self._codec.unpack(self._codec.message(form))
        body = self._property.function.hypothesis.inner_test  # type: ignore[attr-defined]
        given = dict(zip(self._property.drawn, values, strict=True))
        prop = self._property
        self._property = prop
        return self._single(body, given)

    def _single(self, body: Callable[..., Any], given: dict[str, Any]) -> Outcome:
        raise NotImplementedError
