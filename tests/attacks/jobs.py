"""Repositories, settings and jobs that steer a gate: configuration, environment, hooks, clones, revisions."""

from __future__ import annotations

import os
import py_compile
import sys
from typing import TYPE_CHECKING

from tests.host import PROPERTIES

from .attempt import Attempt
from .edits import CUTTING, better, patch, propose
from .histories import PROPERTY, WEAK
from .trees import submodule_at

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host import Host

    from .edits import Builder, Change


def weaker(host: Host) -> None:
    """The property is weakened and LOCK made to agree."""
    host.write(PROPERTY, WEAK)
    host.lock()


def _trap(host: Host, name: str) -> tuple[Path, str]:
    """A marker that does not exist, and a script that makes it and then succeeds silently."""
    marker = host.root / f"{name}-ran"
    return marker, f"#!/bin/sh\n: > '{marker}'\nexit 0\n"


def asked_from(builder: Builder, worktree: str) -> Builder:
    """The same patch, with another branch checked out where the gate is asked."""

    def build(host: Host) -> Attempt:
        attempt = builder(host)
        host.checkout(worktree)
        return attempt

    return build


def shadowed_stdlib(name: str, *changes: Change) -> Builder:
    """A module of the standard library's name at the top and in `tools/`; the job runs from there."""

    def build(host: Host) -> Attempt:
        marker, _ = _trap(host, name)
        text = f"import os\nopen({str(marker)!r}, 'w').close()\nos._exit(0)\n"
        propose(host, *changes, lambda h: h.write(f"{name}.py", text), lambda h: h.write(f"tools/{name}.py", text))
        return Attempt(env={"PYTHONPATH": str(host.path("tools"))}, cwd=host.repo, marker=marker)

    return build


def sitecustomize(host: Host) -> Attempt:
    """`src/sitecustomize.py` ends Python with 0, and the job has src on its path."""
    marker, _ = _trap(host, "sitecustomize")
    text = f"import os\nopen({str(marker)!r}, 'w').close()\nos._exit(0)\n"
    propose(host, lambda h: h.write("src/sitecustomize.py", text))
    return Attempt(env={"PYTHONPATH": str(host.path("src"))}, marker=marker)


