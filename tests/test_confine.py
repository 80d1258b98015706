"""Confinement: each forbidden act is refused by the system, its honest twin passes, and a machine without it says so."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from struct import iter_unpack
from typing import TYPE_CHECKING, Any

import pytest

from fence_tasks.candidate import confine, landlock, seccomp, watch
from fence_tasks.candidate.client import Client
from fence_tasks.candidate.errors import CandidateFault
from fence_tasks.candidate.launch import BUBBLEWRAP, LANDLOCK, LIMITS, Launch
from fence_tasks.model import RefusedError
from fence_tasks.rules import Code, code_of
from fence_tasks.score.suite import run_properties
from fence_tasks.score.supervise import supervise
from tests import test_suite
from tests.evidence import CANDIDATES, FLIP, Bench
from tests.host import plain, policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fence_tasks.score.job import Job
    from tests.host import Host

ROOT = Path(__file__).resolve().parents[1]
HONEST = CANDIDATES / "honest"
LEVELS = (LIMITS, LANDLOCK, BUBBLEWRAP)
NOBODY = 65534
REFUSALS = {"EPERM", "EACCES", "ENOENT"}

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="confinement is made for Linux")


@cache
def measured(level: str) -> confine.Isolation:
    """What `measure` says where nothing stronger than `level` is there."""
    with pytest.MonkeyPatch.context() as patch:
        if level != BUBBLEWRAP:
            patch.setattr(confine, "bubblewrap", lambda: "")
        if level == LIMITS:
            patch.setattr(seccomp, "machine", lambda: "")
        return confine.measure(sys.executable, (), {})


def at(level: str, launch: Launch) -> Launch:
    """The launch under the confinement `level`; a machine that lacks it skips the test, but in CI only bubblewrap may
    be missing."""
    found = measured(level)
    if found.confinement != level:
        give_up = pytest.fail if os.environ.get("CI") and level == LANDLOCK else pytest.skip
        give_up(f"{level}: {found.missing}")
    if level == LIMITS:
        return launch
    return replace(launch, python=found.python, confinement=level, readable=found.readable)


def job_at(level: str, job: Job) -> Job:
    return replace(job, head=at(level, job.head), base=at(level, job.base))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An oracle with one property about `flip`, and base's honest candidate beside it, as in a stage."""
    made = Bench(tmp_path)
    made.oracle("properties/flip.py", FLIP)
    made.oracle("spare.txt", "spare")
    shutil.copytree(HONEST, tmp_path / "base")
    return made


# Each act is refused, its twin is not

