"""`invoke relock` on real repositories: LOCK follows the index, never the work tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fence_tasks import checkout
from fence_tasks.maintain import relock, writing
from tests.people import invoke, killed, lock_is_right, state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.host import Host

PROPERTY = "oracle/properties/second.py"


def add(host: Host, name: str = PROPERTY, content: str = "SECOND = True\n") -> None:
    host.write(name, content)
    host.git("add", "--force", name)


def test_a_staged_file_is_locked_and_a_second_run_changes_nothing(host: Host) -> None:
    add(host)
    done = invoke(host, "relock", cwd=host.path("src/parsekit"))
    assert done.code == 0, done
    assert "properties/second.py" in host.path("oracle/LOCK").read_text()
    assert lock_is_right(host)
    before = state(host)
    again = invoke(host, "relock")
    assert (again.code, "is right already" in again.out) == (0, True), again
    assert state(host) == before


def test_the_index_counts_and_what_is_not_staged_is_listed(host: Host) -> None:
    add(host)
    host.write(PROPERTY, "SECOND = 'edited later'\n")
    host.write("oracle/properties/loose.py", "LOOSE = True\n")
    host.write("oracle/properties/hidden.py", "HIDDEN = True\n")
    host.write("oracle/properties/__pycache__/x.pyc", "x")
    host.write(".git/info/exclude", "hidden.py\n")
    host.git("add", "--intent-to-add", "oracle/properties/loose.py")
    host.remove("oracle/properties/roundtrip.py")
    done = invoke(host, "relock")
    assert done.code == 0, done
    listed = [line.strip() for line in done.out.splitlines() if line.startswith("  oracle/")]
    assert listed == [f"oracle/properties/{n}.py" for n in ("hidden", "loose", "roundtrip", "second")]
    locked = host.path("oracle/LOCK").read_text()
    assert "roundtrip.py" in locked
    assert "loose.py" not in locked
    host.write(PROPERTY, "SECOND = True\n")
    host.git("checkout", "--", "oracle/properties/roundtrip.py")
    for name in ("loose.py", "hidden.py"):
        host.remove(f"oracle/properties/{name}")
    assert lock_is_right(host)


def both_add(host: Host) -> None:
    """Two branches that each add evidence at the same place of LOCK, merged: LOCK alone is in conflict."""
    for branch in ("second", "third"):
        host.branch(branch)
        host.people(branch, {f"oracle/properties/{branch}.py": f"NAME = {branch!r}\n"})
    with pytest.raises(AssertionError, match="merge"):
        host.git("merge", "--quiet", "--no-edit", "second")
    assert host.git("diff", "--name-only", "--diff-filter=U") == "oracle/LOCK"


def test_a_conflict_in_lock_is_resolved(host: Host) -> None:
    both_add(host)
    done = invoke(host, "relock")
    assert (done.code, "conflict is resolved" in done.out) == (0, True), done
    assert host.git("ls-files", "--unmerged") == ""
    assert lock_is_right(host)
    assert "properties/second.py" in host.path("oracle/LOCK").read_text()


def test_another_conflict_in_the_oracle_is_a_persons_to_resolve(host: Host) -> None:
    for branch in ("one", "two"):
        host.branch(branch)
        host.people(branch, {"oracle/properties/same.py": f"NAME = {branch!r}\n"})
    with pytest.raises(AssertionError, match="merge"):
        host.git("merge", "--quiet", "--no-edit", "one")
    before = state(host)
    done = invoke(host, "relock")
    assert (done.code, "oracle/properties/same.py" in done.err) == (75, True), done
    assert state(host) == before


def with_link(host: Host) -> None:
    host.link("oracle/properties/link.py", "roundtrip.py")
    host.git("add", "oracle/properties/link.py")


def without_oracle(host: Host) -> None:
    host.git("rm", "-rq", "oracle")


def behind_a_link(host: Host) -> None:
    host.path("oracle").rename(host.path("elsewhere"))
    host.link("oracle", "elsewhere")
    host.git("update-index", "--force-remove", "oracle/properties/roundtrip.py")


@pytest.mark.parametrize("spoil", [with_link, without_oracle, behind_a_link], ids=lambda f: f.__name__)
def test_what_no_lock_can_hold_is_refused(host: Host, spoil: Callable[[Host], None]) -> None:
    spoil(host)
    before = state(host)
    done = invoke(host, "relock")
    assert done.code == 75, done
    assert state(host) == before


def test_blobs_are_locked_whatever_autocrlf_makes_of_the_files(host: Host) -> None:
    crlf = host.clone("crlf", "--config", "core.autocrlf=true")
    assert b"\r\n" in crlf.path("oracle/policy.toml").read_bytes()
    done = invoke(crlf, "relock")
    assert done.code == 0, done
    assert crlf.git("diff", "--cached", "--name-only") == ""
    add(crlf)
    assert invoke(crlf, "relock").code == 0
    crlf.commit("a second property", everything=False)
    assert lock_is_right(crlf.clone("plain"))


def test_a_dry_run_writes_nothing(host: Host) -> None:
    add(host)
    before = state(host)
    for args, env in ((["--dry"], {}), ([], {"INVOKE_RUN_DRY": "1"})):
        done = invoke(host, "relock", *args, env=env)
        assert (done.code, "would write" in done.out) == (0, True), done
    assert state(host) == before


@pytest.mark.parametrize("when", ["file", "before the index", "after the index"])
def test_a_ctrl_c_leaves_lock_and_index_as_they_were(
    host: Host, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:  # fmt: skip
    add(host)
    before = state(host)
    original = checkout.set_index

    def index(*args: object) -> None:
        monkeypatch.setattr(checkout, "set_index", original)
        if when == "after the index":
            original(*args)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    def write(*_: object) -> None:
        raise KeyboardInterrupt

    if when == "file":
        monkeypatch.setattr(writing, "write_whole", write)
    else:
        monkeypatch.setattr(checkout, "set_index", index)
    with pytest.raises(KeyboardInterrupt):
        relock.run(str(host.repo))
    assert state(host) == before


def test_an_interrupt_while_a_conflict_is_resolved_does_not_lose_lock(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    both_add(host)

    def index(*_: object) -> None:
        raise KeyboardInterrupt

    before = state(host)
    monkeypatch.setattr(checkout, "set_index", index)
    with pytest.raises(KeyboardInterrupt):
        relock.run(str(host.repo))
    assert state(host) == before


def test_a_full_disk_is_an_answer_and_changes_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    add(host)
    before = state(host)

    def full(_: Path, __: bytes, ___: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "write_whole", full)
    with pytest.raises(OSError, match="No space"):
        relock.run(str(host.repo))
    assert state(host) == before


@pytest.mark.parametrize("point", ["rename", "before the index", "after the index"])
def test_a_kill_at_any_point_leaves_one_whole_lock_or_the_other(host: Host, point: str) -> None:
    add(host)
    old = host.path("oracle/LOCK").read_bytes()
    killed(host, "relock.run('.')", point, 1)
    now = host.path("oracle/LOCK").read_bytes(), host.git_bytes("show", ":oracle/LOCK")
    assert [lock == old for lock in now] == [point == "rename", point != "after the index"]
    assert all(lock == old or (lock.startswith(old[:64]) and lock.count(b"\n") == old.count(b"\n") + 1) for lock in now)
    for path in host.path("oracle").glob(".writing-*"):
        path.unlink()
    assert invoke(host, "relock").code == 0
    assert lock_is_right(host)
