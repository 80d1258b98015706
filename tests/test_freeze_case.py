"""`invoke freeze-case` on real repositories: a flake changes hands, or nothing happens at all."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from fence_tasks import checkout, files
from fence_tasks.maintain import freeze_case, writing
from fence_tasks.oracle import freezes, lock
from tests.people import command, environment, invoke, killed, lock_is_right, refusal, state

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.host import Host

PATH = "src/tests/test_parse.py"
FROZEN = "oracle/frozen/slow/test_parse.py"
#: Fails in every third run; the count lies outside the repository.
FLAKE = "n=$(cat ../n 2>/dev/null || echo 0); echo $((n+1)) > ../n; test $((n % 3)) -ne 0"
WORDS = {"id": "slow", "path": PATH, "owner": "parsers", "reason": "waits for the clock", "repro-cmd": FLAKE}
DAY = 86400


def options(**words: str) -> list[str]:
    return [f"--{k.replace('_', '-')}={v}" for k, v in words.items()]


def freeze(host: Host, *args: str, cwd: Any = None, **words: str) -> tuple[int, str]:
    given = {**{k.replace("-", "_"): v for k, v in WORDS.items()}, **words}
    done = invoke(host, "freeze-case", *options(**given), *args, cwd=cwd)
    return done.code, done.out + done.err


def counted(host: Host, *args: str, **words: str) -> tuple[int, str]:
    """Freeze with the scoring machine's counts, so that nothing is run."""
    return freeze(host, *args, **{"observed_failures": "3", "observed_runs": "200", **words})


def refused(host: Host, words: dict[str, str]) -> int:
    given = (
        {k.replace("-", "_"): v for k, v in WORDS.items()} | {"observed_failures": "3", "observed_runs": "200"} | words
    )
    return refusal(lambda: freeze_case.run(str(host.repo), freeze_case.Ask(**given)))[0]


def case(host: Host, number: int = -1) -> freezes.Case:
    return freezes.parse(host.git_bytes("show", ":oracle/frozen/manifest.json"))[number]


def test_a_case_is_observed_moved_recorded_locked_and_staged(host: Host) -> None:
    content = host.path(PATH).read_bytes()
    code, said = freeze(host, runs="7", cwd=host.path("src"))
    assert code == 0, said
    changed = host.git("diff", "--cached", "--no-renames", "--name-status", "HEAD").split("\n")
    assert changed == ["M\toracle/LOCK", "M\toracle/frozen/manifest.json", f"A\t{FROZEN}", f"D\t{PATH}"]
    assert host.git("status", "--porcelain").count("\n") == 2  # a rename and two edits, all staged
    assert not host.path(PATH).exists()
    frozen = case(host)
    assert (frozen.id, frozen.retired_src_path, frozen.frozen_path) == ("slow", PATH, FROZEN)
    assert (frozen.owner, frozen.reason, frozen.repro_cmd) == ("parsers", "waits for the clock", FLAKE)
    assert (frozen.observed_runs, frozen.observed_failures) == (7, 3)
    assert frozen.retired_names == ("test_a_record_comes_back", "test_a_long_record_is_refused")
    assert frozen.content_sha256 == hashlib.sha256(content).hexdigest()
    assert frozen.expires_unix is not None
    assert abs(frozen.expires_unix - time.time() - 90 * DAY) < DAY
    assert host.git_bytes("show", f":{FROZEN}") == content == host.path(FROZEN).read_bytes()
    assert "git commit -m 'Freeze slow: waits for the clock'" in said
    assert "run 7 of 7: 3 failed" in said
    assert lock_is_right(host)


def test_a_later_patch_that_recreates_the_path_is_refused(host: Host) -> None:
    content = host.path(PATH).read_bytes()
    assert counted(host)[0] == 0
    base = host.commit("freeze", everything=False)
    host.branch("patch")
    host.write(PATH, content)
    head = host.commit("the test is back")
    result = host.fence(base, head)
    assert result.code == 4, result


def test_an_executable_case_becomes_a_plain_file_and_counts_are_taken_as_given(host: Host) -> None:
    host.git("update-index", "--chmod=+x", PATH)
    host.path(PATH).chmod(0o755)
    host.commit("executable", everything=False)
    assert freeze(host, observed_failures="0", observed_runs="50")[0] == 0
    assert host.git("ls-files", "--stage", FROZEN).startswith("100644 ")
    assert (case(host).observed_runs, case(host).observed_failures, case(host).machine) == (50, 0, None)


