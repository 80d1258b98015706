"""`invoke init-split` on real repositories: what it stages, what it refuses, and how it comes back from a fault."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fence_tasks import checkout, files
from fence_tasks.maintain import init_split, writing
from fence_tasks.model import RefusedError
from fence_tasks.oracle import policy
from tests.host import KIT, Host, plain
from tests.people import command, environment, invoke, killed, lock_is_right, refusal, state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ARGS = ("--production", "src/", "--api", "parsekit.api", "--function", "normalise")
ASK = init_split.Ask("repo", ("src/",), (), "parsekit.api", "normalise")
OURS = ["noxfile.py", "oracle/.gitattributes", "oracle/LOCK", "oracle/fixtures/README.md", "oracle/frozen/manifest.json",
        "oracle/policy.toml", "oracle/properties/README.md", "tasks.py"]  # fmt: skip


@pytest.fixture
def legacy(host: Host) -> Host:
    """A host that nobody has fenced yet."""
    host.checkout("legacy")
    return host


def split(host: Host, *args: str, into: str = ".", env: dict[str, str] | None = None) -> tuple[int, str]:
    done = invoke(host, "init-split", "--into", into, *(args or ARGS), env=env)
    return done.code, done.out + done.err


def staged(host: Host) -> list[str]:
    return host.git("diff", "--cached", "--name-only", "-z", "--no-renames", "HEAD").rstrip("\0").split("\0")


def test_it_stages_exactly_its_files_and_commits_nothing(legacy: Host) -> None:
    head = legacy.id()
    code, said = split(legacy)
    assert code == 0, said
    mine = [p for p in staged(legacy) if not p.startswith("fence_tasks/")]
    kit = {p.removeprefix("fence_tasks/") for p in staged(legacy) if p not in mine}
    assert mine == OURS
    assert kit == {*files.kit_files(), "VENDORED.toml"}
    assert legacy.git("status", "--porcelain") == "\n".join(f"A  {p}" for p in staged(legacy))
    assert legacy.id() == head
    assert f"git -C {legacy.repo} commit -m 'Adopt the path fence'" in said
    assert {line.split()[0] for line in legacy.git("ls-files", "--stage", *OURS, "fence_tasks").split("\n")} == {
        "100644"
    }
    assert lock_is_right(legacy)


def test_the_policy_says_what_was_typed_and_what_this_version_can_do(legacy: Host) -> None:
    assert split(legacy, *ARGS, "--also", "tests/,CHANGELOG.md", "--also", "docs/")[0] == 0
    rules = policy.parse(legacy.path("oracle/policy.toml").read_bytes())
    assert (rules.production.roots, rules.production.also) == (("src/",), ("tests/", "CHANGELOG.md", "docs/"))
    assert (rules.candidate.path, rules.candidate.imports, rules.candidate.api) == (
        ("src/",),
        ("src/",),
        "parsekit.api",
    )
    assert (rules.candidate.isolation, rules.skips.unconditional) == ("confined", "report")
    assert rules.fixtures.function == "normalise"
    assert rules.gate.paths == ("fence_tasks/", "noxfile.py", "tasks.py", ".github/")


def test_two_hosts_draw_two_seeds(legacy: Host) -> None:
    seeds = set()
    for _ in range(2):
        init_split.run(str(legacy.root), ASK)
        seeds.add(tomllib.loads(legacy.path("oracle/policy.toml").read_text())["properties"]["seed"])
        legacy.git("reset", "--quiet", "--hard")
    assert len(seeds) == 2


def test_the_vendored_gate_is_the_running_one_and_judges(legacy: Host) -> None:
    assert split(legacy)[0] == 0
    base = legacy.commit("adopt", everything=False)
    legacy.branch("patch", base)
    legacy.write("src/parsekit/new.py", "")
    head = legacy.commit("a patch")
    gate = [sys.executable, "-I", str(legacy.path("fence_tasks/__main__.py"))]
    run = subprocess.run([*gate, "fence", base, head, "--out", str(legacy.root / "run")], cwd=legacy.repo,
                         env=plain(legacy.root), capture_output=True, check=False)  # fmt: skip
    assert run.returncode == 0, run.stderr.decode()
    assert b"gate-" not in run.stdout


@pytest.mark.parametrize("commit", [False, True], ids=["staged", "committed"])
def test_again_on_its_own_output_changes_nothing(legacy: Host, commit: bool) -> None:  # noqa: FBT001
    assert split(legacy)[0] == 0
    if commit:
        legacy.commit("adopt", everything=False)
        legacy.write("scratch", "a dirty tree does not matter then")
    before = state(legacy)
    code, said = split(legacy)
    assert (code, "fenced already" in said) == (0, True), said
    assert split(legacy, "--production", "src")[0] == 0
    assert state(legacy) == before


def test_the_printed_undo_takes_away_exactly_its_files(legacy: Host) -> None:
    before = state(legacy)
    _, said = split(legacy)
    undo = next(line for line in said.splitlines() if line.startswith("undo:")).removeprefix("undo:").strip()
    subprocess.run(shlex.split(undo), check=True, cwd="/", env=environment(legacy), capture_output=True)
    assert state(legacy) == before


def older(host: Host) -> None:
    host.write("oracle/policy.toml", "format = 0\n")
    host.commit("an older fence")


def newer(host: Host) -> None:
    assert split(host)[0] == 0
    host.replace("oracle/policy.toml", "format = 1", "format = 2")
    host.commit("a newer fence")


def other_kit(host: Host) -> None:
    assert split(host)[0] == 0
    host.replace("fence_tasks/__init__.py", "0.1.0", "0.0.9")
    host.commit("an older kit")


def other_roots(host: Host) -> None:
    assert split(host, "--production", "src/parsekit/", "--api", "parsekit")[0] == 0
    host.commit("fenced otherwise")


def conflict(host: Host) -> None:
    host.branch("other", "legacy")
    host.write("README.md", "one\n")
    host.commit("one")
    host.checkout("legacy")
    host.write("README.md", "two\n")
    host.commit("two")
    with pytest.raises(AssertionError, match="merge"):
        host.git("merge", "--quiet", "other")


def staged_edit(host: Host) -> None:
    host.write("README.md", "x")
    host.git("add", "README.md")


def ignored(host: Host) -> None:
    host.write(".gitignore", "oracle/\n")
    host.commit("habits")
    host.write("oracle/LOCK", "x")


def link(host: Host) -> None:
    host.link("oracle", "src")
    host.commit("a link")


def holds(name: str, *, committed: bool = True) -> Callable[[Host], None]:
    def spoil(host: Host) -> None:
        host.write(name, "x")
        if committed:
            host.commit(f"{name} was here first")

    return spoil


IN_THE_WAY: dict[str, Callable[[Host], None]] = {
    "an untracked file": holds("scratch.py", committed=False),
    "an edit": holds("README.md", committed=False),
    "a staged edit": staged_edit,
    "a deletion": lambda h: h.remove("README.md"),
    "a conflict": conflict,
    "an oracle of an older format": older,
    "an oracle of a newer format": newer,
    "another kit": other_kit,
    "a fence with other roots": other_roots,
    "an oracle of somebody else's": holds("oracle/tables.sql"),
    "an ignored oracle": ignored,
    "a link named oracle": link,
    "a file named oracle": holds("oracle"),
    "a folder in another case": holds("Oracle/x"),
    "a module of the kit's name": holds("fence_tasks/__init__.py"),
}


@pytest.mark.parametrize("case", IN_THE_WAY)
def test_what_is_in_the_way_is_refused_and_nothing_changes(legacy: Host, case: str) -> None:
    IN_THE_WAY[case](legacy)
    before = state(legacy)
    code, said = refusal(lambda: init_split.run(str(legacy.root), ASK))
    assert code == 75, said
    assert state(legacy) == before


def test_a_repository_without_a_commit_is_refused(legacy: Host) -> None:
    legacy.git("init", "--quiet", legacy.root / "new")
    assert split(legacy, into="../new")[0] == 75


BAD = {
    "the oracle as a root": {"production": ("oracle/",)},
    "CI as a root": {"production": (".github/",)},
    "a root that is not there": {"production": ("nowhere/",)},
    "the repository as a root": {"production": ("./",)},
    "no root": {"production": ()},
    "a gate file as also": {"also": ("tasks.py",)},
    "also outside": {"also": ("../x",)},
    "a module that is not there": {"api": "nothing"},
    "a function that is no name": {"function": "a b"},
    "no repository named": {"into": ""},
}


def test_bad_roots_and_names_are_bad_input(legacy: Host) -> None:
    before = state(legacy)
    for what, words in BAD.items():
        ask = replace(ASK, **words)  # type: ignore[arg-type]
        assert refusal(lambda ask=ask: init_split.run(str(legacy.root), ask))[0] == 64, what  # type: ignore[misc]
    assert split(legacy, "--production", "oracle/")[0] == 64
    assert state(legacy) == before


def test_a_folder_without_a_repository_or_a_work_tree_is_69(legacy: Host) -> None:
    (legacy.root / "plain").mkdir()
    legacy.git("clone", "--quiet", "--bare", legacy.repo.as_uri(), legacy.root / "bare.git")
    for into in ("plain", "nowhere", "bare.git"):
        assert refusal(lambda into=into: init_split.run(str(legacy.root), replace(ASK, into=into)))[0] == 69  # type: ignore[misc]


def test_existing_noxfile_and_tasks_are_left_alone_and_served(legacy: Host) -> None:
    own = {"noxfile.py": "import nox\n", "tasks/__init__.py": "from invoke import task\n"}
    for name, text in own.items():
        legacy.write(name, text)
    legacy.commit("tasks of our own")
    code, said = split(legacy)
    assert code == 0, said
    assert {p for p in staged(legacy) if not p.startswith("fence_tasks/")} == {*OURS} - {"noxfile.py", "tasks.py"}
    assert {name: legacy.path(name).read_text() for name in own} == own
    assert "nox -f fence_tasks/noxfile.py -s score" in said
    assert "invoke -r fence_tasks --list" in said
    rules = policy.parse(legacy.path("oracle/policy.toml").read_bytes())
    assert {"noxfile.py", "tasks.py", "tasks/", "fence_tasks/"} <= set(rules.gate.paths)
    listed = subprocess.run([*command()[:3], "-r", "fence_tasks", "--list"], cwd=legacy.repo, check=False,
                            env=environment(legacy), capture_output=True)  # fmt: skip
    assert b"freeze-case" in listed.stdout, listed.stderr


def test_the_thin_files_serve_nox_and_invoke(legacy: Host) -> None:
    assert split(legacy)[0] == 0
    python = command()[0]
    tasks = subprocess.run([python, "-m", "invoke", "--list"], cwd=legacy.path("src"), env=environment(legacy),
                           capture_output=True, check=False)  # fmt: skip
    assert b"relock" in tasks.stdout, tasks.stderr
    nox = subprocess.run([python, "-m", "nox", "--list"], cwd=legacy.repo, env=environment(legacy), capture_output=True,
                         check=False)  # fmt: skip
    assert b"score" in nox.stdout, nox.stderr


def test_this_repository_has_the_thin_tasks_file_that_it_gives_away() -> None:
    assert (KIT.parent / "tasks.py").read_bytes() == (KIT / "templates/tasks.py.txt").read_bytes()


def test_a_subfolder_of_a_linked_work_tree_with_blanks_and_accents(legacy: Host) -> None:
    place = legacy.root / "ein Baum mit é und ' "
    legacy.git("worktree", "add", "--quiet", "-b", "adopt", place, "legacy")
    before = state(legacy)
    done = invoke(legacy, "init-split", "--into", "parsekit", *ARGS, cwd=place / "src")
    assert done.code == 0, done
    listed = legacy.git("-C", place, "status", "--porcelain", "-uall").split("\n")
    assert {line[:2] for line in listed} == {"A "}
    assert f"git -C {shlex.quote(str(place))} commit" in done.out
    assert state(legacy) == before


def test_bytes_are_exact_whatever_attributes_and_ignore_rules_say(legacy: Host) -> None:
    legacy.write(".gitattributes", "* text=auto eol=crlf ident\n")
    legacy.write(".gitignore", "oracle/\n*.toml\n*.txt\ntasks.py\n")
    legacy.commit("odd habits")
    assert split(legacy)[0] == 0
    for path, data in files.kit_files().items():
        assert legacy.git_bytes("show", f":fence_tasks/{path}") == data
    assert lock_is_right(legacy)
    legacy.commit("adopt", everything=False)
    assert legacy.git("status", "--porcelain") == ""
    other = legacy.clone("crlf", "--config", "core.autocrlf=true", "--branch", "legacy")
    assert other.git("status", "--porcelain") == ""
    assert other.path("oracle/LOCK").read_bytes() == legacy.path("oracle/LOCK").read_bytes()
    assert split(other)[0] == 0


@pytest.mark.parametrize("dry", ["--dry-run", "--dry", "variable"])
def test_a_dry_run_writes_nothing(legacy: Host, dry: str) -> None:
    before = state(legacy)
    args, env = [*command("init-split", "--into", ".", *ARGS)], environment(legacy)
    if dry == "variable":
        env["INVOKE_RUN_DRY"] = "1"
    else:
        args.append(dry)
    done = subprocess.run(args, cwd=legacy.repo, env=env, capture_output=True, check=False)
    assert (done.returncode, b"oracle/LOCK" in done.stdout) == (0, True), done
    assert state(legacy) == before


def test_warnings_only_cannot_make_a_refusal_a_success(legacy: Host) -> None:
    legacy.write("scratch", "x")
    assert split(legacy, env={"INVOKE_RUN_WARN": "1"})[0] == 75


def test_without_blake3_it_says_what_to_install(legacy: Host) -> None:
    # A stand-in that cannot be imported, found first.
    (legacy.root / "site").mkdir()
    (legacy.root / "site/blake3.py").write_text("raise ImportError\n")
    code, said = split(legacy, env={"PYTHONPATH": str(legacy.root / "site")})
    assert (code, "pip install" in said) == (69, True), said


@pytest.mark.parametrize("nth", [1, 7, 40, "index"])
def test_a_ctrl_c_midway_leaves_nothing(legacy: Host, monkeypatch: pytest.MonkeyPatch, nth: int | str) -> None:
    before = state(legacy)
    calls = 0

    def write(path: Path, data: bytes, mode: int) -> None:
        nonlocal calls
        calls += 1
        if calls == nth:
            raise KeyboardInterrupt
        files.write_whole(path, data, mode)

    def index(*args: object) -> None:
        # The signal comes when git has written the index already, and only this once.
        monkeypatch.setattr(checkout, "set_index", original)
        original(*args)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    original = checkout.set_index
    monkeypatch.setattr(writing, "write_whole", write)
    if nth == "index":
        monkeypatch.setattr(checkout, "set_index", index)
    with pytest.raises(KeyboardInterrupt):
        init_split.run(str(legacy.root), ASK)
    assert state(legacy) == before


def test_an_index_that_another_git_holds_is_left_to_it(legacy: Host) -> None:
    before = state(legacy)
    lock = legacy.path(".git/index.lock")
    lock.touch()
    with pytest.raises(RefusedError, match="holds the index"):
        init_split.run(str(legacy.root), ASK)
    lock.unlink()
    assert state(legacy) == before


@pytest.mark.parametrize("point", ["rename 1", "rename 30", "rename last", "before the index", "after the index"])
def test_a_kill_at_any_point_leaves_whole_files_and_one_index_or_the_other(legacy: Host, point: str) -> None:
    index = legacy.git("ls-files", "--stage")
    call = "init_split.run('.', init_split.Ask('.', ('src/',)))"
    word, _, number = point.partition(" ")
    last = len(files.kit_files()) + len(OURS) + 1
    killed(legacy, call, *((word, last if number == "last" else int(number)) if word == "rename" else (point, 0)))
    for path, data in files.kit_files().items():
        there = legacy.path(f"fence_tasks/{path}")
        assert not there.exists() or there.read_bytes() == data
    for name in OURS:
        assert not legacy.path(name).exists() or legacy.path(name).read_bytes().endswith(b"\n")
    if point == "after the index":
        assert len(staged(legacy)) == last
        assert lock_is_right(legacy)
    else:
        assert legacy.git("ls-files", "--stage") == index
