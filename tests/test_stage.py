"""The run folder and the stage: where a run may write, what it writes first and last, and what is exported."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from blake3 import blake3

from fence_tasks import git
from fence_tasks.files import write_whole
from fence_tasks.model import Entry, RefusedError
from fence_tasks.oracle import policy as policies
from fence_tasks.score import stage
from tests.host import policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.host import Host

ROOT = Path(__file__).resolve().parents[1]


def refused(out: Path | str, *outside: Path) -> str:
    """Why a place is refused."""
    with pytest.raises(RefusedError) as error:
        stage.begin(str(out), [str(o) for o in outside], 70)
    (finding,) = error.value.findings
    assert finding.rule == "run-folder"
    return finding.message


def digest(data: bytes) -> str:
    """BLAKE3 in hex."""
    return blake3(data).hexdigest()


# Where a run may write


def test_a_run_begins_with_a_verdict_none_in_a_folder_of_its_own(tmp_path: Path) -> None:
    run = stage.begin(str(tmp_path / "deep/run"), [], 70)
    said = json.loads((run.folder / "verdict.json").read_bytes())
    assert (said["verdict"], said["code"] != 0) == ("none", True)
    assert oct(run.folder.stat().st_mode)[-3:] == "700"
    assert {oct(p.stat().st_mode)[-3:] for p in run.folder.iterdir()} == {"600"}
    assert json.loads((run.folder / "run.json").read_bytes())["run"] == run.id


def test_a_verdict_none_names_its_run_and_cannot_be_taken_for_a_finished_one(tmp_path: Path) -> None:
    run = stage.begin(str(tmp_path / "run"), [], 70)
    assert json.loads((run.folder / "verdict.json").read_bytes())["run"] == run.id
    assert run.verdict() == {}


def test_an_earlier_run_is_emptied_and_its_records_are_gone(tmp_path: Path) -> None:
    first = stage.begin(str(tmp_path / "run"), [], 70)
    first.record("fence.json", {"findings": []})
    first.finish({"format": 1, "verdict": "pass", "code": 0}, {})
    (first.folder / "stage/head").mkdir(parents=True)
    (first.folder / "link").symlink_to(tmp_path)
    second = stage.begin(str(tmp_path / "run"), [], 70)
    assert sorted(p.name for p in second.folder.iterdir()) == ["run.json", "verdict.json"]
    assert json.loads((second.folder / "verdict.json").read_bytes())["verdict"] == "none"
    assert second.id != first.id
    assert tmp_path.is_dir()


CRASH = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from fence_tasks.score import stage
resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
try:
    stage.begin(sys.argv[2], [], 70)
except OSError:
    sys.exit(9)
"""


def test_a_pass_of_yesterday_does_not_survive_a_run_that_fails_while_it_begins(tmp_path: Path) -> None:
    run = stage.begin(str(tmp_path / "run"), [], 70)
    for name in ("a", "m", "z"):  # too deep to be removed with so few open files
        (run.folder / name / "/".join("d" * 60)).mkdir(parents=True)
    run.finish({"format": 1, "verdict": "pass", "code": 0}, {})
    done = subprocess.run([sys.executable, "-I", "-c", CRASH, str(ROOT), str(run.folder)], capture_output=True, check=False)
    assert done.returncode == 9, done.stderr
    assert json.loads((run.folder / "verdict.json").read_bytes())["verdict"] == "none"


OTHERS: dict[str, Callable[[Path], object]] = {
    "a file": lambda folder: (folder / "notes.txt").write_text("mine"),
    "a folder": lambda folder: (folder / "src").mkdir(),
    "a link": lambda folder: (folder / "link").symlink_to("/etc/passwd"),
    "a verdict without a run": lambda folder: (folder / "verdict.json").write_text("{}"),
    "a folder of the record's name": lambda folder: (folder / "run.json").mkdir(),
    "somebody's own run.json": lambda folder: (folder / "run.json").write_text('{"script": "npm start"}'),
    "a run.json that is no record": lambda folder: (folder / "run.json").write_text("[]"),
    "a run.json that is no JSON": lambda folder: (folder / "run.json").write_text("#!/bin/sh\n"),
    "a link to a run's record": lambda folder: (folder / "run.json").symlink_to(
        stage.begin(str(folder.parent / "other"), [], 70).folder / "run.json"),
}  # fmt: skip