def test_one_test_of_a_file_is_copied_and_only_its_name_is_banned(host: Host) -> None:
    name = "test_a_long_record_is_refused"
    code, said = counted(host, name=f"{PATH}::{name}")
    assert code == 0, said
    assert case(host).retired_names == (name,)
    assert host.path(PATH).exists()
    assert f"now take {name} out of {PATH}" in said
    told = invoke(host, "check").out
    assert f"still defines {name}" in told
    host.write(PATH, host.path(PATH).read_text().partition("\n\ndef test_a_long")[0] + "\n")
    host.git("add", PATH)
    assert "still defines" not in invoke(host, "check").out
    assert lock_is_right(host)


def test_names_with_blanks_and_accents_and_an_autocrlf_work_tree(host: Host) -> None:
    path = "src/tests/test zwölf.py"
    host.write(path, "def test_zwölf():\n    assert True\n")
    host.commit("twelve")
    other = host.clone("crlf é", "--config", "core.autocrlf=true")
    assert b"\r\n" in other.path(path).read_bytes()
    code, said = counted(other, path=path)
    assert code == 0, said
    assert (
        other.git_bytes("show", ":oracle/frozen/slow/test zwölf.py") == b"def test_zw\xc3\xb6lf():\n    assert True\n"
    )
    assert case(other).retired_names == ("test_zwölf",)


@pytest.mark.parametrize(
    ("words", "days"),
    [({"expires_days": "30"}, 30), ({"expires_days": "90"}, 90), ({"expires_unix": str(int(time.time()) + 5 * DAY)}, 5)],
    ids=["days", "the longest", "a time"],
)  # fmt: skip
def test_an_expiry_by_the_clock(host: Host, words: dict[str, str], days: int) -> None:
    code, said = counted(host, **words)
    assert code == 0, said
    expires = case(host).expires_unix
    assert expires is not None
    assert abs(expires - time.time() - days * DAY) < DAY


def test_an_expiry_by_commits_needs_a_ticket(host: Host) -> None:
    assert counted(host, expires_after="40")[0] == 64
    code, said = counted(host, expires_after="40", ticket="PARSE-12")
    assert code == 0, said
    assert case(host).expires_after == {"commit": host.id(), "first_parent_commits": 40}
    assert (case(host).ticket, case(host).expires_unix) == ("PARSE-12", None)


BAD: dict[str, dict[str, str]] = {
    "no id": {"id": ""},
    "an id that is a path": {"id": "a/b"},
    "an id that no Windows can hold": {"id": "aux"},
    "a blank owner": {"owner": " "},
    "no reason": {"reason": ""},
    "no command": {"repro_cmd": ""},
    "a path that is not there": {"path": "src/tests/test_gone.py"},
    "a path that climbs": {"path": "../repo/" + PATH},
    "a folder": {"path": "src/tests"},
    "a path of the oracle": {"path": "oracle/properties/roundtrip.py"},
    "a path of the gate": {"path": "fence_tasks/model.py"},
    "a name that the file lacks": {"name": "test_nothing"},
    "a count alone": {"observed_runs": ""},
    "more failures than runs": {"observed_failures": "201"},
    "no runs": {"observed_failures": "0", "observed_runs": "0"},
    "a count that is no number": {"observed_runs": "many"},
    "runs and counts": {"runs": "5"},
    "two expiries": {"expires_days": "3", "expires_unix": "4000000000"},
    "an expiry in the past": {"expires_unix": "1000000000"},
    "no days": {"expires_days": "0"},
    "negative days": {"expires_days": "-3"},
}


def test_bad_input_is_64_and_changes_nothing(host: Host) -> None:
    before = state(host)
    for what, words in BAD.items():
        assert refused(host, words) == 64, what
    assert counted(host, id="a/b")[0] == 64
    assert state(host) == before


def capped(host: Host) -> None:
    host.people(
        "cap", {"oracle/policy.toml": host.path("oracle/policy.toml").read_text() + "[freezes]\ncap_per_owner = 0\n"}
    )


def edited(host: Host) -> None:
    host.write(PATH, "x = 1\n")


def never_committed(host: Host) -> None:
    host.git("mv", PATH, "src/tests/test_new.py")
    host.git("mv", "src/tests/test_new.py", PATH)
    host.write("src/tests/test_parse2.py", "x")
    host.git("add", "--all")


def manifest_edited(host: Host) -> None:
    host.write("oracle/frozen/manifest.json", host.path("oracle/frozen/manifest.json").read_text() + "\n")


