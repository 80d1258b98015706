"""`invoke add-fixture` on real repositories: pairs under the input's digest, and never a moved expectation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from fence_tasks import checkout
from fence_tasks.maintain import add_fixture
from tests.people import invoke, lock_is_right, state

if TYPE_CHECKING:
    from tests.host import Host

GIVEN, OWED = b" One \r\n", b"one\n"
STEM = f"oracle/fixtures/{hashlib.sha256(GIVEN).hexdigest()}"
DIGEST = hashlib.sha256(OWED).hexdigest()


@pytest.fixture
def files(host: Host) -> Host:
    """A host beside whose repository an input and its output lie."""
    (host.root / "in bin").write_bytes(GIVEN)
    (host.root / "out").write_bytes(OWED)
    return host


def add(host: Host, *args: str) -> tuple[int, str]:
    done = invoke(host, "add-fixture", *(args or ("--input", "../in bin", "--expected", "../out")))
    return done.code, done.out + done.err


def test_a_pair_is_stored_locked_and_staged(files: Host) -> None:
    code, said = add(files)
    assert code == 0, said
    assert files.git("diff", "--cached", "--name-only") == f"oracle/LOCK\n{STEM}.expected\n{STEM}.in"
    assert files.git_bytes("show", f":{STEM}.in") == GIVEN == files.path(f"{STEM}.in").read_bytes()
    assert files.git("show", f":{STEM}.expected") == DIGEST
    assert lock_is_right(files)


def test_the_same_again_changes_nothing(files: Host) -> None:
    add(files)
    for _ in range(2):
        before = state(files)
        code, said = add(files)
        assert (code, "nothing changed" in said) == (0, True), said
        assert state(files) == before
        files.commit("a fixture", everything=False)


def test_exact_bytes_are_staged_in_an_autocrlf_clone(files: Host) -> None:
    other = files.clone("crlf", "--config", "core.autocrlf=true")
    (other.root / "in").write_bytes(GIVEN)
    (other.root / "out").write_bytes(OWED)
    for words in ("staged", "nothing changed"):
        code, said = add(other, "--input", "../in", "--expected", "../out")
        assert (code, words in said) == (0, True), said
    assert other.git_bytes("show", f":{STEM}.in") == GIVEN


@pytest.mark.parametrize("stored", ["committed", "on disk only"])
def test_another_expectation_is_a_persons_edit(files: Host, stored: str) -> None:
    if stored == "committed":
        add(files)
        files.commit("a fixture", everything=False)
    else:
        files.write(f"{STEM}.expected", DIGEST + "\n")
    (files.root / "out").write_bytes(b"another answer")
    before = state(files)
    code, said = add(files)
    assert code == 75, said
    assert f"write {hashlib.sha256(b'another answer').hexdigest()} into it" in said
    assert state(files) == before


def test_half_of_a_pair_is_made_whole(files: Host) -> None:
    add(files)
    files.git("rm", "-q", "--cached", "--force", f"{STEM}.expected")
    files.remove(f"{STEM}.expected")
    assert add(files)[0] == 0
    assert lock_is_right(files)


def test_another_function_has_a_folder_of_its_own(files: Host) -> None:
    args = ("--input", "../in bin", "--expected", "../out", "--function")
    assert add(files, *args, "squeeze")[0] == 0
    folder = STEM.replace("fixtures/", "fixtures/squeeze/")
    assert files.git("show", f":{folder}.expected") == DIGEST
    assert add(files, *args, "normalise")[0] == 0  # the policy's own: at the top
    assert files.git("show", f":{STEM}.expected") == DIGEST


def test_without_a_function_in_the_policy_one_must_be_named(files: Host) -> None:
    files.replace("oracle/policy.toml", 'function = "normalise"', "")
    files.people("no function")
    assert add(files)[0] == 64
    assert add(files, "--input", "../in bin", "--expected", "../out", "--function", "normalise")[0] == 0


def test_the_answer_of_heads_own_candidate(files: Host) -> None:
    code, said = add(files, "--input", "../in bin", "--from-base", "--reason", "the spec says so")
    assert code == 0, said
    assert "because the spec says so" in said
    # Host.normalise: lower case, no blanks and no \r at the ends of a line.
    assert files.git("show", f":{STEM}.expected") == hashlib.sha256(b"one\n").hexdigest()
    assert lock_is_right(files)


def test_the_answer_comes_through_an_adapter_from_head_and_not_from_the_work_tree(files: Host) -> None:
    adapter = "def run(api, data):\n    return b'>' + api.normalise(data)\n"
    files.people("an adapter", {"oracle/fixtures/shown/run.py": adapter})
    files.write("src/parsekit/api.py", "def normalise(data):\n    return b'wrong'\n")
    code, said = add(files, "--input", "../in bin", "--function", "shown", "--from-base", "--reason", "so it is")
    assert code == 0, said
    folder = STEM.replace("fixtures/", "fixtures/shown/")
    assert files.git("show", f":{folder}.expected") == hashlib.sha256(b">one\n").hexdigest()


def test_a_candidate_without_an_answer_stores_nothing(files: Host) -> None:
    before = state(files)
    code, said = add(files, "--input", "../in bin", "--from-base", "--reason", "x", "--function", "nothing")
    assert (code, "no bytes" in said) == (75, True), said
    assert state(files) == before


@pytest.mark.parametrize(
    "args",
    [
        ("--expected", "../out"), ("--input", "../in bin"), ("--input", "../nowhere", "--expected", "../out"),
        ("--input", "..", "--expected", "../out"), ("--input", "../in bin", "--from-base"),
        ("--input", "../in bin", "--expected", "../out", "--from-base", "--reason", "x"),
        ("--input", "../in bin", "--expected", "../out", "--function", "../x"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_bad_input(files: Host, args: tuple[str, ...]) -> None:
    before = state(files)
    code, said = add(files, *args)
    assert code == 64, said
    assert state(files) == before


def test_a_dry_run_and_a_ctrl_c_change_nothing(files: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(files)
    assert add(files, "--dry", "--input", "../in bin", "--expected", "../out")[0] == 0
    assert state(files) == before

    def index(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checkout, "set_index", index)
    with pytest.raises(KeyboardInterrupt):
        add_fixture.run(str(files.repo), add_fixture.Ask("../in bin", "../out"))
    assert state(files) == before
