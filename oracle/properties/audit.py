"""`audit`: nothing of an oracle changes unseen, whoever changed it and whatever LOCK says."""

from __future__ import annotations

import hashlib
from typing import Any

from _kit import POLICY, audit, code, none_of

from fence_tasks.properties import at_most, cover, given, st

LOCK, MANIFEST, POLICY_FILE = "oracle/LOCK", "oracle/frozen/manifest.json", "oracle/policy.toml"
Files = dict[str, tuple[str, bytes]]
CONTENT = st.binary(min_size=1, max_size=12)


def sha256(data: bytes) -> str:
    """Hex, as the store's names have it."""
    return hashlib.sha256(data).hexdigest()


def digest(data: bytes) -> str:
    """What stands for BLAKE3 here: the audit compares digests and never computes one."""
    return hashlib.blake2s(data).hexdigest()


def raw(path: str) -> bytes:
    """The path as git has it."""
    return path.encode("utf-8", "surrogateescape")


def locked(files: Files) -> Files:
    """The same files with a LOCK of all of them but exactly `oracle/LOCK`."""
    rows = sorted((raw(path.removeprefix("oracle/")), data) for path, (_, data) in files.items() if path != LOCK)
    lock = b"".join(digest(data).encode() + b"  " + path + b"\n" for path, data in rows)
    return {**files, LOCK: ("100644", lock)}


def pair(folder: str, data: bytes) -> Files:
    """The two files of a fixture."""
    stem = f"oracle/fixtures/{folder}{sha256(data)}"
    return {f"{stem}.in": ("100644", data), f"{stem}.expected": ("100644", sha256(b"!" + data).encode() + b"\n")}


@st.composite
def oracles(draw: st.DrawFn) -> Files:
    """A sound oracle: policy, manifest, a property, fixtures, and files of people's own, with its LOCK."""
    files: Files = {
        POLICY_FILE: ("100644", POLICY.encode()),
        MANIFEST: ("100644", b'{"cases": []}'),
        "oracle/properties/a.py": ("100644", draw(CONTENT)),
    }
    for data in draw(st.lists(CONTENT, min_size=1, max_size=2)):
        files |= pair(draw(st.sampled_from(["", "other/"])), data)
    own = ["oracle/README.md", "oracle/properties/LOCK", "oracle/canaries/LOCK", "oracle/canaries/a b", "oracle/é"]
    for path in draw(st.sets(st.sampled_from(own), max_size=3)):
        files[path] = ("100644", draw(CONTENT))
    return locked(files)


@st.composite
def chosen(draw: st.DrawFn) -> tuple[Files, str]:
    """A sound oracle and one of its files, often a LOCK in a subfolder."""
    files = draw(oracles())
    nested = [path for path in files if path.endswith("/LOCK") and path != LOCK]
    return files, draw(st.one_of(st.sampled_from(sorted(files)), st.sampled_from(nested or [LOCK])))


def findings(api: Any, files: Files) -> Any:
    """All that the audit finds in these files."""
    wants, entry = audit(api).wants_content, audit(api).OracleFile
    rows = [
        entry(path, mode, hashlib.sha1(data).hexdigest(), len(data), digest(data),  # noqa: S324 - git's own
              sha256(data) if path.endswith(".in") else "", data if wants(path) else b"")
        for path, (mode, data) in files.items()
    ]  # fmt: skip
    return audit(api).audit(rows).findings


def rules(found: Any, path: str) -> set[str]:
    """The rules of the findings about one path."""
    return {finding.rule for finding in found if finding.path == path}


@given(one=chosen(), how=st.sampled_from(["byte", "cut", "grow", "mode", "name", "add", "remove"]),
       mode=st.sampled_from(["100755", "120000", "160000", "100664"]))  # fmt: skip
