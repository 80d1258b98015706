"""The GitHub job that `init-split --ci github` writes, rehearsed: its steps are run as a runner runs them, over a bare
repository that stands for the forge.

What runs is the protected branch's copy of the file, as with a ruleset that requires the workflow; that a pull request's
own copy must not be the one that counts is a setting of the forge, which the file names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fence_tasks.maintain import ci, init_split
from fence_tasks.nox_sessions import _INSTALL_KEEPS
from fence_tasks.oracle import policy
from tests.demo import demo
from tests.people import invoke, refusal, state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.host import Host

WORKFLOW = ".github/workflows/path-fence.yml"
NAME = "people/parsekit"
#: What the file may take from the event, and nothing else.
EXPRESSIONS = {"github.base_ref || github.event.merge_group.base_ref", "github.event.pull_request.head.sha || github.sha",
               "github.token"}  # fmt: skip
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the job."""

    name: str
    env: dict[str, str]
    script: str


def block(lines: Iterator[str], indent: int) -> list[str]:
    """The lines that follow, as long as they are blank or indented by at least `indent`, without that indentation."""
    found = []
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            break
        found.append(line[indent:])
    return found


def mapping(text: str, key: str, indent: int) -> dict[str, str]:
    """The plain pairs of a mapping that stands `indent` deep under `key`."""
    lines = iter(text.splitlines())
    if not any(line == " " * indent + f"{key}:" for line in lines):
        return {}
    pairs = (line.split(": ", 1) for line in block(lines, indent + 2) if line.strip() and not line.startswith("#"))
    return {name: value.strip('"') for name, value in pairs}


def steps(text: str) -> list[Step]:
    """The steps, each of which must be a name, variables and a script."""
    found = []
    for part in text.split("\n      - name: ")[1:]:
        name, _, body = part.partition("\n")
        lines = iter(body.splitlines())
        assert any(line == "        run: |" for line in lines), name
        found.append(Step(name, mapping(body, "env", 8), "\n".join(block(lines, 10)) + "\n"))
    return found


@dataclass(frozen=True, slots=True)
class Run:
    """How one job ended."""

    code: int
    verdict: dict[str, Any]
    output: str
    workspace: Path


@dataclass(slots=True)
class Forge:
    """People's clone `root/host`, the bare repository `root/forge/people/parsekit`, and runners beside them; `nox` is
    the environment that the job's second step has made once, which depends on nothing but base."""

    root: Path
    nox: Path | None = None
    runs: int = 0
    host: Path = field(init=False)
    bare: Path = field(init=False)

    def __post_init__(self) -> None:
        self.host = self.root / "host"
        self.bare = self.root / "forge" / NAME

    def push(self, refspec: str) -> None:
        demo.git(self.host, "push", "--quiet", "--force", str(self.bare), refspec)

    def propose(self, *changes: Callable[[Path], None], number: int = 1, onto: str = "main") -> str:
        """A pull request: a branch of its own from `onto`, known to the forge by its number only."""
        demo.git(self.host, "checkout", "--quiet", "-B", f"patch-{number}", onto)
        for change in changes:
            change(self.host)
        demo.commit(self.host, "a patch")
        self.push(f"HEAD:refs/pull/{number}/head")
        return demo.git(self.host, "rev-parse", "HEAD")

    def people(self, *changes: Callable[[Path], None]) -> str:
        """A commit of people's on main."""
        demo.git(self.host, "checkout", "--quiet", "main")
        for change in changes:
            change(self.host)
        demo.commit(self.host, "people")
        self.push("main")
        return demo.git(self.host, "rev-parse", "HEAD")

    def job(self, github: Mapping[str, str], variables: Mapping[str, str]) -> Run:
        """Run the protected branch's copy of the job with an event's context and a runner's variables."""
        text = demo.git(self.bare, "show", f"main:{WORKFLOW}") + "\n"
        self.runs += 1
        place = self.root / f"runner-{self.runs}"
        for name in ("home", "work", "temp", "bin"):
            (place / name).mkdir(parents=True)
        # A base Python and no environment: what a fresh machine has.
        (place / "bin/python3").symlink_to(Path(sys.executable).resolve())
        context = {"github.token": "not-a-real-token", **github}
        env = {**machine(self.root), "PATH": f"{place}/bin:{os.defpath}", "HOME": str(place / "home"), "CI": "true",
               "GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": (self.root / "forge").as_uri(), "GITHUB_REPOSITORY": NAME,
               "GITHUB_WORKSPACE": str(place / "work"), "RUNNER_TEMP": str(place / "temp"), **variables}  # fmt: skip
        env |= {k: value(v, context) for k, v in mapping(text, "env", 4).items()}
        output, code = "", 0
        for step in steps(text):
            if self.nox and step.name.startswith("Install"):
                (place / "temp/nox").symlink_to(self.nox)
                continue
            script = place / "script.sh"
            script.write_text(step.script, "utf-8")
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], cwd=place / "work", check=False,
                env={**env, **{k: value(v, context) for k, v in step.env.items()}}, capture_output=True, text=True,
            )  # fmt: skip
            output += f"## {step.name}\n{done.stdout}{done.stderr}"
            if code := done.returncode:
                break
        verdict = place / "temp/path-fence/verdict.json"
        return Run(code, json.loads(verdict.read_bytes()) if verdict.exists() else {}, output, place / "work")

    def pull_request(self, sha: str, *, base: str = "main", branch: str = "patch") -> Run:
        """The job for a pull request whose head is, or was, `sha`."""
        # GITHUB_SHA is the forge's test merge, which the job must not judge: it does not exist here.
        github = {"github.base_ref": base, "github.event.pull_request.head.sha": sha, "github.sha": "f" * 40}
        return self.job(github, {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_BASE_REF": base, "GITHUB_HEAD_REF": branch,
                                 "GITHUB_REF": "refs/pull/1/merge", "GITHUB_SHA": "f" * 40})  # fmt: skip


