"""The command line: what a person or a CI job types, and how each way of typing it ends."""

from __future__ import annotations

import json
import os
import pty
import py_compile
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fence_tasks import __version__, cli
from fence_tasks.rules import Code
from tests.host import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.host import Host

TABLE = {int(code) for code in Code}
VERBS = ("fence", "score", "explain", "landed", "report")
STEPS = ("score-fence", "score-candidate", "score-fixtures", "score-properties", "score-verdict", "scorer")


def ran(host: Host, *args: str | Path, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """The gate's command line, started as the documentation says."""
    gate = host.gate / "fence_tasks/__main__.py"
    return subprocess.run(
        [sys.executable, "-I", str(gate), *map(str, args)], cwd=cwd or host.repo, env={**plain(host.root), **env},
        capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture
def here(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """The host, with the tests' own process in its repository."""
    monkeypatch.chdir(host.repo)
    monkeypatch.setenv("HOME", str(host.root / "home"))
    for name in cli.CI_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return host


def proposed(host: Host, path: str = "src/parsekit/legacy.py", content: str = '"""New."""\n') -> str:
    """A branch `agent` with one changed file; answers its commit. Main stays checked out."""
    host.branch("agent")
    host.write(path, content)
    oid = host.commit("a patch")
    host.checkout("main")
    return oid


# Help, version, usage


@pytest.mark.parametrize("verb", [*VERBS, *STEPS])
def test_every_verb_has_help_with_an_example_that_can_be_typed(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main([verb, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    found = re.search(r"example: python -I fence_tasks/__main__\.py (.+)$", text)
    assert found, text
    example = found.group(1).split()
    assert example[0] == verb
    if verb != "score-candidate":  # its example leaves out what Nox adds
        assert cli._parser().parse_args(example).run


def test_the_overall_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--help"])
    text = capsys.readouterr().out
    assert [verb for verb in VERBS if not re.search(rf"^ +{verb} ", text, re.MULTILINE)] == []


#: Verbs whose 0 is an answer, and a question where a branch, a path or a commit is called like the option for help.
ANSWERS: tuple[list[str], ...] = (
    ["fence", "main", "-h"], ["fence", "main", "--help"], ["fence", "--help"], ["score", "--help"],
    ["score", "--base", "main", "--head", "agent", "-h"], ["explain", "-h"], ["explain", "oracle/LOCK", "--help"],
    ["landed", "--verdict", "x.json", "-h"],
)  # fmt: skip


@pytest.mark.parametrize("args", ANSWERS, ids=" ".join)
def test_a_help_page_is_never_taken_for_an_answer(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(args)
    assert "usage:" in capsys.readouterr().out
    assert code != 0


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


USAGE: tuple[list[str], ...] = (
    [], ["unknown"], [""], ["--unknown"], ["fence"], ["fence", "main"], ["fence", "main", "agent", "more"],
    ["fence", "main", "agent", "--unknown"], ["fence", "main", "agent", "--out"], ["fence", "main", "agent", "--on", "main"],
    ["fence", "", "agent"], ["fence", "main", ""], ["fence", "main", "agent", "--onto", ""], ["fence", "main", "-agent"],
    ["fence", "main", "agent", "--onto="], ["fence", "main", "agent", "--out", ""], ["fence", "main", "agent", "--repo", ""],
    ["fence", "main", "agent", "--seed", "1"], ["score", "main", "agent"], ["score", "--base", "main"], ["score", "--head", "agent"],
    ["score", "--base", "main", "--head"], ["score", "--base", "", "--head", "agent"], ["score", "--base=main", "--head="],
    ["score", "--bas", "main", "--head", "agent"], ["score", "--onto", "main"], ["score", "--self-check", "--base", "main"],
    ["score", "--self-check", "--base", "main", "--head", "agent"], ["score", "--base", "main", "--head", "agent", "--seed", "x"],
    ["score", "--base", "main", "--head", "agent", "--seed", "-1"], ["score", "--adopt"],
    ["score", "--base", "main", "--head", "agent", "--seed", str(2**64)], ["explain"], ["explain", "--staged", "src/x"],
    ["explain", "src/x", "--base"], ["explain", "src/x", "--base", ""], ["landed"], ["landed", "HEAD"], ["landed", "--verdict", "x"],
    ["landed", "HEAD", "--verdict", "none.json"], ["landed", "HEAD", "--verdict", "README.md"], ["landed", "HEAD", "--verdict", ""],
    ["report"], ["report", "none.json"], ["report", "README.md"], ["report", ""], ["report", "src"],
    ["report", "x.json", "--format", "pdf"], ["score-fence"], ["score-fence", "--run"], ["scorer", "tea", "job"], ["scorer"],
)  # fmt: skip


@pytest.mark.parametrize("args", USAGE, ids=lambda args: " ".join(args) or "nothing")
@pytest.mark.usefixtures("here")
def test_what_cannot_be_read_is_64_and_never_pythons_or_argparses_own_code(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(args) == 64
    said = capsys.readouterr()
    assert said.err.startswith("NONE 64  usage  ")
    assert "  -> " in said.err
    assert said.out == ""


def test_the_process_itself_ends_with_64(host: Host) -> None:
    for args in ((), ("fence",), ("report", "none.json")):
        done = ran(host, *args)
        assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (64, "", False)


@pytest.mark.parametrize("variable", cli.CI_VARIABLES)
def test_where_ci_is_set_a_self_check_must_be_asked_for(
    here: Host, variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert here
    monkeypatch.setenv(variable, "1")
    assert cli.main(["score"]) == 64
    assert "--self-check" in capsys.readouterr().err


# fence


def test_a_refusal_is_printed_with_a_command_that_asks_the_same_again(host: Host) -> None:
    proposed(host, "oracle/LOCK", "x\n")
    result = host.fence("main", "agent")
    assert result.code == 2
    again = re.search(r"Again: nox -s score -- --base (\S+) --head (\S+)", result.stdout)
    assert again, result.stdout
    assert host.fence(*again.groups()).code == 2, f"typed again: {again.group()}"


def test_a_branch_named_like_a_command_is_printed_so_that_pasting_it_runs_nothing(host: Host) -> None:
    proposed(host, "oracle/LOCK", "x\n")
    name = "x;touch${IFS}owned;$(touch${IFS}owned)&'`touch${IFS}owned`\""
    host.git("update-ref", f"refs/heads/{name}", "agent")
    result = host.fence("main", name)
    assert result.code == 2, str(result)
    again = re.search(r"Again: (.+)$", result.stdout, re.MULTILINE)
    assert again, result.stdout
    assert shlex.split(again.group(1)) == ["nox", "-s", "score", "--", "--base", "main", "--head", name]


def test_the_last_line_says_where_the_verdict_is(host: Host) -> None:
    proposed(host)
    result = host.fence("main", "agent")
    assert result.code == 0, str(result)
    place = re.search(r"(/\S+/verdict\.json)$", result.stdout.splitlines()[-1])
    assert place
    assert json.loads(Path(place.group()).read_bytes()) == result.verdict


def test_quiet_prints_the_first_line_only(host: Host) -> None:
    proposed(host, "README.md")
    result = host.fence("main", "agent", "--quiet")
    assert result.code == 2
    assert re.fullmatch(r"FAIL 2  outside-roots  .+\n", result.stdout)


def test_a_relative_repository_and_run_folder_are_relative_to_the_caller(host: Host) -> None:
    proposed(host)
    done = ran(host, "fence", "main", "agent", "--repo", "../repo", "--out", "../run-x", cwd=host.path("src"))
    assert done.returncode == 69, "src/../run-x lies in the checkout"
    done = ran(host, "fence", "main", "agent", "--repo", "repo", "--out", "run-x", cwd=host.root)
    assert (done.returncode, (host.root / "run-x/verdict.json").exists()) == (0, True)


@pytest.mark.parametrize("question", [("main", "main"), ("main", ""), ("main", "agent")])
def test_nothing_is_ever_written_into_the_judged_checkout(host: Host, question: tuple[str, str]) -> None:
    proposed(host)
    before = host.git("status", "--porcelain", "--ignored")
    done = ran(host, "fence", *question, "--out", "run")
    assert done.returncode in {64, 69}
    assert host.git("status", "--porcelain", "--ignored") == before


def test_a_pipe_that_closes_early_ends_in_a_code_of_the_table(host: Host) -> None:
    proposed(host, "README.md")
    reader, writer = os.pipe()
    os.close(reader)
    gate = host.gate / "fence_tasks/__main__.py"
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-I", gate, "fence", "main", "agent", "--out", host.root / "run"], cwd=host.repo,
            env=plain(host.root), stdout=closed, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode in TABLE - {0}, done.stderr


def test_a_full_disk_behind_the_output_ends_in_a_code_of_the_table(host: Host) -> None:
    proposed(host)
    gate = host.gate / "fence_tasks/__main__.py"
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-I", gate, "fence", "main", "agent", "--out", host.root / "run"], cwd=host.repo,
            env=plain(host.root), stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode in TABLE, done.stderr


# explain


EXPLAINED: tuple[tuple[list[str], int, str], ...] = (
    (["src/new.py"], 0, "allowed  src/new.py"), (["src/parsekit/api.py", "src/x/y.py"], 0, "allowed  src/x/y.py"),
    (["src/tasks.py"], 0, "reserved-note"), (["oracle/LOCK"], 2, "oracle-touched"), (["fence_tasks/cli.py"], 2, "gate-touched"),
    (["src/new.py", "README.md"], 2, "outside-roots"), (["repro.py"], 2, "stray-file"), (["ORACLE/x"], 2, "protected-alias"),
    (["src/tests/test_parse_timeout.py"], 2, "frozen-path"), (["src/parsekit/API.py"], 2, "name-clash"),
    (["src/../oracle/LOCK"], 2, "denied"), (["/etc/passwd"], 2, "denied"), (["src/::error::x"], 2, "name-windows"),
    (["--", "-rf"], 2, "name-dash"), (["src/a\x1b[31mb"], 2, "name-control"), (["src/caf\udce9.py"], 2, "name-not-utf8"),
)  # fmt: skip


@pytest.mark.parametrize(("paths", "code", "says"), EXPLAINED, ids=[ascii(p) for p, _, _ in EXPLAINED])
@pytest.mark.usefixtures("here")
def test_explain_says_for_each_path_whether_a_proposer_may_change_it(
    paths: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", *paths]) == code
    text = capsys.readouterr().out
    assert says in text
    assert text.count("allowed  ") + text.count("denied   ") == len([p for p in paths if p != "--"])
    assert "\x1b" not in text


def test_explain_names_a_remedy_for_what_is_denied(here: Host, capsys: pytest.CaptureFixture[str]) -> None:
    assert here
    cli.main(["explain", "src/ok.py", "repro.py"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "allowed  src/ok.py"
    assert lines[1] == "denied   repro.py"
    assert lines[3].strip().startswith("-> ")


def staged_nothing(host: Host) -> None:
    assert host


def staged_allowed(host: Host) -> None:
    host.write("src/new.py", "X = 1\n")
    host.remove("src/parsekit/legacy.py")
    host.git("add", "--all")
    host.write("README.md", "not staged\n")


def staged_denied(host: Host) -> None:
    host.write("src/new.py", "X = 1\n")
    host.remove("oracle/properties/roundtrip.py")
    host.git("add", "--all")
    host.git("checkout", "HEAD", "--", "src")
    host.git("reset", "--quiet", "--", "src")


def staged_link(host: Host) -> None:
    host.link("src/parsekit/legacy.py", "/etc/passwd")
    host.git("add", "--all")


def staged_rename(host: Host) -> None:
    host.git("mv", "oracle/properties/roundtrip.py", "src/rt.py")


STAGED: tuple[tuple[Callable[[Host], None], int, str], ...] = (
    (staged_nothing, 0, ""), (staged_allowed, 0, "allowed  src/new.py"), (staged_denied, 2, "oracle-touched"),
    (staged_link, 2, "link-added"), (staged_rename, 2, "oracle-touched"),
)  # fmt: skip


@pytest.mark.parametrize(("stage", "code", "says"), STAGED, ids=[s.__name__ for s, _, _ in STAGED])
def test_explain_judges_what_is_staged(
    here: Host, stage: Callable[[Host], None], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stage(here)
    assert cli.main(["explain", "--staged"]) == code
    text = capsys.readouterr().out
    assert says in text
    assert "README.md" not in text


def test_explain_works_from_a_subfolder_and_by_another_policy(
    here: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(here.path("src"))
    assert cli.main(["explain", "src/x.py"]) == 0
    assert cli.main(["explain", "src/x.py", "--base", "legacy"]) == 75
    assert cli.main(["explain", "src/x.py", "--base", "none"]) == 64
    assert cli.main(["explain", "src/x.py", "--repo", str(here.root / "home")]) == 69
    assert "not-adopted" in capsys.readouterr().err


def test_explain_by_a_broken_policy_is_65(here: Host, capsys: pytest.CaptureFixture[str]) -> None:
    here.people("a broken policy", {"oracle/policy.toml": "format = 1\n[production]\nroots = 7\n"})
    assert cli.main(["explain", "src/x.py"]) == 65
    assert "production.roots" in capsys.readouterr().err


def test_explain_and_fence_answer_in_a_bare_repository(host: Host) -> None:
    proposed(host)
    bare = host.clone("server", "--bare")
    assert ran(host, "explain", "src/x.py", "oracle/x", "--base", "main", cwd=bare.repo).returncode == 2
    assert ran(host, "explain", "src/x.py", "--base", "main", cwd=bare.repo).returncode == 0
    assert bare.fence("main", "agent").code == 0


def test_an_argument_that_is_not_utf8_is_answered_and_printed(host: Host) -> None:
    gate = host.gate / "fence_tasks/__main__.py"
    for extra in ({}, {"LANG": "C", "LC_ALL": "C"}):
        done = subprocess.run([sys.executable, "-I", gate, "explain", b"src/caf\xe9.py", "src/\u00e9"], cwd=host.repo,
                              env={**plain(host.root), **extra}, capture_output=True, check=False)  # fmt: skip
        assert (done.returncode, b"Traceback" in done.stderr) == (2, False)
        assert b"name-not-utf8" in done.stdout


# landed and report


@pytest.fixture
def judged(here: Host) -> Host:
    """A host whose branch `agent` was judged into `root/run-1`, with main checked out."""
    proposed(here)
    here.write("CHANGELOG.md", "# Changes\n")
    here.commit("main goes on")
    result = here.fence("main", "agent")
    assert result.code == 0, str(result)
    return here


def landed(host: Host, commit: str, name: str = "run-1") -> int:
    """What `landed` answers."""
    return cli.main(["landed", commit, "--verdict", str(host.root / name / "verdict.json")])


def test_exactly_the_judged_tree_has_landed_by_merge_or_squash(
    judged: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    start = judged.id()
    judged.merge("agent")
    assert landed(judged, "HEAD") == landed(judged, judged.id()) == landed(judged, "main") == 0
    judged.git("tag", "--annotate", "-m", "released", "v1")
    assert landed(judged, "v1") == 0
    judged.git("reset", "--quiet", "--hard", start)
    judged.git("merge", "--quiet", "--squash", "agent")
    assert landed(judged, judged.commit("squashed")) == 0
    assert judged.id("HEAD^{tree}") in capsys.readouterr().out


def test_another_tree_has_not_landed(judged: Host) -> None:
    assert landed(judged, "main") == landed(judged, "agent") == 1
    judged.merge("agent")
    judged.write("src/parsekit/legacy.py", "evil\n")
    assert landed(judged, judged.commit("one more")) == 1


def test_a_verdict_that_is_no_pass_has_landed_nowhere(judged: Host, capsys: pytest.CaptureFixture[str]) -> None:
    judged.merge("agent")
    file = judged.root / "run-1/verdict.json"
    said = json.loads(file.read_bytes())
    for word in ("fail", "none"):
        file.write_text(json.dumps({**said, "verdict": word, "code": 2}))
        assert landed(judged, "HEAD") == 1
    assert "the verdict is fail 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    "said", [{}, [], None, {"format": 1}, {"format": 2, "verdict": "pass", "merge_result": ""}, {"format": 1, "merge_result": ""},
             {"format": 1, "verdict": "none", "code": 70, "findings": [], "run": "0" * 32}],
    ids=str,
)  # fmt: skip
def test_what_is_no_finished_verdict_is_bad_input(here: Host, said: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = here.root / "verdict.json"
    file.write_text(json.dumps(said))
    assert cli.main(["landed", "HEAD", "--verdict", str(file)]) == 64
    assert cli.main(["report", str(file)]) == 64
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("commit", ["nothing", "HEAD~0", "1" * 40])
def test_a_commit_that_is_not_there_is_64(judged: Host, commit: str) -> None:
    assert landed(judged, commit) == 64


def test_a_report_shows_the_same_verdict_again(judged: Host, capsys: pytest.CaptureFixture[str]) -> None:
    file = judged.root / "run-1/verdict.json"
    assert cli.main(["report", str(file)]) == 0
    assert capsys.readouterr().out.startswith("PASS 0")
    assert cli.main(["report", str(file), "--format", "json"]) == 0
    assert capsys.readouterr().out == file.read_text()


def test_a_report_of_a_failure_is_0_and_says_fail(host: Host) -> None:
    proposed(host, "oracle/LOCK", "x\n")
    assert host.fence("main", "agent").code == 2
    for form in ("text", "json"):
        done = ran(host, "report", host.root / "run-1/verdict.json", "--format", form)
        assert done.returncode == 0
        assert "oracle-touched" in done.stdout
        assert done.stdout.isascii()


# Colour, and how the gate is started


def on_a_terminal(host: Host, args: Sequence[str | Path], **env: str) -> bytes:
    """What the gate writes where its output is a terminal."""
    ours, theirs = pty.openpty()
    gate = str(host.gate / "fence_tasks/__main__.py")
    subprocess.run([sys.executable, "-I", gate, *map(str, args)], cwd=host.repo, env={**plain(host.root), "TERM": "xterm", **env},
                   stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, check=False, timeout=120)  # fmt: skip
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65536):
            written += chunk
    except OSError:  # Linux says so where the other end is closed
        pass
    os.close(ours)
    return written


def test_colour_is_for_terminals_and_no_color_is_obeyed(host: Host) -> None:
    proposed(host, "oracle/LOCK", "x\n")
    ask = ["fence", "main", "agent", "--out", str(host.root / "run")]
    assert b"\x1b[1;31mFAIL\x1b[0m" in on_a_terminal(host, ask)
    assert b"\x1b[1;31mFAIL\x1b[0m" in on_a_terminal(host, ask, NO_COLOR="")
    assert b"\x1b" not in on_a_terminal(host, ask, NO_COLOR="1")
    assert b"\x1b" not in on_a_terminal(host, ["fence"], NO_COLOR="1")
    assert "\x1b" not in ran(host, *ask).stdout


@pytest.mark.parametrize("options", [[], ["-s"], ["-E"], ["-P"], ["-sE"]], ids=" ".join)
def test_a_start_that_is_not_isolated_is_refused_before_anything_is_loaded(host: Host, options: list[str]) -> None:
    gate = str(host.gate / "fence_tasks/__main__.py")
    done = subprocess.run([sys.executable, *options, gate, "--version"], cwd=host.repo, capture_output=True, text=True,
                          env={**plain(host.root), "PYTHONWARNINGS": "default"}, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (64, "")
    assert "python -I fence_tasks/__main__.py" in done.stderr


def planted(kit: Path, marker: Path) -> None:
    """Put traps where Python looks for modules: compiled ones beside every module, and names of the standard library."""
    trap = kit.parent / "trap.py"
    trap.write_text(f"import os\nopen({str(marker)!r}, 'a').write(__name__ + ' ')\nos._exit(0)\n")
    for source in [*kit.rglob("*.py")]:
        cache = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        py_compile.compile(str(trap), str(cache), doraise=True,
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)  # fmt: skip
        shutil.copy(cache, source.with_suffix(".pyc"))
    for name in ("json", "secrets", "argparse", "subprocess", "blake3", "fence_tasks", "sitecustomize", "usercustomize", "_path"):
        for folder in (kit, kit.parent, kit / "oracle"):
            shutil.copy(trap, folder / f"{name}.py")


def test_nothing_that_is_planted_beside_the_gate_is_run(host: Host, tmp_path: Path) -> None:
    proposed(host, "oracle/LOCK", "x\n")
    kit, marker = tmp_path / "planted/fence_tasks", tmp_path / "ran"
    shutil.copytree(host.gate / "fence_tasks", kit, ignore=shutil.ignore_patterns("__pycache__"))
    planted(kit, marker)
    env = {**plain(host.root), "PYTHONPATH": str(kit.parent), "PYTHONSTARTUP": str(kit.parent / "trap.py"),
           "PYTHONHOME": str(kit), "PYTHONPYCACHEPREFIX": str(kit / "__pycache__")}  # fmt: skip
    for cwd in (kit, kit.parent, host.repo):
        done = subprocess.run([sys.executable, "-I", str(kit / "__main__.py"), "explain", "oracle/LOCK", "--repo", str(host.repo)],
                              cwd=cwd, env=env, capture_output=True, text=True, check=False)  # fmt: skip
        assert not marker.exists(), f"ran: {marker.read_text()}"
        assert (done.returncode, "oracle-touched" in done.stdout) == (2, True), done.stderr


def test_a_run_leaves_no_compiled_files_in_the_gates_folder(host: Host, tmp_path: Path) -> None:
    kit = tmp_path / "gate/fence_tasks"
    shutil.copytree(host.gate / "fence_tasks", kit, ignore=shutil.ignore_patterns("__pycache__"))
    before = sorted(kit.rglob("*"))
    done = subprocess.run([sys.executable, "-I", kit / "__main__.py", "explain", "src/x.py"], cwd=host.repo,
                          env=plain(host.root), capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(kit.rglob("*")) == before


def test_a_kit_that_is_vendored_under_another_name_starts_all_the_same(host: Host, tmp_path: Path) -> None:
    kit = tmp_path / "our gate"
    shutil.copytree(host.gate / "fence_tasks", kit, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run([sys.executable, "-I", kit / "__main__.py", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{__version__}\n")