def prop_any_change_of_an_oracle_is_seen(api: Any, one: tuple[Files, str], how: str, mode: str) -> bool:
    files, path = one
    was, data = files[path]
    changed = {p: f for p, f in files.items() if p != path}
    new = "oracle/properties/new/LOCK" if path.endswith("/LOCK") else f"{path}.new"
    changed |= {
        "byte": {path: (was, data[:-1] + bytes([data[-1] ^ 1]))},
        "cut": {path: (was, data[:-1])},
        "grow": {path: (was, data + b"\n")},
        "mode": {path: (mode, data)},
        "name": {new: (was, data)},
        "add": {path: (was, data), new: (was, data)},
        "remove": {},
    }[how]
    cover("a nested LOCK", path.endswith("/LOCK") and path != LOCK, at_least=0.03)
    cover("LOCK itself", path == LOCK, at_least=0.05)
    found = findings(api, changed)
    seen = {path: {"mode": {"oracle-entry"}, "add": set[str]()}.get(how, {"lock-mismatch"})}
    if how in {"name", "add"}:
        seen[new] = {"lock-mismatch"}
    if path == LOCK and how != "mode":  # an edit of LOCK shows at the files that it names
        seen = {LOCK: {"lock-missing"}} if how in {"name", "remove"} else {}
    seen_so = all(owed <= rules(found, p) for p, owed in seen.items())
    return not findings(api, files) and code(api, found) in {3, 65} and seen_so


#: Entries that no oracle may have, by name or by mode.
ODD = [
    *((path, "100644") for path in (
        "oracle/properties/a.py.", "oracle/nul", "oracle/lock", "oracle/LOCK ", "oracle/LOCK::$DATA", "oracle/a\u202eb",
        "oracle/LO\u200dCK", "oracle/-rf", "oracle/a\x1b[0m", "oracle/.git/config", "oracle/../x", "oracle/\udcff",
        "oracle/properties/RUN~1.PY", "oracle/\uff2cOCK", "oracle/LOCK/x",
    )),
    *(("oracle/plain.py", mode) for mode in ("100755", "120000", "160000", "100664")),
]  # fmt: skip


@at_most(10)
@given(files=oracles())
def prop_an_odd_entry_is_refused_even_if_lock_names_it(api: Any, files: Files) -> bool:
    taken = []
    for path, mode in ODD:
        found = findings(api, locked({**files, path: (mode, b"x")}))
        if rules(found, path) != {"oracle-entry"} or code(api, found) != 65:
            taken.append((path, mode))
    return none_of(taken)


@at_most(50)
@given(files=oracles(), at=st.integers(0, 9), how=st.sampled_from(["half", "other half", "name", "folder", "stray"]))
def prop_a_corrupt_store_is_seen_even_if_lock_names_it(api: Any, files: Files, at: int, how: str) -> bool:
    stems = sorted(path.removesuffix(".in") for path in files if path.endswith(".in"))
    stem = stems[at % len(stems)]
    folder = stem.rsplit("/", 1)[0]
    other = f"{folder}/{'0' * 64}"
    moved = {
        "half": {f"{stem}.in": None},
        "other half": {f"{stem}.expected": None},
        "name": {f"{stem}.in": f"{other}.in", f"{stem}.expected": f"{other}.expected"},
        "folder": {f"{stem}.in": f"{folder}/deep/er/{sha256(files[f'{stem}.in'][1])}.in"},
        "stray": {f"{stem}.in": f"{stem}.input"},
    }[how]
    store = {moved.get(path, path): file for path, file in files.items()}
    store.pop(None, None)
    found = findings(api, locked(store))  # type: ignore[arg-type]
    return code(api, found) == 5 and not any(finding.rule == "lock-mismatch" for finding in found)


#: What is no expectation: the format is 64 hex digits in lower case and a newline.
NO_DIGEST = (
    b"",
    b"a" * 64,
    b"A" * 64 + b"\n",
    b"a" * 63 + b"\n",
    b"a" * 64 + b"\r\n",
    b"a" * 64 + b"\n\n",
    b"g" * 64 + b"\n",
)


@at_most(10)
@given(files=oracles())
def prop_an_expectation_is_64_hex_digits_and_a_newline(api: Any, files: Files) -> bool:
    path = next(path for path in sorted(files) if path.endswith(".expected"))
    taken = []
    for bad in NO_DIGEST:
        found = findings(api, locked({**files, path: ("100644", bad)}))
        if rules(found, path) != {"expected-malformed"} or code(api, found) != 65:
            taken.append(bad)
    return none_of(taken)
