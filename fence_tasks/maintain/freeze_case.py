"""`invoke freeze-case`: a flaky case moves from the proposer's tree into the oracle, with an owner and an expiry."""

from __future__ import annotations

import hashlib
import platform
import re
import shlex
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .. import checkout
from ..model import REGULAR_MODES, bytes_of
from ..oracle import freezes, lock, names, policy
from ..oracle.tests_in import test_names
from . import staged
from .observe import Observed, observe
from .refusals import blake3_hex, broken, shown, usage
from .writing import put

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model import Entry
    from ..oracle.audit import OracleFile
    from ..oracle.freezes import Case
    from ..oracle.policy import Policy

EXAMPLE = ('invoke freeze-case --id parse_timeout --path src/tests/test_parse_timeout.py --owner protocols '
           '--reason "drops datagrams" --repro-cmd "python -m pytest src/tests/test_parse_timeout.py"')  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    """What was typed, as text; "" for an option that was not given. `path` is relative to the repository's root."""

    id: str
    path: str
    owner: str
    reason: str
    repro_cmd: str
    name: str = ""
    runs: str = ""
    observed_failures: str = ""
    observed_runs: str = ""
    expires_days: str = ""
    expires_unix: str = ""
    expires_after: str = ""
    ticket: str = ""


@dataclass(frozen=True, slots=True)
class _Ready:
    """A freeze that may be made: the manifest's cases, the new one without its counts, and the case's content."""

    files: list[OracleFile]
    cases: tuple[Case, ...]
    case: Case
    content: bytes
    runs: int


def run(folder: str, ask: Ask, *, dry: bool = False, say: Callable[[str], None] = lambda _: None) -> list[str]:
    """Freeze one case (design, section 9); answer what to tell the person. `say` is told how the observing goes.

    Raises TaskError: `usage` for bad input; what would break a rule is refused before anything is changed: a cap,
    an expiry that is too late, an id twice, a path that nobody committed or that has changes, a case that is not flaky.
    """
    _check(ask)
    root = checkout.root_of(folder)
    ready = _ready(root, ask)  # before the observing too: a cap is not worth an hour
    counts = _counts(ask)
    if dry:
        return [*([] if counts else [f"would run {ready.runs} times: {ask.repro_cmd}"]),
                f"would move {ready.case.retired_src_path} to {ready.case.frozen_path}, and relock"]  # fmt: skip
    if counts is None:
        counts = observe(ask.repro_cmd, ready.runs, root=root, say=say)  # 1 observe
        ready = _ready(root, ask)  # 2 check: the tree may have changed meanwhile
    case = _with_counts(ready.case, counts, here=not ask.observed_runs)
    frozen = case.frozen_path or ""
    new = {frozen: ready.content, freezes.PATH: freezes.render((*ready.cases, case))}
    new[lock.PATH] = staged.lock_of(ready.files, blake3_hex(), new)
    put(root, new, [] if ask.name else [case.retired_src_path])  # 3 move, 4 record, 5 relock, 6 stage
    return _told(case, ask, counts)


def _told(case: Case, ask: Ask, counts: Observed) -> list[str]:
    commit = shlex.join(["git", "commit", "-m", f"Freeze {case.id}: {case.reason}"])
    lines = [
        f"{'copied' if ask.name else 'moved'}: {case.retired_src_path} -> {case.frozen_path}",
        f"recorded: {case.id}, owner {case.owner}, {counts.failures} of {counts.runs} runs failed, {_expiry(case)}",
        f"staged: {case.frozen_path}, {freezes.PATH}, {lock.PATH}",
    ]
    if ask.name:
        name, path = (case.retired_names or ("",))[0], case.retired_src_path
        lines.append(f"now take {name} out of {path}, then: git add {shlex.quote(path)}")
    return [*lines, f"next: {commit}"]


def _expiry(case: Case) -> str:
    if case.expires_unix is not None:
        return time.strftime("expires %Y-%m-%d (UTC)", time.gmtime(case.expires_unix))
    return f"expires after {(case.expires_after or {})['first_parent_commits']} commits on the main line"


def _check(ask: Ask) -> None:
    """What the words alone say."""
    for key in ("id", "path", "owner", "reason", "repro_cmd"):
        value = getattr(ask, key)
        if not value.strip():
            raise usage(f"--{key.replace('_', '-')} is missing or empty", EXAMPLE)
        if bytes_of(value) != value.encode("utf-8", "replace") or "\0" in value:
            raise usage(f"--{key.replace('_', '-')} is not UTF-8", EXAMPLE)
    if not freezes.ID.fullmatch(ask.id) or (odd := names.oddity(ask.id)):
        why = odd[1] if freezes.ID.fullmatch(ask.id) and odd else "give letters, digits, `_`, `.` and `-`"
        raise usage(f"--id {ask.id!r} cannot be a folder's name: {why}", EXAMPLE)
    if bool(ask.observed_failures) != bool(ask.observed_runs):
        raise usage("--observed-failures and --observed-runs go together", EXAMPLE)
    if ask.runs and ask.observed_runs:
        raise usage("--runs observes here, --observed-runs was observed elsewhere: give one of them", EXAMPLE)
    if sum(map(bool, (ask.expires_days, ask.expires_unix, ask.expires_after))) > 1:
        raise usage("give one of --expires-days, --expires-unix and --expires-after", EXAMPLE)
    if ask.expires_after and not ask.ticket.strip():
        raise usage("--expires-after needs --ticket, since no clock will ring", EXAMPLE)


def _number(option: str, value: str, lowest: int, highest: int) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", value) or not lowest <= int(value) <= highest:
        raise usage(f"--{option} {value!r} is not a whole number from {lowest} to {highest}", EXAMPLE)
    return int(value)