@pytest.mark.parametrize("fill", OTHERS.values(), ids=OTHERS)
def test_a_folder_that_holds_something_else_is_refused_and_left_alone(
    tmp_path: Path, fill: Callable[[Path], object]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    fill(folder)
    before = sorted(p.name for p in folder.iterdir())
    assert "something other" in refused(folder)
    assert sorted(p.name for p in folder.iterdir()) == before


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert stage.begin(str(tmp_path / "empty"), [], 70).folder == tmp_path / "empty"


def test_a_file_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert "not a folder" in refused(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("target", ["real", "nothing", "/etc"])
def test_a_link_is_no_place_whatever_it_points_to(tmp_path: Path, target: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(target)
    assert "link" in refused(tmp_path / "link")
    assert "link" in refused(tmp_path / "link/run")
    assert list((tmp_path / "real").iterdir()) == []


@pytest.mark.parametrize("place", ["repo", "repo/run", "repo/.git/run", "repo/a/../run", "other/../repo/run", "via/deep/run"])
def test_the_judged_checkout_is_no_place(tmp_path: Path, place: str) -> None:
    repo = tmp_path / "repo"
    (repo / "deep").mkdir(parents=True)
    (tmp_path / "via").symlink_to(repo)
    assert refused(tmp_path / place, repo)
    assert not list(repo.rglob("verdict.json"))
    assert stage.begin(str(tmp_path / "repo-2"), [str(repo)], 70)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o1777], ids=oct)
def test_a_folder_that_others_may_write_to_is_no_place(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    assert "others" in refused(folder)


@pytest.mark.parametrize(("mode", "safe"), [(0o777, False), (0o770, False), (0o1777, True), (0o755, True)])
def test_a_parent_that_others_may_write_to_is_safe_only_with_the_sticky_bit(
    tmp_path: Path, mode: int, *, safe: bool
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    if safe:
        assert stage.begin(str(folder / "run"), [], 70)
    else:
        assert "others" in refused(folder / "run")
        assert "others" in refused(folder / "deep/run")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_another_accounts_folder_is_no_place(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    assert "others" in refused(folder)
    assert "others" in refused(folder / "run")


def test_the_default_is_a_numbered_folder_below_the_users_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = stage.begin("", [], 70)
    (tmp_path / "fence-tasks/runs/notes").mkdir()
    (tmp_path / "fence-tasks/runs/0007").mkdir()
    second = stage.begin("", [], 70)
    assert [r.folder.relative_to(tmp_path).as_posix() for r in (first, second)] == [
        "fence-tasks/runs/0001", "fence-tasks/runs/0008",
    ]  # fmt: skip
    assert oct((tmp_path / "fence-tasks/runs").stat().st_mode)[-3:] == "700"


def test_without_a_state_folder_the_home_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert stage.begin("", [], 70).folder == tmp_path / ".local/state/fence-tasks/runs/0001"


# Records


def test_only_this_runs_records_count(tmp_path: Path) -> None:
    run = stage.begin(str(tmp_path / "run"), [], 70)
    run.record("fence.json", {"findings": [], "run": "another"})
    assert run.read("fence.json") == {"findings": [], "run": run.id}
    (run.folder / "old.json").write_text(json.dumps({"findings": [], "run": "0" * 32}))
    (run.folder / "list.json").write_text("[]")
    (run.folder / "folder.json").mkdir()
    assert [run.read(name) for name in ("old.json", "list.json", "folder.json", "none.json")] == [None] * 4


def test_a_run_is_resumed_from_its_folder(tmp_path: Path) -> None:
    run = stage.begin(str(tmp_path / "run"), [], 70)
    assert stage.resume(str(run.folder)) == run


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[]", b"null", b'"run"', b"\xff", b'{"id": 1}'])
def test_a_folder_without_a_run_cannot_be_resumed(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(RefusedError) as error:
        stage.resume(str(tmp_path))
    assert [f.rule for f in error.value.findings] == ["run-folder"]


def test_the_last_act_is_the_verdict_and_run_json_says_that_it_is_this_runs(tmp_path: Path) -> None:
    run = stage.begin(str(tmp_path / "run"), [], 70)
    run.stage.mkdir()
    run.git_dir.mkdir()
    said: dict[str, Any] = {"format": 1, "verdict": "fail", "code": 2, "findings": []}
    run.finish(said, {"ended": 1.0})
    raw = (run.folder / "verdict.json").read_bytes()
    about = json.loads((run.folder / "run.json").read_bytes())
    assert run.verdict() == said == json.loads(raw)
    assert (about["verdict_sha256"], about["ended"]) == (hashlib.sha256(raw).hexdigest(), 1.0)
    assert not run.stage.exists()
    assert not run.git_dir.exists()


def test_a_verdict_that_somebody_puts_there_is_not_this_runs(tmp_path: Path) -> None:
    run = stage.begin(str(tmp_path / "run"), [], 70)
    run.finish({"format": 1, "verdict": "fail", "code": 2}, {})
    (run.folder / "verdict.json").write_text('{"format": 1, "verdict": "pass", "code": 0}')
    assert run.verdict() == {}


def test_equal_verdicts_of_two_runs_are_equal_bytes(tmp_path: Path) -> None:
    runs = [stage.begin(str(tmp_path / name), [], 70) for name in ("one", "two")]
    for run, order in zip(runs, ((1, 2), (2, 1)), strict=True):
        run.finish({f"key{n}": n for n in order}, {"started": run.id})
    assert len({(run.folder / "verdict.json").read_bytes() for run in runs}) == 1


def test_nobody_ever_reads_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    wanted = {bytes([65 + n]) * (200_000 + n) for n in range(4)}
    write_whole(path, b"A" * 200_000)
    seen: set[bytes] = set()
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(25):
        for data in wanted:
            write_whole(path, data)
    over.set()
    reader.join()
    assert seen <= wanted
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/kept").write_text("old")
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder", b"new")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["folder", "kept"]


# The stage


def opened(host: Host, root: Path) -> git.Store:
    """The host's store."""
    return git.Store(git.locate(str(host.repo)), root / "private")


def exported(host: Host, root: Path, text: str = "") -> dict[str, bytes]:
    """What the candidate of HEAD is made of under a policy."""
    with opened(host, root) as store:
        entries = store.listing(host.id("HEAD^{tree}"))
        stage.export_candidate(store, entries, policies.parse((text or policy()).encode()), root / "out")
    return {p.relative_to(root / "out").as_posix(): p.read_bytes() for p in (root / "out").rglob("*") if p.is_file()}


def test_the_candidate_is_production_and_neither_oracle_nor_gate_nor_also(host: Host, tmp_path: Path) -> None:
    files = exported(host, tmp_path, policy(also=["src/tests/"]))
    assert set(files) == {
        "src/bin/parsekit", "src/parsekit/__init__.py", "src/parsekit/_text.py", "src/parsekit/api.py",
        "src/parsekit/legacy.py",
    }  # fmt: skip
    assert files["src/parsekit/api.py"] == host.path("src/parsekit/api.py").read_bytes()
    assert (tmp_path / "out/src/bin/parsekit").stat().st_mode & 0o777 == 0o700


def test_a_gate_below_a_folder_of_the_candidate_stays_out(host: Host, tmp_path: Path) -> None:
    host.write("lib/src/core.py", "X = 1\n")
    host.write("lib/gate/check.py", "X = 1\n")
    host.commit("a gate inside")
    text = policy(root="lib/", imports="lib/").replace('roots = ["lib/"]', 'roots = ["lib/src/"]') + '[gate]\npaths = ["lib/gate/"]\n'
    assert set(exported(host, tmp_path, text)) == {"lib/src/core.py"}


def test_a_link_of_base_stays_out_of_the_candidate(host: Host, tmp_path: Path) -> None:
    host.link("src/answers", "../oracle/fixtures")
    host.commit("a link")
    assert not [name for name in exported(host, tmp_path) if "answers" in name]
    assert not (tmp_path / "out/src/answers").is_symlink()


def test_a_submodule_in_the_candidate_is_base_candidate(host: Host, tmp_path: Path) -> None:
    host.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},src/vendored")
    host.commit("a submodule", everything=False)
    with pytest.raises(RefusedError) as error:
        exported(host, tmp_path)
    assert [(f.rule, f.path) for f in error.value.findings] == [("base-candidate", "src/vendored")]


def test_an_lfs_pointer_in_the_candidate_is_base_candidate(host: Host, tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    host.write("src/parsekit/table.bin", pointer)
    host.commit("a pointer")
    with pytest.raises(RefusedError) as error:
        exported(host, tmp_path)
    assert [(f.rule, f.path) for f in error.value.findings] == [("base-candidate", "src/parsekit/table.bin")]


def test_a_file_that_only_mentions_lfs_is_a_file(host: Host, tmp_path: Path) -> None:
    host.write("src/parsekit/lfs.py", "# version https://git-lfs.github.com/spec/v1\n")
    host.commit("a mention")
    assert "src/parsekit/lfs.py" in exported(host, tmp_path)


def test_the_oracle_is_read_and_exported_byte_for_byte(host: Host, tmp_path: Path) -> None:
    with opened(host, tmp_path) as store:
        files = stage.read_oracle(store, store.listing(host.id("main^{tree}"), "oracle"), digest)
        stage.export_oracle(store, files, tmp_path / "oracle")
    locked = {line[66:]: line[:64] for line in host.path("oracle/LOCK").read_text().splitlines()}
    found = stage.digests(tmp_path / "oracle", digest)
    assert {name: d for name, d in found.items() if name != "LOCK"} == locked
    assert {f.path.removeprefix("oracle/"): f.blake3 for f in files} == found
    for file in files:
        raw = host.path(file.path).read_bytes()
        assert file.size == len(raw)
        assert file.sha256 == (hashlib.sha256(raw).hexdigest() if file.path.endswith(".in") else "")
        assert file.content in {raw, b""}
        assert file.content or not raw or not file.path.endswith((".expected", ".toml", ".json", "LOCK"))


def test_a_link_in_the_oracle_is_read_without_content(host: Host, tmp_path: Path) -> None:
    host.link("oracle/policy.toml", "/etc/passwd")
    host.commit("a link")
    with opened(host, tmp_path) as store:
        files = stage.read_oracle(store, store.listing(host.id("HEAD^{tree}"), "oracle"), digest)
    (link,) = [f for f in files if f.path == "oracle/policy.toml"]
    assert (link.mode, link.content, link.blake3) == ("120000", b"", "")


def linked_to_itself(path: Path) -> None:
    """Put a link to the same bytes in a file's place."""
    away = path.rename(path.parents[2] / "away")
    path.symlink_to(away)


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a changed byte": (lambda top: (top / "d/a").write_bytes(b"2"), "d/a"),
    "an emptied file": (lambda top: (top / "d/a").write_bytes(b""), "d/a"),
    "a new file": (lambda top: (top / "d/new").write_bytes(b""), "d/new"),
    "a hidden file": (lambda top: (top / ".x").write_bytes(b""), ".x"),
    "a removed file": (lambda top: (top / "d/a").unlink(), "d/a"),
    "a link to the same bytes": (lambda top: linked_to_itself(top / "d/a"), "d/a"),
    "a link to a folder": (lambda top: (top / "e").symlink_to(top / "d"), "e"),
    "a dangling link": (lambda top: (top / "e").symlink_to("nothing"), "e"),
    "a pipe": (lambda top: os.mkfifo(top / "e"), "e"),
    "a renamed file": (lambda top: (top / "d/a").rename(top / "d/b"), "d/b"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "path"), CHANGES.values(), ids=CHANGES)
def test_any_change_of_what_was_exported_is_seen(tmp_path: Path, change: Callable[[Path], object], path: str) -> None:
    top = tmp_path / "stage"
    (top / "d").mkdir(parents=True)
    (top / "d/a").write_bytes(b"1")
    before = stage.digests(top, digest)
    assert before == {"d/a": digest(b"1")}
    change(top)
    after = stage.digests(top, digest)
    assert path in {p for p in {*before, *after} if before.get(p) != after.get(p)}


def test_an_export_never_leaves_the_stage(host: Host, tmp_path: Path) -> None:
    blob = host.blob("X = 1\n")
    for number, path in enumerate(("src/../../x.py", "src/./x.py", "src//x.py")):
        with opened(host, tmp_path) as store, pytest.raises(RefusedError):
            stage.export_candidate(
                store, [Entry("100644", blob, path)], policies.parse(policy().encode()), tmp_path / f"out-{number}"
            )
    assert not list(tmp_path.rglob("x.py"))