def unchecked_pyc(host: Host) -> Attempt:
    """Compiled code that Python never compares with its source."""

    def change(host: Host) -> None:
        source = host.root / "api.py"
        source.write_text(CUTTING)
        target = host.path("src/parsekit/__pycache__/api.cpython-311.pyc")
        py_compile.compile(
            str(source), str(target), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
        host.git("add", "--force", str(target))

    return propose(host, change)


def shallow(host: Host) -> Attempt:
    """A clone of depth 1, with both branches and no common commit."""
    propose(host, better)
    host.checkout("main")
    host.people("main goes on", {PROPERTY: PROPERTIES + "\n"})
    clone = host.clone("shallow", "--depth=1", "--no-single-branch")
    return Attempt(base="origin/main", head="origin/agent", host=clone)


def partial(host: Host) -> Attempt:
    """A clone without blobs."""
    propose(host, better)
    host.git("config", "uploadpack.allowFilter", "true")
    clone = host.clone("partial", "--filter=blob:none", "--no-checkout")
    return Attempt(base="origin/main", head="origin/agent", host=clone)


def tag_over_remote_branch(host: Host) -> Attempt:
    """A pushed tag is called `origin/main`, and git prefers tags."""
    propose(host, better, weaker)
    clone = host.clone("clone")
    clone.git("tag", "origin/main", "origin/agent")
    return Attempt(base="origin/main", head="origin/agent", host=clone)


def tag_over_branch(host: Host) -> Attempt:
    """A tag has the branch's name."""
    propose(host, better)
    host.git("tag", "agent", "main")
    return Attempt()


def revision(base: str = "main", head: str = "agent") -> Builder:
    """An honest patch, asked for by other words."""

    def build(host: Host) -> Attempt:
        propose(host, better)
        return Attempt(base=base, head=head)

    return build


def replaced_base(host: Host) -> Attempt:
    """A replace ref makes base look as if it held the patch's oracle."""
    propose(host, better, weaker)
    forged = host.commit_tree(host.id("agent^{tree}"), host.id("main^"))
    host.git("replace", host.id("main"), forged)
    assert host.git("diff", "--name-only", "main", "agent") == ""
    return Attempt()


def grafted_base(host: Host) -> Attempt:
    """A grafts file gives head other parents, so that its range looks empty of the oracle's commit."""
    propose(host, weaker)
    better(host)
    host.commit("an honest commit")
    host.write(".git/info/grafts", f"{host.id('main')} {host.id('agent')}\n")
    return Attempt()


def configured(builder: Builder, **settings: str) -> Builder:
    """The same, in a repository whose own configuration steers git (`__` stands for the dot)."""

    def build(host: Host) -> Attempt:
        attempt = builder(host)
        for key, value in settings.items():
            host.git("config", key.replace("__", "."), value)
        return attempt

    return build


def hidden_submodule() -> Builder:
    """A submodule inside the oracle, which `diff.ignoreSubmodules=all` hides from `git diff`."""
    return configured(submodule_at("oracle/vendored"), diff__ignoreSubmodules="all")


def relative_from_src(host: Host) -> Attempt:
    """With `diff.relative`, git shows only what lies below the folder that it is run from."""
    attempt = configured(patch(better, weaker), diff__relative="true")(host)
    return Attempt(attempt.base, attempt.head, opts=("--repo", "."), cwd=host.path("src"))


def steered_by_environment(host: Host) -> Attempt:
    """The job's environment configures git, and points it to another repository."""
    submodule_at("oracle/vendored")(host)
    pairs = {"diff.ignoreSubmodules": "all", "diff.noprefix": "true", "diff.renames": "copies", "diff.relative": "src"}
    env = {"GIT_CONFIG_COUNT": str(len(pairs)), "GIT_LITERAL_PATHSPECS": "1"}
    for number, (key, value) in enumerate(pairs.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    other = host.root / "empty.git"
    host.git("init", "--quiet", "--bare", "--template=", other)
    env |= {"GIT_DIR": str(other), "GIT_INDEX_FILE": os.devnull, "GIT_EXTERNAL_DIFF": "true"}
    return Attempt(env=env)


def fake_git(host: Host) -> Attempt:
    """The search path begins with a folder of the patch's, which holds a `git` that always succeeds."""
    marker, script = _trap(host, "fake-git")
    propose(host, weaker, lambda h: h.write("src/bin/git", script, executable=True))
    return Attempt(env={"PATH": f"{host.path('src/bin')}:{os.environ['PATH']}"}, marker=marker)


def hooks(*changes: Change) -> Builder:
    """Every hook of the repository is the proposer's."""

    def build(host: Host) -> Attempt:
        propose(host, *changes)
        marker, script = _trap(host, "hook")
        folder = host.root / "hooks"
        folder.mkdir()
        for name in ("post-checkout", "post-merge", "post-index-change", "reference-transaction", "post-commit"):
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
        host.git("config", "core.hooksPath", str(folder))
        return Attempt(marker=marker)

    return build


def embedded_bare_repository(host: Host) -> Attempt:
    """`src/vendor` is a bare repository whose configuration runs a command; the job stands inside it."""
    marker, script = _trap(host, "fsmonitor")
    monitor = host.root / "monitor.sh"
    monitor.write_text(script)
    monitor.chmod(0o755)
    config = f'[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "{monitor}"\n'
    files = {"HEAD": "ref: refs/heads/main\n", "config": config, "objects/info/packs": "\n", "refs/heads/.keep": ""}
    propose(host, *(lambda h, n=n, c=c: h.write(f"src/vendor/{n}", c) for n, c in files.items()))
    return Attempt(opts=("--repo", str(host.repo)), cwd=host.path("src/vendor"), marker=marker)


def completed_bare_repository(host: Host) -> Attempt:
    """Base has folders that are nearly a bare repository; the patch adds the file that makes them one."""
    for name in ("objects/info/packs", "refs/heads/.keep", "config"):
        host.write(f"src/vendor/{name}", "\n")
    host.commit("some folders")
    return propose(host, lambda h: h.write("src/vendor/HEAD", "ref: refs/heads/main\n"))


def own_gate(host: Host, *opts: str) -> Path:
    """A checkout of main's gate that the test may spoil; the host is judged by it from now on."""
    host.gate = host.root / "gate"
    host.git("clone", "--quiet", "--branch=main", *opts, host.repo.as_uri(), host.gate)
    return host.gate


def planted_bytecode(host: Host) -> Attempt:
    """An earlier step left bytecode in the gate's folder that Python would run instead of its source."""
    marker, _ = _trap(host, "bytecode")
    source = host.root / "planted.py"
    source.write_text(f"import os\nopen({str(marker)!r}, 'w').close()\nos._exit(0)\n")
    kit = own_gate(host) / "fence_tasks"
    for module in ("__main__", "__init__", "cli", "rules"):
        py_compile.compile(
            str(source), str(kit / "__pycache__" / f"{module}.{sys.implementation.cache_tag}.pyc"), doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )  # fmt: skip
    attempt = propose(host, weaker)
    return Attempt(attempt.base, attempt.head, marker=marker)


def shadow_beside_the_gate(host: Host) -> Attempt:
    """Base itself has modules of the standard library's names beside the gate."""
    marker, _ = _trap(host, "shadow")
    text = f"import os\nopen({str(marker)!r}, 'w').close()\nos._exit(0)\n"
    for name in ("json", "hashlib", "tomllib", "subprocess", "argparse"):
        host.write(f"{name}.py", text)
    host.commit("odd names")
    gate = own_gate(host)
    propose(host, better)
    return Attempt(cwd=gate, marker=marker)


def steered_python(host: Host) -> Attempt:
    """The environment gives Python a path, a start-up file and other switches."""
    marker, _ = _trap(host, "python")
    folder = host.root / "evil"
    folder.mkdir()
    text = f"open({str(marker)!r}, 'w').close()\nraise SystemExit(0)\n"
    for name in ("json", "hashlib", "sitecustomize", "usercustomize", "argparse"):
        (folder / f"{name}.py").write_text(text)
    propose(host, weaker)
    env = {"PYTHONPATH": str(folder), "PYTHONSTARTUP": str(folder / "json.py"), "PYTHONOPTIMIZE": "2",
           "PYTHONUSERBASE": str(folder), "PYTHONWARNINGS": "error"}  # fmt: skip
    return Attempt(env=env, cwd=folder, opts=("--repo", str(host.repo)), marker=marker)


def edited_gate(host: Host) -> Attempt:
    """The gate that runs has one line more than base's."""
    with (own_gate(host) / "fence_tasks" / "rules.py").open("a") as file:
        file.write("# mine\n")
    return propose(host, better)


def skip_worktree(host: Host) -> Attempt:
    """The property on disk is weakened and hidden from `git status`; the patch holds only the weak one."""
    propose(host, lambda h: h.write("src/parsekit/api.py", CUTTING))
    host.git("update-index", "--skip-worktree", PROPERTY, "oracle/LOCK")
    weaker(host)
    assert host.git("status", "--porcelain") == ""
    return Attempt()


def bytecode_in_the_oracle(host: Host) -> Attempt:
    """Running the properties once left `__pycache__` in the oracle's work tree; the patch is honest."""
    propose(host, better)
    host.write("oracle/properties/__pycache__/roundtrip.cpython-311.pyc", b"\0" * 64)
    return Attempt()


def autocrlf(host: Host) -> Attempt:
    """An honest patch, judged in a clone whose work tree has other line ends than the objects."""
    propose(host, better)
    clone = host.clone("clone", "--config", "core.autocrlf=true")
    assert b"\r\n" in clone.path(PROPERTY).read_bytes()
    return Attempt(base="origin/main", head="origin/agent", host=clone)


def autocrlf_gate(host: Host) -> Attempt:
    """The gate's own checkout has other line ends than the objects."""
    gate = own_gate(host, "--config", "core.autocrlf=true")
    assert b"\r\n" in (gate / "fence_tasks" / "__main__.py").read_bytes()
    return autocrlf(host)


def sparse(host: Host) -> Attempt:
    """An honest patch, judged in a work tree that lacks the oracle."""
    propose(host, better)
    host.git("sparse-checkout", "set", "src")
    assert not host.path("oracle").exists()
    return Attempt()


def attributes(line: str, *, worktree: str = "agent") -> Builder:
    """A `.gitattributes` at the top that changes how the oracle's files reach a disk or an archive."""
    return asked_from(patch(better, lambda h: h.write(".gitattributes", f"{line}\n")), worktree)


def executable(name: str) -> Change:
    """Set a file's executable bit."""
    return lambda host: host.path(name).chmod(0o755)


def behind_a_new_oracle(host: Host) -> Attempt:
    """An honest branch; main has changed its oracle since."""
    propose(host, better)
    host.checkout("main")
    host.people("a comment", {PROPERTY: PROPERTIES + "\n# reviewed\n"})
    return Attempt()