def _counts(ask: Ask) -> Observed | None:
    """The scoring machine's counts, if they were given."""
    if not ask.observed_runs:
        return None
    runs = _number("observed-runs", ask.observed_runs, 1, 10**9)
    return Observed(runs, _number("observed-failures", ask.observed_failures, 0, runs))


def _ready(root: str, ask: Ask) -> _Ready:
    """Everything that can be refused, refused; the freeze otherwise."""
    files = staged.oracle(root, blake3_hex())
    rules, cases = staged.policy_of(files), staged.cases_of(files)
    _new_id(ask, cases)
    entry = _entry(root, ask, rules)
    frozen = f"{freezes.FOLDER}{ask.id}/{entry.path.rsplit('/', 1)[-1]}"
    _no_clash(root, ask, rules, cases, frozen)
    content = staged.contents(root, [entry])[entry.path]
    unix, after = _expires(root, ask, rules)
    case = freezes.Case(
        ask.id, entry.path, ask.owner, ask.reason, ask.repro_cmd, unix, after, ask.ticket or None, frozen,
        hashlib.sha256(content).hexdigest(), _retired(ask, entry.path, content),
    )  # fmt: skip
    runs = _number("runs", ask.runs, 2, 10**6) if ask.runs else max(2, rules.freezes.runs)
    return _Ready(files, cases, case, content, runs)


def _entry(root: str, ask: Ask, rules: Policy) -> Entry:
    """The case's entry in the index: a plain file of the proposer's, committed, without changes."""
    path = ask.path.removeprefix("./")
    index = {e.path: e for e in checkout.index(root)}
    if path not in index:
        near = [p for p in index if p.rsplit("/", 1)[-1] == path.rsplit("/", 1)[-1]]
        hint = f"; did you mean {shown(near)}?" if near else ""
        raise usage(f"--path {path!r} is no tracked file, counted from the repository's root{hint}", EXAMPLE)
    if any(policy.covers(p, path) for p in rules.protected):
        raise usage(f"--path {path!r} is oracle, gate or CI already, where no proposer writes", EXAMPLE)
    if index[path].mode not in REGULAR_MODES:
        raise usage(f"--path {path!r} is a link or a submodule", EXAMPLE)
    if checkout.commits_of(root, path) == 0:
        raise broken("no-history", "no commit has this file, so nobody has seen it flake", "commit it first", path)
    if checkout.dirty(root, path):
        raise broken("dirty-tree", "has uncommitted changes", "git commit or git stash them first", path)
    return index[path]


def _new_id(ask: Ask, cases: tuple[Case, ...]) -> None:
    twin = next((c.id for c in cases if names.fold(c.id) == names.fold(ask.id)), "")
    if twin:
        raise broken("clash", f"the manifest has a case {twin!r} already", "choose another --id", freezes.PATH)


def _no_clash(root: str, ask: Ask, rules: Policy, cases: tuple[Case, ...], frozen: str) -> None:
    if Path(root, frozen).parent.exists() or any(e.path.startswith(f"{freezes.FOLDER}{ask.id}/")
                                                 for e in checkout.index(root, freezes.FOLDER)):  # fmt: skip
        raise broken("clash", "the folder is there already", "remove it, or choose another --id", f"{frozen}")
    if odd := names.oddity(frozen):
        raise usage(f"--path: the oracle cannot hold this name: {odd[1]}", "git mv the file first, and commit")
    if freezes.PATH in checkout.unstaged(root, freezes.FOLDER):
        raise broken("dirty-tree", "has changes that are not staged", "git add or git restore it first", freezes.PATH)
    owned = sum(c.owner == ask.owner for c in cases)
    if owned >= rules.freezes.cap_per_owner:
        raise broken("over-cap", f"{ask.owner!r} has {owned} frozen cases, the policy's cap is "
                     f"{rules.freezes.cap_per_owner}", "mend or thaw one of them first", freezes.PATH)  # fmt: skip


def _expires(root: str, ask: Ask, rules: Policy) -> tuple[int | None, dict[str, object] | None]:
    """`(seconds UTC, or None, commits and where they are counted from, or None)`; the policy's longest by default."""
    if ask.expires_after:
        count = _number("expires-after", ask.expires_after, 1, 10**6)
        return None, {"commit": checkout.head(root), "first_parent_commits": count}
    # A clock that is behind HEAD is wrong; the freeze is counted from HEAD then.
    now = max(int(time.time()), checkout.commit_time(root))
    longest = rules.freezes.longest_days
    if ask.expires_unix:
        unix = _number("expires-unix", ask.expires_unix, now + 1, 10**12)
    else:
        days = _number("expires-days", ask.expires_days, 1, 36500) if ask.expires_days else longest
        unix = now + days * freezes.DAY
    if unix > now + longest * freezes.DAY:
        why = f"the policy's longest freeze is {longest} days"
        raise broken("over-cap", why, "give an earlier expiry", policy.PATH)
    return unix, None


def _retired(ask: Ask, path: str, content: bytes) -> tuple[str, ...]:
    """The names that may not be defined again: all of the file's tests, or the one that was named."""
    found = test_names(content)
    if not ask.name:
        return found
    name = ask.name.rsplit(".py::", 1)[-1].replace("::", ".")
    token = re.search(rb"\b" + re.escape(bytes_of(name.rsplit(".", 1)[-1])) + rb"\b", content)
    if name not in found if path.endswith(".py") else not token:
        known = f"; it defines {shown(found)}" if found else ""
        raise usage(f"--name {ask.name!r} is no test of {path}{known}", EXAMPLE)
    return (name,)


def _with_counts(case: Case, counts: Observed, *, here: bool) -> Case:
    return replace(case, observed_runs=counts.runs, observed_failures=counts.failures,
                   machine=platform.platform() if here else None)  # fmt: skip