FALSIFIED, RAISED, DIED, BIG = "property-falsified", "property-raised", "candidate-died", "candidate-too-big"
#: Candidate → its rule with limits alone, under Landlock and seccomp, under bubblewrap too. "" is not covered: it passes.
ACTS: dict[str, tuple[str, str, str]] = {
    "reads_the_oracle": ("", RAISED, RAISED),
    "reads_base": ("", RAISED, RAISED),
    "lists_the_repository": ("", RAISED, RAISED),
    "writes_outside": ("", RAISED, RAISED),
    "truncates_the_oracle": ("", RAISED, RAISED),
    "changes_modes": ("", RAISED, RAISED),
    "links_the_oracle": ("", RAISED, RAISED),
    "opens_tcp": ("", RAISED, RAISED),
    "opens_udp": ("", RAISED, RAISED),
    "opens_unix_sockets": ("", RAISED, RAISED),
    "opens_netlink": ("", RAISED, RAISED),
    "listens_at_an_abstract_name": ("", RAISED, RAISED),
    "connects_a_pair_elsewhere": ("", RAISED, RAISED),
    "starts_a_process": ("", RAISED, RAISED),
    "starts_a_shell": ("", RAISED, RAISED),
    "becomes_another_program": (DIED, RAISED, RAISED),
    "forks_without_end": (BIG, RAISED, RAISED),
    "starts_many_threads": (BIG, BIG, BIG),
    "fills_its_folder": (BIG, BIG, RAISED),
    "makes_many_files": (BIG, BIG, BIG),
    "holds_memory_outside_its_own": ("", RAISED, RAISED),
    "signals_its_parent": ("", RAISED, RAISED),
    "has_its_parent_signalled": ("", RAISED, RAISED),
    "limits_its_parent": ("", RAISED, RAISED),
    "reads_its_parents_memory": (RAISED, RAISED, RAISED),
    "traces_its_parent": (RAISED, RAISED, RAISED),
    "makes_a_namespace": ("", RAISED, RAISED),
    "shares_memory": ("", RAISED, RAISED),
    "outlives_its_parent": ("", RAISED, RAISED),
    "calls_as_another_machine": ("", DIED, DIED),
}  # fmt: skip
SLOW = {"fills_its_folder", "makes_many_files", "starts_many_threads", "forks_without_end"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ACTS)
def test_a_forbidden_act_is_refused_and_its_honest_twin_passes(bench: Bench, name: str, level: str) -> None:
    if name == "calls_as_another_machine" and os.uname().machine != "x86_64":
        pytest.skip("its machine code is x86's")
    shutil.copytree(CANDIDATES / name, bench.root / "head")
    job = job_at(level, bench.job(examples=3, call_seconds=20.0 if name in SLOW else 1.0, budget_seconds=30.0))
    twin = run_properties(replace(job, head=replace(job.head, api="twin")))
    assert [f.rule for f in twin.findings] == []
    assert [p.status for p in twin.properties] == ["held"]
    Path(job.head.scratch).mkdir(exist_ok=True)
    start = time.monotonic()
    evidence = run_properties(job)
    rule = ACTS[name][LEVELS.index(level)]
    assert [f.rule for f in evidence.findings] == ([rule] if rule else [])
    assert time.monotonic() - start < 30
    if level != LIMITS:
        assert (bench.root / "oracle/spare.txt").read_text() == "spare"
        assert not (bench.root / "left-behind").exists()


#: Honest or hostile candidates of the suite's table that get something else where they are confined.
OTHERWISE = {
    "forks_and_leaves": RAISED, "forks_and_answers_twice": RAISED, "removes_its_folder": RAISED, "leaves_children": RAISED,
    "kills_its_parent": RAISED,
}  # fmt: skip
EVERYONE = {**{name: rules[0] for name, rules in test_suite.HOSTILE.items()}, **OTHERWISE, "honest": "", "chatty": ""}


@pytest.mark.parametrize("level", [LANDLOCK, BUBBLEWRAP])
@pytest.mark.parametrize("name", EVERYONE)
def test_every_candidate_gets_its_rule_where_it_is_confined(bench: Bench, name: str, level: str) -> None:
    job, start = job_at(level, bench.job(CANDIDATES / name, HONEST, examples=10)), time.monotonic()
    if name == "wrong_sometimes":
        job = replace(job, examples=40)
    evidence = run_properties(job)
    assert [f.rule for f in evidence.findings] == ([EVERYONE[name]] if EVERYONE[name] else [])
    assert (code_of(evidence.findings) is Code.PASS) == (name in {"honest", "chatty"})
    assert time.monotonic() - start < 20


# The probe


def test_with_limits_alone_the_probe_finds_what_is_open() -> None:
    found = measured(LIMITS)
    assert (found.level, found.applied, found.confinement) == ("any", ("limits",), LIMITS)
    assert {name for name, word in found.probe.items() if word == "refused"} <= {
        "trace the scorer", "read the scorer's memory", "TCP over IPv6", "netlink", "share memory", "make a namespace"}  # fmt: skip
    assert found.not_covered
    assert confine.missing_finding(found, "p").rule == "isolation-missing"


@pytest.mark.parametrize("level", [LANDLOCK, BUBBLEWRAP])
def test_a_confined_probe_is_refused_everything(level: str) -> None:
    at(level, Launch("", (), (), "", "", 0, 0))
    found = measured(level)
    assert found.level == "confined"
    assert set(found.probe.values()) == {"refused"}
    assert len(found.probe) >= 18
    assert {"limits", "seccomp", f"Landlock ABI {landlock.abi()}"} <= set(found.applied)
    assert ("bubblewrap" in found.applied) == (level == BUBBLEWRAP) == (not found.not_covered)