BROKEN: dict[str, tuple[Callable[[Host], object], dict[str, str]]] = {
    "over the owner's cap": (capped, {}),
    "an id twice": (lambda _: None, {"id": "parse_timeout_udp_1472"}),
    "an id twice on a folding disk": (lambda _: None, {"id": "Parse_Timeout_UDP_1472"}),
    "a folder of that name": (lambda h: h.write("oracle/frozen/slow/x", "x"), {}),
    "an expiry that is too late": (lambda _: None, {"expires_days": "91"}),
    "a time that is too late": (lambda _: None, {"expires_unix": "4000000000"}),
    "a path with changes": (edited, {}),
    "a path with no history": (never_committed, {"path": "src/tests/test_parse2.py"}),
    "a manifest with changes": (manifest_edited, {}),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_would_break_a_rule_is_75_and_changes_nothing(host: Host, what: str) -> None:
    spoil, words = BROKEN[what]
    spoil(host)
    before = state(host)
    assert refused(host, words) == 75
    assert state(host) == before


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [("true", 75, "never failed"), ("echo because; exit 3", 75, "because"), ("no-such-command-here", 64, "cannot be run")],
    ids=["no run fails", "all runs fail", "no such command"],
)  # fmt: skip
def test_what_is_not_flaky_is_not_frozen(host: Host, command: str, code: int, said: str) -> None:
    before = state(host)
    got, lines = freeze(host, repro_cmd=command, runs="4")
    assert (got, said in lines) == (code, True), lines
    assert state(host) == before


def test_a_cap_is_refused_before_an_hour_of_observing(host: Host) -> None:
    capped(host)
    assert freeze(host, repro_cmd="touch ../ran")[0] == 75
    assert not (host.root / "ran").exists()


def test_a_dry_run_runs_and_writes_nothing(host: Host) -> None:
    before = state(host)
    code, said = freeze(host, "--dry", repro_cmd="touch ../ran")
    assert (code, "would run 50 times" in said) == (0, True), said
    assert not (host.root / "ran").exists()
    assert state(host) == before


@pytest.mark.parametrize("when", ["third file", "before the index", "after the index", "removal"])
def test_a_ctrl_c_anywhere_leaves_nothing_half_done(host: Host, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    before = state(host)
    original, write = checkout.set_index, files.write_whole
    written = 0

    def index(*args: object) -> None:
        monkeypatch.setattr(checkout, "set_index", original)
        if when == "after the index":
            original(*args)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    def file(*args: object) -> None:
        nonlocal written
        written += 1
        if written == 3:
            raise KeyboardInterrupt
        write(*args)  # type: ignore[arg-type]

    def remove(*_: object) -> None:
        raise KeyboardInterrupt

    if when == "third file":
        monkeypatch.setattr(writing, "write_whole", file)
    elif when == "removal":
        monkeypatch.setattr("fence_tasks.maintain.writing._Undo.remove", remove)
    else:
        monkeypatch.setattr(checkout, "set_index", index)
    ask = freeze_case.Ask("slow", PATH, "parsers", "r", "true", observed_failures="1", observed_runs="9")
    with pytest.raises(KeyboardInterrupt):
        freeze_case.run(str(host.repo), ask)
    assert state(host) == before


def test_a_real_ctrl_c_while_it_observes_changes_nothing(host: Host) -> None:
    before = state(host)
    words = {**{k.replace("-", "_"): v for k, v in WORDS.items()}, "repro_cmd": "touch ../ran; sleep 20"}
    task = subprocess.Popen(command("freeze-case", *options(**words)), cwd=host.repo, env=environment(host),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    deadline = time.monotonic() + 30
    while not (host.root / "ran").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    task.send_signal(signal.SIGINT)
    out, _ = task.communicate(timeout=30)
    assert (task.returncode, b"Traceback" in out) == (1, False), out
    assert state(host) == before


@pytest.mark.parametrize(
    ("point", "number"),
    [("rename", 1), ("rename", 2), ("rename", 3), ("before the index", 0), ("after the index", 0), ("remove", 0)],
)  # fmt: skip
def test_a_kill_at_any_point_leaves_whole_files_and_one_index_or_the_other(
    host: Host, point: str, number: int
) -> None:  # fmt: skip
    ask = f"'slow', {PATH!r}, 'parsers', 'r', 'true', observed_failures='1', observed_runs='9'"
    index = host.git("ls-files", "--stage")
    killed(host, f"freeze_case.run('.', freeze_case.Ask({ask}))", point, number)
    assert len(freezes.parse(host.path("oracle/frozen/manifest.json").read_bytes())) in {1, 2}
    assert lock.parse(host.path("oracle/LOCK").read_bytes())
    if point in {"after the index", "remove"}:
        assert case(host).id == "slow"
        assert PATH not in host.git("ls-files")
    else:
        assert host.git("ls-files", "--stage") == index
        assert host.path(PATH).exists()
    host.git("reset", "--quiet", "--hard")
    host.git("clean", "-fdxq", "oracle")
    assert counted(host)[0] == 0
    assert lock_is_right(host)