def machine(root: Path) -> dict[str, str]:
    """How packages are got where the tests run, one package cache for all runners, and no other variable."""
    kept = {k: v for k, v in os.environ.items() if k in _INSTALL_KEEPS and k != "HOME"}
    settings = next((p for p in (Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf") if p.exists()), None)
    found = {"PIP_CONFIG_FILE": str(settings)} if settings else {}
    return {**found, **kept, "LANG": "C.UTF-8", "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(root / "cache"))}


def value(text: str, context: Mapping[str, str]) -> str:
    """A value of the file with its expressions replaced, as the forge does: the first that is not empty."""
    return _EXPRESSION.sub(lambda m: next((v for n in m[1].split(" || ") if (v := context.get(n, ""))), ""), text)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Forge:
    """A host that was fenced, with evidence, and then given its job; published to the forge."""
    root = tmp_path_factory.mktemp("forge")
    demo.plain(root)
    demo.git(root / "host", "branch", "unfenced")
    demo.fence(root / "host")
    args = ("--into", str(root / "host"), "--production", "src/", "--api", "parsekit.api", "--function", "normalise")
    said = demo.invoke(demo.ROOT, "init-split", *args, "--ci", "github").stdout
    assert "is fenced already, with this kit and these roots; staged:\n" in said
    demo.git(root / "host", "commit", "--quiet", "--message", "the job")
    forge = Forge(root)
    demo.git(root, "init", "--quiet", "--bare", str(forge.bare))
    forge.push("refs/heads/*:refs/heads/*")
    first = forge.pull_request(forge.propose(demo.better))
    assert first.code == 0, first.output
    forge.nox = first.workspace.parent / "temp/nox"
    return forge


@pytest.fixture
def forge(published: Forge, tmp_path: Path) -> Forge:
    """A forge of the test's own."""
    for name in ("host", "forge"):
        shutil.copytree(published.root / name, tmp_path / name, symlinks=True)
    (tmp_path / "cache").symlink_to(published.root / "cache")
    return Forge(tmp_path, published.nox)


def writes(path: str, text: str | None) -> Callable[[Path], None]:
    def change(host: Path) -> None:
        (host / path).parent.mkdir(parents=True, exist_ok=True)
        (host / path).unlink() if text is None else (host / path).write_text(text, "utf-8")

    return change


def test_an_honest_pull_request_is_judged_by_the_tip_of_its_target_and_binds(forge: Forge) -> None:
    sha = forge.propose(demo.better)
    tip = forge.people(writes("README.md", "# meanwhile\n"))
    run = forge.pull_request(sha)
    said = run.verdict
    assert (run.code, said["verdict"], said["binding"], said["subject"]) == (0, "pass", True, "patch"), run.output
    assert (said["base"], said["onto"], said["head"]) == (tip, tip, sha)
    assert said["properties"]
    assert said["fixtures"]
    # Of the pull request there are git objects only.
    assert not list((run.workspace / "patch").rglob("api.py"))
    assert "not-a-real-token" not in run.output
    assert "not-a-real-token" not in (run.workspace / "patch/config").read_text()


MARK = "import os, pathlib\npathlib.Path(os.environ.get('HOME', '/nonexistent'), 'ran').touch()\nos._exit(0)\n"
CHEATS: dict[str, tuple[str, str | None]] = {
    "the job, deleted": (WORKFLOW, None),
    "the job": (WORKFLOW, "on: pull_request\njobs:\n  path-fence:\n    runs-on: x\n    steps:\n      - run: exit 0\n"),
    "another job of the same name": (".github/workflows/other.yml", "name: path-fence\n"),
    "the noxfile": ("noxfile.py", MARK),
    "the kit's noxfile": ("fence_tasks/noxfile.py", MARK),
    "the kit's sessions": ("fence_tasks/nox_sessions.py", MARK),
    "the kit's locked list": ("fence_tasks/requirements/nox.txt", "nox==1.0\n"),
    "a module beside the gate": ("nox.py", MARK),
    "the owners": (".github/CODEOWNERS", "* @me\n"),
}


@pytest.mark.parametrize("what", CHEATS)
def test_a_pull_request_that_edits_what_judges_it_is_refused_and_not_run(forge: Forge, what: str) -> None:
    path, text = CHEATS[what]
    run = forge.pull_request(forge.propose(demo.better, writes(path, text)))
    assert run.code == run.verdict["code"] == 2, run.output
    assert path in {f["path"] for f in run.verdict["findings"]}
    assert not (run.workspace.parent / "home/ran").exists()


def test_a_pull_request_that_breaks_a_property_is_refused(forge: Forge) -> None:
    run = forge.pull_request(forge.propose(demo.ROWS["property"][1]))
    assert run.code == run.verdict["code"] == 6, run.output


def test_a_pull_request_that_no_longer_merges_is_not_judged(forge: Forge) -> None:
    sha = forge.propose(demo.better)
    forge.people(lambda host: demo.edit(host, "src/parsekit/api.py", "    chunks, at = [], 0\n", "    chunks, at = list(), 0\n"))
    run = forge.pull_request(sha)
    assert run.code == run.verdict["code"] == 75, run.output
    assert {f["rule"] for f in run.verdict["findings"]} == {"merge-conflict"}


def test_the_commit_of_the_event_is_judged_and_not_what_the_branch_is_now(forge: Forge) -> None:
    bad = forge.propose(writes("oracle/policy.toml", ""))
    good = forge.propose(demo.better)
    assert demo.git(forge.bare, "rev-parse", "refs/pull/1/head") == good
    run = forge.pull_request(bad)
    assert (run.code, run.verdict["head"]) == (2, bad), run.output


def test_a_target_without_a_gate_is_not_judged(forge: Forge) -> None:
    run = forge.pull_request(forge.propose(demo.better, onto="unfenced"), base="unfenced")
    assert (run.code, run.verdict) == (75, {}), run.output
    assert "NONE 75  not-adopted: unfenced has no gate yet" in run.output


@pytest.mark.parametrize("wrong", [{"github.base_ref": ""}, {"github.base_ref": "nowhere"}, {"github.event.pull_request.head.sha": ""}])
def test_an_event_without_what_the_job_needs_ends_in_no_pass(forge: Forge, wrong: dict[str, str]) -> None:
    github = {"github.base_ref": "main", "github.event.pull_request.head.sha": forge.propose(demo.better)}
    run = forge.job({**github, **wrong}, {"GITHUB_EVENT_NAME": "push"})
    assert (run.code != 0, run.verdict) == (True, {}), run.output


def test_names_of_branches_are_never_run(forge: Forge) -> None:
    name = 'release/$(touch${IFS}pwned);touch${IFS}pwned;"`touch${IFS}pwned`'
    demo.git(forge.host, "branch", name, "main")
    forge.push(f"refs/heads/{name}:refs/heads/{name}")
    sha = forge.propose(writes("oracle/policy.toml", ""), onto=name)
    run = forge.pull_request(sha, base=name, branch=name)
    assert (run.code, run.verdict["head"]) == (2, sha), run.output
    assert not list(run.workspace.parent.rglob("pwned"))


def test_a_merge_group_is_judged_as_the_one_change_that_lands(forge: Forge) -> None:
    tip = demo.git(forge.host, "rev-parse", "main")
    for number in (1, 2):
        forge.propose(writes(f"src/parsekit/new_{number}.py", ""), number=number)
    demo.git(forge.host, "merge", "--quiet", "--no-edit", "patch-1")
    writes("oracle/policy.toml", "")(forge.host)
    demo.commit(forge.host, "and something else")
    group = demo.git(forge.host, "rev-parse", "HEAD")
    queue = f"refs/heads/gh-readonly-queue/main/pr-2-{tip}"
    forge.push(f"HEAD:{queue}")
    run = forge.job({"github.event.merge_group.base_ref": "refs/heads/main", "github.sha": group},
                    {"GITHUB_EVENT_NAME": "merge_group", "GITHUB_REF": queue, "GITHUB_SHA": group})  # fmt: skip
    assert (run.code, run.verdict["base"], run.verdict["onto"], run.verdict["head"]) == (2, tip, tip, group), run.output
    assert [c["path"] for c in run.verdict["changes"] if c["rule"]] == ["oracle/policy.toml"]


TEXT = ci.render("github", "main").decode()
CODE = "\n".join(line for line in TEXT.splitlines() if not line.lstrip().startswith("#"))


def test_the_file_asks_for_nothing_and_takes_only_ids_and_a_branch_from_the_event() -> None:
    assert mapping(TEXT, "permissions", 0) == {"contents": "read"}
    assert not re.search(r"\buses:|\bsecrets\b|pull_request_target|\bif:|paths|continue-on-error|write", CODE)
    assert set(_EXPRESSION.findall(CODE)) == EXPRESSIONS
    assert not any("${{" in step.script for step in steps(TEXT))
    assert [set(step.env) for step in steps(TEXT)] == [{"TOKEN", "GIT_LFS_SKIP_SMUDGE"}, set(), set()]


def test_the_job_starts_for_every_way_in() -> None:
    assert "    types: [opened, synchronize, reopened, edited]" in CODE
    assert CODE.count('    branches: ["main"]') == 2
    assert "  merge_group:" in CODE.splitlines()


def test_the_gate_is_started_hardened() -> None:
    last = steps(TEXT)[-1].script
    assert '/nox/bin/python" -I -X pycache_prefix="$(mktemp -d -p "$RUNNER_TEMP")"' in last
    assert last.endswith("""grep --quiet '^ "binding": true' "$run/verdict.json"\n""")  # a lost --onto would end in 0 else
    assert "--require-hashes --only-binary :all:" in steps(TEXT)[1].script


def test_a_branch_with_a_patterns_letters_is_itself() -> None:
    assert '    branches: ["a\\\\+b\\\\!\\"ä"]' in ci.render("github", 'a+b!"ä').decode()


@pytest.fixture
def legacy(host: Host) -> Host:
    """A host that nobody has fenced yet."""
    host.checkout("legacy")
    return host


def split(host: Host, *args: str) -> tuple[int, str]:
    done = invoke(host, "init-split", "--into", ".", "--production", "src/", "--api", "parsekit.api", *args)
    return done.code, done.out + done.err


def test_init_split_writes_the_job_where_it_is_asked_for(legacy: Host) -> None:
    legacy.remove(".github")
    legacy.commit("no CI yet")
    code, said = split(legacy, "--ci", "github")
    assert code == 0, said
    assert legacy.git_bytes("show", f":{WORKFLOW}") == TEXT.encode()
    assert f"ci:      {WORKFLOW} judges what is to be merged into 'main'" in said
    assert policy.parse(legacy.path("oracle/policy.toml").read_bytes()).gate.paths == (
        "fence_tasks/", "noxfile.py", "tasks.py", ".github/")  # fmt: skip
    assert legacy.git("status", "--porcelain", "--", ".github") == f"A  {WORKFLOW}"


def test_without_being_asked_it_writes_none(legacy: Host) -> None:
    for args in ((), ("--ci", "none")):
        assert split(legacy, *args)[0] == 0
        assert not legacy.path(WORKFLOW).exists()


def test_a_job_is_added_later_once(legacy: Host) -> None:
    assert split(legacy)[0] == 0
    legacy.commit("adopt", everything=False)
    before = state(legacy)
    assert "would write and stage" in split(legacy, "--ci", "github", "--dry-run")[1]
    assert state(legacy) == before
    assert split(legacy, "--ci", "github")[0] == 0
    assert legacy.git("diff", "--cached", "--name-only") == WORKFLOW
    after = state(legacy)
    code, said = split(legacy, "--ci", "github")
    assert (code, "nothing changed" in said) == (0, True)
    assert state(legacy) == after


def test_a_forge_without_a_job_is_bad_input_and_a_file_in_the_way_is_refused(legacy: Host) -> None:
    ask = init_split.Ask("repo", ("src/",), (), "parsekit.api")
    for forge, word in (("gitlab", "a later version"), ("", "known are"), ("GitHub", "known are")):
        code, said = refusal(lambda f=forge: init_split.run(str(legacy.root), replace(ask, ci=f)))  # type: ignore[misc]
        assert (code, word in said) == (64, True), said
    legacy.write(WORKFLOW, "on: push\n")
    legacy.commit("a job of our own")
    before = state(legacy)
    assert split(legacy, "--ci", "github")[0] == 75
    assert state(legacy) == before