def test_a_path_that_can_be_read_after_all_decides_the_level(tmp_path: Path) -> None:
    inside = measured(LANDLOCK).readable[0] if measured(LANDLOCK).readable else sys.executable
    found = confine.measure(sys.executable, (), {"the oracle": inside})
    assert found.level == "any"
    assert all("could read the oracle" in why for why in found.missing if "probe" in why)
    with pytest.raises(RefusedError, match="environment"):
        confine.measure("/bin/true", (), {})


UNPRIVILEGED = """
import json, sys
from dataclasses import asdict
sys.path.insert(0, sys.argv[1])
from fence_tasks.candidate import confine
came, attempted = {}, confine._attempted
def kept(launch, acts):
    answers = attempted(launch, acts)
    came[launch.confinement] = [[" ".join(act), word] for act, word in zip(acts, answers)]
    return answers
confine._attempted = kept
found = [asdict(confine.measure(sys.executable, (), {}))]
confine.bubblewrap = lambda: ""
found.append(asdict(confine.measure(sys.executable, (), {})))
confine.seccomp.machine = lambda: ""
found.append(asdict(confine.measure(sys.executable, (), {})))
print(json.dumps([found, came]))
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A kit, and an interpreter if need be, in a folder that any account can read."""
    with tempfile.TemporaryDirectory(prefix="fence-open-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(ROOT / "fence_tasks", folder / "fence_tasks", ignore=shutil.ignore_patterns("__pycache__"))
        yield folder


def python_for(account: int, place: Path) -> str:
    """An interpreter of this version that `account` can start: this one, or a copy of it in `place`."""
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    for python in (str(base), str(place / "python/bin" / base.name)):
        try:
            subprocess.run([python, "-I", "-c", ""], user=account, group=account, extra_groups=[], env={}, check=True)
        except (OSError, subprocess.CalledProcessError):
            library = Path(sys.base_prefix, "lib")
            shutil.copytree(library, place / "python/lib", symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(
                "test", "tests", "site-packages", "idlelib", "ensurepip", "config-*", "*.a", "pkgconfig", "__pycache__"))  # fmt: skip
            (place / "python/bin").mkdir(exist_ok=True)
            shutil.copy(base, place / "python/bin" / base.name)
        else:
            return python
    pytest.skip("no interpreter that another account can start")


@pytest.mark.parametrize("account", [0, NOBODY])
def test_acts_are_refused_by_the_system_for_root_and_for_nobody(place: Path, account: int) -> None:
    mine = os.geteuid()
    if mine not in {0, account} and account == 0:
        pytest.skip("only root can be root")
    python = python_for(account, place) if mine == 0 and account else sys.executable
    become: dict[str, Any] = {"user": account, "group": account, "extra_groups": []} if mine == 0 else {}
    done = subprocess.run([python, "-I", "-B", "-c", UNPRIVILEGED, str(place)], env={}, cwd="/", capture_output=True, text=True,
                          check=False, **become)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found, came = json.loads(done.stdout)
    words = [(one["level"], one["confinement"]) for one in found]
    assert words[1:] == [("confined", LANDLOCK), ("any", LIMITS)], found
    assert words[0] in {("confined", BUBBLEWRAP), ("confined", LANDLOCK)}
    allowed = len(confine._ALLOWED)
    for level in {word for _, word in words[:2]}:
        assert {act: word for act, word in came[level][:-allowed] if word not in REFUSALS} == {}
        assert {act: word for act, word in came[level][-allowed:] if word} == {}
    assert [word for _, word in came[LIMITS]].count("") > 15  # the same acts, where nothing refuses them


# A machine that cannot

HIDE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from fence_tasks.candidate import seccomp as s
rules = [rule.split(":") for rule in sys.argv[2].split(",")]
code = [s._load(0)]
for number, error, argument, mask in (map(int, rule) for rule in rules):
    code += [s._step(s._EQUAL, number, 0, 5), s._load(4 + 2 * argument), s._step(s._AND, mask), s._step(s._EQUAL, 0, 1, 0),
             s._error(error), s._return(s._ALLOW)]
s.install(b"".join([*code, s._return(s._ALLOW)]))
os.execv(sys.argv[3], sys.argv[3:])
"""
# Rules: a call's number, its error, and an argument of which a bit of the mask is set.
NO_LANDLOCK = "444:{error}:3:1"  # landlock_create_ruleset(…, LANDLOCK_CREATE_RULESET_VERSION)
NO_NAMESPACES = f"{seccomp.NUMBERS['unshare'][0]}:1:0:{0x7E020000},{seccomp.NUMBERS['clone'][0]}:1:0:{0x7E020000}"
NO_FILTERS = f"{seccomp.NUMBERS['prctl'][0]}:22:0:16"  # PR_SET_SECCOMP is 22, of which 16 is a bit; so is PR_CAPBSET_DROP

on_x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are x86-64's")


def hiding(rules: str, *command: str) -> list[str]:
    return [sys.executable, "-c", HIDE, str(ROOT), rules, *command]


def confinement(rules: str) -> str:
    """What the verb `confinement` says where a filter hides what a kernel may lack."""
    command = hiding(rules, sys.executable, "-I", str(ROOT / "fence_tasks/__main__.py"), "confinement")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@on_x86
@pytest.mark.parametrize(("rules", "says"), {
    "no Landlock": (NO_LANDLOCK.format(error=errno.ENOSYS), "CONFIG_SECURITY_LANDLOCK=y"),
    "Landlock off": (NO_LANDLOCK.format(error=errno.EOPNOTSUPP), "in its list lsm="),
    "Landlock refused": (NO_LANDLOCK.format(error=errno.EPERM), "seccomp profile"),
}.values())  # fmt: skip
def test_without_landlock_nothing_is_confined_and_what_to_do_is_said(rules: str, says: str) -> None:
    said = confinement(rules)
    assert said.startswith("isolation any: limits\n")
    assert says in said


@on_x86
def test_without_namespaces_landlock_and_seccomp_serve() -> None:
    said = confinement(NO_NAMESPACES)
    assert said.startswith("isolation confined: Landlock ABI")
    assert "user namespaces" in said or "not in /usr/bin" in said


def confined(host: Host) -> str:
    """The host's policy asks for confinement; a patch's commit is answered."""
    host.people("confine it", {"oracle/policy.toml": policy().replace('"any"', '"confined"')})
    host.branch("agent")
    host.replace("src/parsekit/_text.py", "One line in", "A line in")
    oid = host.commit("a patch")
    host.checkout("main")
    return oid


def test_a_confined_score_binds_and_says_what_was_proved(host: Host) -> None:
    at(LANDLOCK, Launch("", (), (), "", "", 0, 0))
    oid = confined(host)
    for result in (host.score("main", oid, "--onto", "main"), host.score("main", oid, "--onto", "main")):
        assert (result.code, result.verdict["binding"]) == (0, True), result
        isolation = result.verdict["isolation"]
        assert (isolation["level"], set(isolation["probe"].values())) == ("confined", {"refused"})
        assert {"read the oracle", "read base's stage", "read the repository", "read the run folder"} <= set(isolation["probe"])
        assert "isolation confined (" in result.stdout
    first, second = ((host.root / f"run-{n}/verdict.json").read_bytes() for n in (host.runs - 1, host.runs))
    assert first == second


def test_a_flag_lowers_isolation_and_then_nothing_binds(host: Host) -> None:
    oid = confined(host)
    result = host.score("main", oid, "--onto", "main", "--isolation", "any")
    assert (result.code, result.verdict["binding"], result.verdict["isolation"]["level"]) == (0, False, "any")
    assert "NOT BINDING" in result.stdout.splitlines()[0]
    result = host.score("main", oid, "--onto", "main", "--isolation", "any", env={"CI": "1"})
    assert (result.code, result.rules) == (69, frozenset({"isolation-missing"}))
    result = host.score("main", oid, "--onto", "main", "--isolation", "confined")
    assert result.code == 64


@on_x86
@pytest.mark.parametrize("rules", [NO_LANDLOCK.format(error=errno.ENOSYS), NO_FILTERS])
def test_a_policy_that_asks_for_confinement_gets_69_where_there_is_none(host: Host, rules: str) -> None:
    oid = confined(host)
    out = host.root / "hidden"
    gate = str(host.gate / "fence_tasks/__main__.py")
    command = [sys.executable, "-I", gate, "score", "--base", "main", "--head", oid, "--repo", str(host.repo), "--out", str(out)]
    done = subprocess.run(hiding(rules, *command), cwd=host.repo, env=plain(host.root), capture_output=True, text=True, check=False)
    verdict = json.loads((out / "verdict.json").read_bytes())
    assert (done.returncode, verdict["code"], verdict["verdict"]) == (69, 69, "none"), done.stdout
    assert [f["rule"] for f in verdict["findings"] if f["level"] == "error"] == ["isolation-missing"]
    assert (verdict["isolation"]["level"], verdict["properties"], verdict["fixtures"]) == ("any", [], [])
    assert "Nothing was executed." in done.stdout
    done = subprocess.run(hiding(rules, *command, "--isolation", "any"), cwd=host.repo, env=plain(host.root), capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert (done.returncode, "NOT BINDING" in done.stdout) == (0, True), done.stdout


# Dying with the scorer, limits


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_of_a_confined_candidate_outlives_its_scorer(bench: Bench, tmp_path: Path, level: str) -> None:
    bench.oracle("properties/flip.py", "import os, signal\ndef prop_x(api):\n    api.flip(b'')\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    job = job_at(level, bench.job(HONEST, HONEST))
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    rule, _ = supervise([sys.executable, "-c", test_suite.SCORER, job.to_json()], seconds=20, cwd=str(tmp_path), env=env,
                        log=str(tmp_path / "scorer.log"))  # fmt: skip
    assert rule == "scorer-died"
    assert not [line for line in test_suite.workers() if str(tmp_path) in line]


@pytest.mark.parametrize("level", [LANDLOCK, BUBBLEWRAP])
def test_a_confined_worker_is_told_apart_by_nothing_but_what_it_may_not_do(tmp_path: Path, level: str) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "api.py").write_text("import os, sys, resource\ndef about():\n    return dict(os.environ), list(sys.modules), "
                                     "resource.getrlimit(resource.RLIMIT_CPU)\n")  # fmt: skip
    seen = []
    for one in (LIMITS, level):
        launch = Launch(sys.executable, (), (str(tmp_path),), "api", str(tmp_path / "scratch"), 1 << 30, 1.0, cpu_seconds=99)
        with Client(at(one, launch)) as client:
            environment, modules, cpu = client.api.about()
            seen.append((environment, cpu))
            assert not {"landlock", "seccomp", "restrict", "worker"} & set(modules)
    assert seen[0] == seen[1]
    assert seen[0][1] == (99, 99)


@pytest.mark.parametrize("level", [LANDLOCK, BUBBLEWRAP])
def test_a_fault_says_how_a_confined_process_ended(tmp_path: Path, level: str) -> None:
    for number, (name, said) in enumerate({"crashes": "SIGSEGV", "leaves_in_call": "status 0"}.items()):
        scratch = tmp_path / str(number)
        scratch.mkdir()
        launch = Launch(sys.executable, (), (str(CANDIDATES / name),), "api", str(scratch), 1 << 30, 1.0)
        with Client(at(level, launch)) as client, pytest.raises(CandidateFault, match=said):
            client.api.flip(b"")


def test_a_scratch_folder_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/usr")
    deep = tmp_path / "deep"
    deep.mkdir()
    (deep / "file").write_bytes(bytes(1 << 20))
    watch.scratch(str(tmp_path), 2 << 20)
    watch.scratch(str(tmp_path / "nothing"), 1)
    with pytest.raises(CandidateFault, match="over 1000 bytes"):
        watch.scratch(str(tmp_path), 1000)
    watch.threads(os.getpid())
    watch.threads(0)


# The filter and the rules, against what others know

ARCH = seccomp.MACHINES["x86_64"][0]
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def verdict_of(code: bytes, number: int, *arguments: int, arch: int = ARCH) -> int:
    """What the kernel does with a call, by an interpreter of classic BPF."""
    words = [number, arch, 0, 0]
    for argument in (*arguments, *[0] * (6 - len(arguments))):
        words += [argument & 0xFFFFFFFF, argument >> 32]
    steps, place, held = list(iter_unpack("=HBBI", code)), 0, 0
    while True:
        kind, yes, no, value = steps[place]
        place += 1
        if kind == seccomp._RETURN:
            return int(value)
        if kind == seccomp._LOAD:
            held = words[value // 4]
        elif kind == seccomp._AND:
            held &= value
        else:
            place += yes if (held == value if kind == seccomp._EQUAL else held > value) else no


EPERM = ERRNO | errno.EPERM
#: (call, arguments) → what is done, for the process 77.
CALLS: dict[tuple[str, tuple[int, ...]], int] = {
    ("clone", (0x3D0F00,)): ALLOW, ("clone", (0x11,)): EPERM, ("clone", (0x10010000,)): EPERM,
    ("clone3", ()): ERRNO | errno.ENOSYS, ("openat2", ()): ERRNO | errno.ENOSYS, ("execve", ()): EPERM, ("execveat", ()): EPERM,
    ("kill", (77, 9)): ALLOW, ("kill", (78, 9)): EPERM, ("kill", (0xFFFFFFFFFFFFFFFF, 9)): EPERM, ("kill", (0, 9)): EPERM,
    ("tgkill", (77, 80, 6)): ALLOW, ("tgkill", (1, 1, 6)): EPERM, ("tkill", (77, 6)): EPERM,
    ("prlimit64", (0,)): ALLOW, ("prlimit64", (77,)): ALLOW, ("prlimit64", (1,)): EPERM,
    ("socket", (1, 1)): EPERM, ("socketpair", (1, 0x80801)): ALLOW, ("socketpair", (1, 2)): EPERM, ("socketpair", (2, 1)): EPERM,
    ("socketpair", (1, 5)): EPERM, ("sendto", (3, 4, 5, 6, 0)): ALLOW, ("sendto", (3, 4, 5, 6, 1 << 40)): EPERM,
    ("sendto", (3, 4, 5, 6, 8)): EPERM, ("ioctl", (1, 0x5401)): ALLOW, ("ioctl", (1, 0x5412)): ERRNO | errno.ENOTTY,
    ("ioctl", (1, 0x8901)): ERRNO | errno.ENOTTY, ("fcntl", (1, 3)): ALLOW, ("fcntl", (1, 8, 1)): EPERM, ("fcntl", (1, 15, 1)): EPERM,
    ("prctl", (15,)): ALLOW, ("prctl", (4, 1)): EPERM, ("prctl", (1, 0)): EPERM,
    ("openat", (0, 0, 0o1101)): ALLOW, ("openat", (0, 0, 0o1000)): EPERM, ("openat", (0, 0, 0o1003)): EPERM, ("open", (0, 0)): ALLOW,
    ("open", (0, 0o1000)): EPERM, ("chmod", ()): EPERM, ("ptrace", ()): EPERM, ("io_uring_setup", ()): EPERM,
}  # fmt: skip


@pytest.mark.parametrize(("name", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_the_filter_decides_by_number_and_arguments(name: str, column: int) -> None:
    arch = seccomp.MACHINES[name][0]
    code = seccomp.program(name, 77, hidden=False)
    for (call, arguments), wanted in CALLS.items():
        number = seccomp.NUMBERS[call][column]
        if number is not None:
            assert verdict_of(code, number, *arguments, arch=arch) == wanted, (call, arguments)
    assert verdict_of(code, seccomp.NEWEST + 1, arch=arch) == ERRNO | errno.ENOSYS
    assert verdict_of(code, 0x40000000, arch=arch) == ERRNO | errno.ENOSYS  # x32
    assert verdict_of(code, 0, arch=0x40000003) == KILL  # i386
    hidden, old = seccomp.program(name, 77, hidden=True), seccomp.program(name, 77, hidden=False, truncate=False)
    chmod, truncate = seccomp.NUMBERS["fchmod"][column] or 0, seccomp.NUMBERS["truncate"][column] or 0
    assert [verdict_of(c, chmod, arch=arch) for c in (code, hidden, old)] == [EPERM, ALLOW, EPERM]
    assert [verdict_of(c, truncate, arch=arch) for c in (code, hidden, old)] == [ALLOW, ALLOW, EPERM]


#: All that the filter leaves to a program on x86-64, whatever its arguments, or by them (the last line).
LEFT = """
_sysctl access afs_syscall alarm arch_prctl brk cachestat capget capset chdir clock_getres clock_gettime clock_nanosleep close
close_range copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2
epoll_wait epoll_wait_old eventfd eventfd2 exit exit_group faccessat faccessat2 fadvise64 fallocate fchdir fdatasync fgetxattr
flistxattr flock fstat fstatfs fsync ftruncate futex futex_waitv get_mempolicy get_robust_list get_thread_area getcpu getcwd
getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getpmsg getppid getpriority
getrandom getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr
inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents ioprio_get landlock_add_rule landlock_create_ruleset
landlock_restrict_self lgetxattr link linkat listxattr llistxattr lseek lstat madvise mbind membarrier mincore mkdir mkdirat
mlock mlock2 mlockall mmap mprotect mq_getsetattr mremap msync munlock munlockall munmap nanosleep newfstatat pause pipe pipe2
pkey_alloc pkey_free pkey_mprotect poll ppoll pread64 preadv preadv2 pselect6 putpmsg pwrite64 pwritev pwritev2 read readahead
readlink readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages rename renameat renameat2 restart_syscall rmdir rseq
rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_get_priority_max
sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_yield
security select sendfile sendmsg set_mempolicy set_mempolicy_home_node set_robust_list set_thread_area set_tid_address setfsgid
setfsuid setgid setgroups setitimer setregid setresgid setresuid setreuid setrlimit setsockopt setuid shmdt shutdown sigaltstack
signalfd signalfd4 splice stat statfs statx symlink symlinkat sync sync_file_range syncfs sysinfo tee time timer_create
timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times truncate tuxcall
umask uname unlink unlinkat uprobe uretprobe ustat vmsplice vserver wait4 waitid write writev
fcntl open openat prctl prlimit64 sched_setaffinity sendto
"""


def test_the_filter_agrees_with_seccompys_tables_and_leaves_exactly_this() -> None:
    tables = pytest.importorskip("seccompy").syscalls
    for name, table in (("x86_64", tables.X86_64_SYSCALLS), ("aarch64", tables.AARCH64_SYSCALLS)):
        column = seccomp.MACHINES[name][1]
        numbers = {call: both[column] for call, both in seccomp.NUMBERS.items() if both[column] is not None}
        assert numbers == {call: table[call] for call in numbers}
        code = seccomp.program(name, 77, hidden=False)
        left = {call for call, n in table.items() if verdict_of(code, n, arch=seccomp.MACHINES[name][0]) == ALLOW}
        if name == "x86_64":
            assert sorted(left) == sorted(LEFT.split())
        #  Numbers of 32-bit machines are in the table of aarch64, and lead nowhere on it.
        assert {c for c in left - set(LEFT.split()) if not c.endswith(("64", "_time64"))} <= {"sync_file_range2", "fstatat", "llseek", "mmap2"}


@pytest.mark.parametrize("version", range(1, 8))
def test_the_rights_by_abi_agree_with_landlockpys(version: int) -> None:
    flags = pytest.importorskip("landlockpy.flags")
    files, network, scoped, size = landlock.handled(version)
    assert (files, network, scoped) == (
        flags.fs_for_abi(version), flags.net_for_abi(version), flags.scope_for_abi(version))  # fmt: skip
    assert size == (8 if version < 4 else 16 if version < 6 else 24)


def test_the_kernels_abi_is_the_one_that_landlockpy_sees() -> None:
    assert landlock.abi() == pytest.importorskip("landlockpy").abi_version()
