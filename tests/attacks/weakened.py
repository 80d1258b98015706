"""How each row of the attacks can fail: changes to the gate, one at a time, under which its rows lose their answer.

A weakening is data: a name, a sentence that says what the weaker gate does, the rows that see it, and small edits of
the kit's files, each `(file below fence_tasks/, text that stands there exactly once, the text in its place)`. Most are
what a simpler gate would do; where an attack is closed twice, one weakening opens both.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host import Host

    Edit = tuple[str, str, str]

PATHS, JUDGE, FROZEN = "fence/paths.py", "fence/judge.py", "fence/frozen.py"
PLANS, STAGE, JUDGING, STEPS = "score/plans.py", "score/stage.py", "judging.py", "steps.py"
GIT, START, CLI = "git.py", "__main__.py", "cli.py"

FOUND = "    found = store.difference(plan.base_tree, head_tree if conflicts else plan.merge_result)\n"
GUARD = "    path = change.path\n    if owned := protected(path, policy):\n"
TWICE = 'faults.append((path, "the name stands twice in its folder"))'
ALL = "[*oracle.findings, *found, *conflicts, *_gate(question)]"
SHALLOW = "    if repository.shallow:\n"


@dataclass(frozen=True, slots=True)
class Weakening:
    """One named change to the gate; `rows` are the ids, parted by blanks, of those that must see it."""

    name: str
    sentence: str
    rows: str
    edits: tuple[Edit, ...]


def _gone(file: str, old: str) -> Edit:
    return file, old, ""


def _never(file: str, condition: str) -> Edit:
    """A condition that no longer holds."""
    return file, f"if {condition}:", "if False:"


def _then(*lines: str) -> Edit:
    """What is done with the changes (`found`) right after they were listed."""
    return PLANS, FOUND, FOUND + "".join(f"    {line}\n" for line in lines)


def _only(condition: str) -> Edit:
    """Only those changes `c` are looked at."""
    return _then(f"found.changes[:] = [c for c in found.changes if {condition}]")


def _let_through(condition: str) -> Edit:
    """Paths are allowed before any rule has seen them."""
    return PATHS, GUARD, f"    path = change.path\n    if {condition}:\n        return []\n" + GUARD.split("\n", 1)[1]


def _let_rule(rule: str) -> Edit:
    return _let_through(f'(found := protected(path, policy)) and found.rule == "{rule}"')


#: Production may hold what the oracle holds; a malformed tree is as good as any; what no rule denies is allowed; two
#: names of one folder may be one file.
COPIES = (JUDGING, "judge.suspected_copies(found.changes, audited.files, policy)", "{}")
MALFORMED = _gone(JUDGE, '    findings += [Finding("tree-malformed", why, path) for path, why in patch.malformed]\n')
OUTSIDE = (PATHS, "return [_outside(change, policy)]", "return []")
CLASHES = _gone(JUDGE, "    findings += paths.clashes(added, patch.folders)\n")

CHANGES = (
    Weakening("quoted-names", "names that git quotes are not looked at (`git diff` without -z)",
        "B11 B12 B13 B16 B21", (_only("c.path.isascii()"),)),
    Weakening("no-deletions", "deletions are not looked at (--diff-filter=ACMR)",
        "B87 B87c", (_only("not c.deleted"),)),
    Weakening("renames-followed", "a rename shows its new name only, and copies of evidence are nobody's business",
        "B04 B05 B06", (_only("not (c.deleted and c.old_oid in {d.new_oid for d in found.changes if d.added})"), COPIES)),
    Weakening("links-skipped", "links are not looked at, as where a tree is read by is_file(); copies are not either",
        "B07 B08 B09 B31 B86", (_only('c.new_mode != "120000"'), COPIES)),
    Weakening("submodules-skipped", "submodules are not looked at",
        "submodule", (_only('c.new_mode != "160000"'),)),
    Weakening("modes-skipped", "contents are compared, modes are not",
        "B85", (("trees.py", "(twin.mode, twin.oid) == (entry.mode, entry.oid)", "twin.oid == entry.oid"),)),
    Weakening("capped", "only the first 3,000 changes are looked at, as a forge's API lists them",
        "B57", (_then("del found.changes[3000:]"),)),
    Weakening("unframed-digest", "an oracle is unchanged if a digest over its names and contents without lengths is",
        "B14 B15", (_then(
            "sums = []",
            "for tree in (plan.base_tree, plan.merge_result):",
            '    files = [f for f in store.listing(tree, "oracle") if f.path != "oracle/LOCK"]',
            "    parts = zip(files, store.contents([f.oid for f in files]), strict=True)",
            '    sums.append(b"".join(b"\\0%s\\0%s" % (f.path.removeprefix("oracle/").encode(), blob.data) for f, blob in parts))',
            "if sums[0] == sums[1]:",
            '    found.changes[:] = [c for c in found.changes if not c.path.startswith("oracle/")]'),)),
    Weakening("malformed-trees", "what is wrong with a tree object itself is not said",
        "no-blob no-tree unsorted", (MALFORMED,)),
    Weakening("first-twin", "of two entries of one name the first is looked at",
        "two-src", (("trees.py", TWICE, "at = end\n            continue"),)),
    Weakening("last-twin", "of two entries of one name the last is looked at",
        "two-oracles", (("trees.py", TWICE, "entries = [e for e in entries if e.path != path]"),)),
)  # fmt: skip

PATH_RULES = (
    Weakening("gate-writable", "the gate, CI files among it, is allowed like production",
        "B01 B01b B01d D04", (_let_rule("gate-touched"),)),
    Weakening("oracle-writable", "the oracle is allowed like production",
        "B46d B87b lock-edited thaw conflict-oracle conflict-inside", (_let_rule("oracle-touched"),)),
    Weakening("allowed-unless-denied", "what no rule denies is allowed, wherever it lies",
        "B01c repro conflict-stray", (OUTSIDE,)),
    Weakening("deny-list", "a list of denied names, compared byte for byte, and nothing more",
        "B18 B18b B19 B19b B19c B19d B23 B23b B23c B23d", (
            _never(PATHS, "names.below(path, other)"),
            (PATHS, "    where = place(path, policy)\n    if found", "    return []\n    if found"),
            CLASHES)),
    Weakening("blanks-stripped", "names are compared without the blanks in front of them",
        "B24", (("oracle/names.py", "return path.lower()", "return path.lower().strip()"),)),
    Weakening("any-name", "a name may be any bytes that a tree object can hold",
        "B27 B28 B90 dash not-utf8 no-name git git-short git-joiner dot slash",
        ((PATHS, "odd = names.oddity(fresh) if change.added else None", "odd = None"), MALFORMED)),
    Weakening("clashes", "two names may be one file on a folding disk",
        "two-names B20b", (CLASHES,)),
    Weakening("attributes", "git's own files are allowed anywhere",
        "B81 B81b B82 B84 gitmodules",
        (_let_through('path.rsplit("/", 1)[-1] in {".gitattributes", ".gitmodules"}'),)),
    Weakening("unreserved", "no name is reserved for Python, test runners and task runners, at the top either",
        "A20 A21 A22 A25 B68 B68b B74 C28",
        (_never(PATHS, "not change.deleted and (reserved := _reserved(change, where, policy))"), OUTSIDE)),
    Weakening("bare-repositories", "a folder may be a repository",
        "B70 B70b", (_gone(JUDGE, "    findings += paths.repositories(added, patch.folders)\n"),)),
)  # fmt: skip

FREEZES = (
    Weakening("frozen-paths", "frozen paths may come back",
        "frozen conflict-frozen", (_gone(JUDGE, "    findings += frozen.by_path(patch.cases, added)\n"),)),
    Weakening("frozen-bytes", "frozen paths are compared byte for byte",
        "B20", ((FROZEN, "[(f, fold(f.case.retired_src_path)) for", "[(f, f.case.retired_src_path) for"),
                (FROZEN, 'fold(path) == folded or fold(path).startswith(folded + "/")', "path == folded"),
                (FROZEN, '("~" in path and below(path, folded))', "False"))),
    Weakening("frozen-files", "what lies below a frozen path is not looked at",
        "B30", ((FROZEN, 'fold(path).startswith(folded + "/")', "False"),)),
    Weakening("frozen-contents", "what a frozen case holds may come back",
        "B32", (_gone(JUDGE, "    findings += frozen.by_content(patch.cases, patch.texts)\n"),)),
    Weakening("frozen-spelling", "a frozen case's content is compared byte for byte",
        "B32b B32d", ((FROZEN, 'return b"".join(_NOISE.sub(b"", _COMMENT.sub(b"", line)) for line in content.splitlines())',
                       "return content"),)),
    Weakening("frozen-whole", "only the whole of a frozen file is looked for, no test's body",
        "B32c B32e", ((FROZEN, "return whole + bodies", "return whole"),)),
    Weakening("frozen-names", "a retired test may be defined again",
        "frozen-name", (_gone(JUDGE, "    findings += frozen.by_name(patch.cases, patch.texts)\n"),)),
    Weakening("frozen-names-anywhere", "a retired name is banned in every file",
        "frozen-other",
        ((FROZEN, 'if "." in name or fold(text.path) == fold(f.case.retired_src_path)\n', "if True\n"),)),
    Weakening("expired-freezes", "a freeze that ran out fails whoever comes next",
        "B35", ((JUDGE, "    findings += frozen.by_name(patch.cases, patch.texts)\n",
                 '    findings += [Finding("frozen-path", "ran out", f.case.retired_src_path) for f in patch.cases\n'
                 '                 if __import__("time").time() > (f.case.expires_unix or 0)]\n'),)),
)  # fmt: skip

RANGES = (
    Weakening("merge-base-oracle", "oracle and policy come from the merge base, not from base",
        "B34 B44 B45", ((JUDGING, "files = plans.oracle(store, plan.base_tree, blake3)",
                         "files = plans.oracle(store, store.commit_and_tree(plan.merge_bases[0])[1], blake3)"),)),
    Weakening("three-dots", "what lands is not made: the branch is compared with the merge base that shows least",
        "B40 B53 B53b B56", ((PLANS, FOUND,
            "    bases = [store.commit_and_tree(b)[1] for b in plan.merge_bases]\n"
            "    found = min((store.difference(b, head_tree) for b in bases), key=lambda d: len(d.changes))\n"),)),
    Weakening("two-dots", "head's tree is compared with base's, and no merge base is asked for",
        "B50 B95 unrelated", (
            _never(PLANS, "repository.shallow"),
            (PLANS, "bases = store.merge_bases(plan.base, plan.head)", "bases = (plan.base,)"),
            (PLANS, '(() if store.has_merges(plan.base, plan.head) else ("rebase",))', "()"),
            (JUDGING, 'tuple(store.touching(plan.base, plan.head, ["oracle/", *policy.gate.paths]))', "()"))),
    Weakening("log", "changes are what `git log --name-only` shows, which leaves merges out",
        "B42", (_then(
            'args = ["log", "--format=", "--name-only", "-z", f"{plan.base}..{plan.head}"]',
            'named = store._run(args)[1].split(b"\\0")',
            "found.changes[:] = [c for c in found.changes if c.path.encode() in named]"),)),
    Weakening("empty-range", "a range without a change holds nothing that could be wrong",
        "B46c B47 B47b B48", (
            _never(PLANS, "plan.base == plan.head"), _never(PLANS, "plan.head in bases"),
            _never(PLANS, "not conflicts and result == plan.base_tree"))),
    Weakening("history", "what was touched and restored is not looked at",
        "B46 B46b", (_gone(JUDGE, "    findings += _history(patch, findings, policy)\n"),)),
    Weakening("conflict-first", "a conflict ends the judging",
        "conflict-oracle conflict-stray conflict-frozen conflict-inside", ((JUDGING,
            "    changes, moved = plans.changes(",
            "    if conflicts:\n        raise RefusedError(*conflicts)\n    changes, moved = plans.changes("),)),
    Weakening("conflict-nothing", "a conflict is for whoever merges",
        "conflict B53c", ((JUDGING, ALL, "[*oracle.findings, *found, *_gate(question)]"),)),
    Weakening("any-base", "base may be any commit of the protected branch",
        "base-behind base-behind-merge", (_never(PLANS, "onto and onto != base"),)),
    Weakening("no-oracle", "where base has no oracle, src/ is writable and nothing else is asked for",
        "adoption not-adopted", ((JUDGING,
            '        raise RefusedError(Finding("not-adopted", "base has no oracle/, so there is no policy to judge by", "oracle"))',
            '        return audit.Audit(Policy(policies.Production(("src/",))), (), ())'),)),
)  # fmt: skip

REVISIONS = (
    Weakening("rev-parse", "git says what a name means",
        "B51 B51b B94 B94b B94c", ((GIT,
            "    return {name: name if _HEX.fullmatch(name) else _exactly_one(name, refs) for name in wanted}",
            '    asked = {n: run(["rev-parse", "--verify", n], cwd=repository.folder)[1] for n in wanted}\n'
            "    return {name: text_of(out).strip() for name, out in asked.items()}"),)),
    Weakening("unknown-is-head", "a name that means nothing is HEAD",
        "unknown B94e", ((GIT, '    if not found:\n        raise RefusedError(Finding("revision-unknown"',
                          '    if not found:\n        return refs["HEAD"]\n'
                          '        raise RefusedError(Finding("revision-unknown"'),)),
    Weakening("missing-commit", "a commit that is not there is an object like any other that is missing",
        "unknown-id", ((GIT, 'raise RefusedError(Finding("revision-unknown", f"{oid} is not a commit of this repository")) from error',
                        "raise"),)),
    Weakening("defaults", "an empty revision is one that was not given: main, and HEAD",
        "empty-base empty-head", (
            _never(CLI, "not all((options.base, options.head, options.onto is None or options.onto))"),
            (CLI, '"base": options.base, "head": options.head,',
             '"base": options.base or "main", "head": options.head or "HEAD",'))),
    Weakening("argparse", "argparse ends the gate with its own code",
        "B94d", ((CLI, 'raise RefusedError(Finding("usage", f"{self.prog}: {message}", remedy=f"{self.prog} --help"))',
                  "super().error(message)"),
                 (CLI, "return Code.USAGE if set(arguments[:1]) & set(_ANSWERING) else Code.PASS", "raise"))),
)  # fmt: skip

MACHINES = (
    Weakening("partial-clones", "a partial clone is judged like a whole one",
        "B50b", (_never(PLANS, "repository.partial"),)),
    Weakening("judged-git-dir", "git runs in the judged repository itself, and is believed",
        "B60 B60b union", (
            _gone(GIT, '        "GIT_NO_REPLACE_OBJECTS": "1",\n'),
            (GIT, '"GIT_DIR": str(git_dir)}', '"GIT_DIR": str(Path(repository.objects).parent)}'),
            (GIT, "return made.hexdigest() == oid", "return True"))),
    Weakening("porcelain", "`git diff` lists the changes, under the judged repository's configuration",
        "B62 B64", (_then(
            'args = ["diff", "--name-only", "-z", plan.base_tree, plan.merge_result]',
            'named = git.run(args, cwd=store.repository.folder)[1].split(b"\\0")',
            "found.changes[:] = [c for c in found.changes if c.path.encode() in named]"),)),
    Weakening("inherited-environment", "git gets the job's environment",
        "B65", ((GIT, '    return {\n        "PATH": os.defpath,', '    return {\n        **os.environ,\n        "PATH": os.defpath,'),)),
    Weakening("search-path", "git is looked up on the search path",
        "B67", ((GIT, "for folder in FOLDERS:", 'for folder in (*os.environ["PATH"].split(":"), *FOLDERS):'),)),
    Weakening("checkout", "the gate checks head out where the proposer's hooks are",
        "B69", ((PLANS, SHALLOW, '    git.run(["checkout", "--quiet", request["head"]], cwd=repository.folder)\n' + SHALLOW),)),
    Weakening("callers-imports", "the caller's folder and PYTHONPATH are on the gate's import path",
        "B02 B02c B03 C01", ((START, "    sys.meta_path.insert(0, FromSource)\n",
            '    sys.path[:0] = [os.getcwd(), *os.environ.get("PYTHONPATH", "").split(":")]\n'
            "    sys.meta_path.insert(0, FromSource)\n"),)),
    Weakening("bytecode", "the gate's modules are imported as any others are",
        "B73", ((START, "sys.meta_path.insert(0, FromSource)", "sys.path.insert(0, os.path.dirname(FOLDER))"),)),
    Weakening("any-gate", "the gate that runs is not compared with base's",
        "gate-differs", (_never(JUDGING, "not differing"),
                         (JUDGING, '    rule = "gate-note" if plan.subject == "self" else "gate-differs"', '    rule = "gate-note"'))),
    Weakening("staged-from-disk", "the evidence is copied from the work tree, and compared with itself",
        "B71", (
            (STAGE, 'store.export([Entry(f.mode, f.oid, f.path) for f in files], folder, "oracle/")',
             'shutil.copytree(Path(store.repository.worktree) / "oracle", folder)'),
            (STEPS, '{f.path.removeprefix("oracle/"): f.blake3 for f in judged.oracle.files}',
             'stage.digests(run.stage / "oracle", judging.blake3_hex())'))),
    Weakening("work-tree", "the oracle is what lies in the work tree",
        "B72 B80 B89", ((PLANS, '    return stage.read_oracle(store, store.listing(tree, "oracle"), blake3)',
            "    from pathlib import Path\n"
            "    from ..model import Entry\n"
            "    top = Path(store.repository.worktree)\n"
            '    files = sorted(p for p in (top / "oracle").rglob("*") if p.is_file())\n'
            '    entries = [(Entry("100644", "", p.relative_to(top).as_posix()), p.read_bytes()) for p in files]\n'
            "    return [stage.file_of(entry, data, blake3) for entry, data in entries]"),)),
)  # fmt: skip

BASES = (
    Weakening("no-audit", "what is wrong with base's oracle is not said",
        "lock-drift lock-missing manifest oracle-link store-half store-name",
        ((JUDGING, ALL, "[*found, *conflicts, *_gate(question)]"),)),
    Weakening("unknown-keys", "a key of the policy that nobody knows is left aside",
        "policy-key", (("oracle/policy.py", 'self.fault(name, key, "unknown key")', "pass"),)),
    Weakening("base-judged", "the evidence is run on base's code alone",
        "lossy wrong-output", ((STEPS, '(judged.plan.merge_result, "head")', '(judged.plan.base_tree, "head")'),)),
)  # fmt: skip

WEAKENINGS = (*CHANGES, *PATH_RULES, *FREEZES, *RANGES, *REVISIONS, *MACHINES, *BASES)


def times(kit: Path, edit: Edit) -> int:
    """How often an edit's old text stands in its file of the kit."""
    file, old, _ = edit
    return (kit / file).read_text("utf-8").count(old)


def weaken(host: Host, weakening: Weakening) -> None:
    """Make the weaker kit main's own, as if it had been adopted, and judge the host by a copy of it: a gate that
    differs from base's would be refused for that alone."""
    for file, old, new in weakening.edits:
        host.replace(f"fence_tasks/{file}", old, new)
    host.git("add", "--all")
    host.git("commit", "--quiet", "--amend", "--no-edit", "--no-verify")
    host.gate = host.root / "gate"
    shutil.copytree(host.path("fence_tasks"), host.gate / "fence_tasks")
