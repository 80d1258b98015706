"""The command line: one small parser and one small function a verb. The only catch-all is here."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from . import __version__, git, judging, steps
from .files import as_json
from .model import Finding, RefusedError
from .report import text, verdict
from .rules import ALLOWED, DENIED, OTHER_TREE, SAME_TREE, Code
from .score import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: Set by CI systems; with one of them a run without revisions must be asked for (design, section 4).
CI_VARIABLES = ("CI", "GITHUB_ACTIONS", "GITHUB_HEAD_REF", "GITLAB_CI", "CI_MERGE_REQUEST_IID", "CHANGE_ID",
                "BUILDKITE_PULL_REQUEST", "SYSTEM_PULLREQUEST_PULLREQUESTID")  # fmt: skip


class Parser(argparse.ArgumentParser):
    """argparse whose faults are ours: its own exit code 2 means something else here."""

    def error(self, message: str) -> NoReturn:
        """Raise RefusedError with `usage`."""
        raise RefusedError(Finding("usage", f"{self.prog}: {message}", remedy=f"{self.prog} --help"))


#: Verbs whose 0 says that something is allowed or well.
_ANSWERING = ("fence", "score", "explain", "landed")


def main(arguments: Sequence[str]) -> int:
    """Run one verb and answer its exit code; whatever goes wrong ends in one of the table's codes, never in 0."""
    try:
        options = _parser().parse_args(list(arguments))
        code = int(options.run(options))
        sys.stdout.flush()  # here, where a full disk or a closed pipe still gets a code of ours
    except RefusedError as error:
        return refuse(error, arguments)
    except KeyboardInterrupt:
        sys.stderr.write("NONE 70  interrupted: no verdict was reached\n")
        return Code.INTERNAL
    except SystemExit:  # argparse's --help and --version
        # A branch may be called `--help`: where 0 is an answer, a help page is none.
        return Code.USAGE if set(arguments[:1]) & set(_ANSWERING) else Code.PASS
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that Python's own flush at exit meets no fault
        return refuse(RefusedError(Finding("gate-failed", f"the gate could not read or write: {error}")))
    except Exception:  # noqa: BLE001 - the one place that turns a fault of the gate into its code
        traceback.print_exc()
        return refuse(RefusedError(Finding("gate-failed", "the gate raised; the lines above say where")))
    return code


def refuse(error: RefusedError, arguments: Sequence[str] = (), called_from: str = ".") -> int:
    """Print a refusal that has no run behind it, and answer its code.

    Where `arguments` name a run folder (relative to `called_from`), the refusal is its verdict: yesterday's pass
    does not survive there.
    """
    built = verdict.build(None, [], list(error.findings), [], verdict.Facts())
    sys.stderr.write(text.render(built, colour=colours(sys.stderr)))
    places = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    places.add_argument("--out", default="")
    try:
        out = str(places.parse_known_args(list(arguments))[0].out)
        if out and error.findings[0].rule != "run-folder":
            stage.begin(str(Path(called_from) / out), [_checkout(called_from)], Code.INTERNAL).finish(built, {})
    except (argparse.ArgumentError, OSError, RefusedError) as fault:
        sys.stderr.write(f"no verdict could be written: {text.escape(str(fault))}\n")
    return int(built["code"])


def _checkout(folder: str) -> str:
    """The work tree that a folder lies in; "" if there is none. No run folder may lie there."""
    try:
        return git.locate(folder).worktree
    except RefusedError:
        return ""


def colours(stream: TextIO) -> bool:
    """True where colour helps: a terminal, and NO_COLOR not set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _parser() -> Parser:
    parser = Parser(prog="fence_tasks", description="Decide whether a patch may count as verified.")
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=Parser)
    for add in (_fence, _score, _explain, _landed, _report, _confinement, _steps):
        add(verbs)
    return parser


def _verb(verbs: Any, name: str, run: Callable[[argparse.Namespace], int], about: str, example: str) -> Parser:
    parser: Parser = verbs.add_parser(name, help=about, description=about, allow_abbrev=False,
                                      epilog=f"example: python -I fence_tasks/__main__.py {example}")  # fmt: skip
    parser.set_defaults(run=run)
    return parser


def _fence(verbs: Any) -> None:
    parser = _verb(verbs, "fence", run_fence, "judge git objects alone; execute nothing of the patch",
                   "fence origin/main HEAD --onto refs/remotes/origin/main")  # fmt: skip
    parser.add_argument("base", metavar="BASE")
    parser.add_argument("head", metavar="HEAD")
    _places(parser)


def _places(parser: Parser) -> None:
    parser.add_argument("--repo", default=".", metavar="DIR", help="the judged repository (default: here)")
    parser.add_argument("--out", default=None, metavar="DIR", help="the run folder (default: a new numbered one)")
    parser.add_argument("--onto", default=None, metavar="REF", help="the protected branch that base must be the tip of")
    parser.add_argument("--quiet", action="store_true", help="print the first line only")


def _score(verbs: Any) -> None:
    parser = _verb(verbs, "score", run_score, "judge a patch and run base's evidence on it, without Nox",
                   "score --base main --head patch")  # fmt: skip
    score_options(parser)


def score_options(parser: Parser) -> None:
    """The options of `score`, which the Nox session takes too."""
    parser.add_argument("--base", default=None, metavar="REV", help="the commit to merge into")
    parser.add_argument("--head", default=None, metavar="REV", help="the commit proposed")
    parser.add_argument("--seed", type=int, default=None, metavar="N", help="another seed; the verdict does not bind")
    parser.add_argument("--isolation", choices=("any",), default="", help="limits alone; the verdict does not bind")
    parser.add_argument("--adopt", action="store_true", help="base has no oracle yet: account for it; does not bind")
    parser.add_argument("--self-check", action="store_true", help="run HEAD's evidence on HEAD")
    _places(parser)


def request_of(options: argparse.Namespace, environ: Mapping[str, str]) -> dict[str, Any]:
    """What `score` is asked to do. Raises RefusedError with `usage` for a combination that means nothing."""
    given = {k: getattr(options, k) for k in ("base", "head", "onto") if getattr(options, k) is not None}
    if empty := [k for k, v in given.items() if not v]:
        raise _usage(f"--{empty[0]} is empty; was a variable not set?")
    _not_empty(options)
    if ("base" in given) != ("head" in given):
        raise _usage("--base and --head go together")
    if options.self_check and given:
        raise _usage("--self-check takes no revisions")
    if options.seed is not None and not 0 <= options.seed < 2**64:
        raise _usage("--seed is not a number from 0 to 2**64 - 1")
    if options.adopt and not given:
        raise _usage("--adopt goes with --base and --head")
    if not given.get("base"):
        if "onto" in given:
            raise _usage("--onto goes with --base and --head")
        variable = next((v for v in CI_VARIABLES if environ.get(v)), "")
        if variable and not options.self_check:
            raise _usage(f"{variable} is set and no revisions are given; for a self-check say --self-check")
    return {
        "base": given.get("base", "HEAD"), "head": given.get("head", "HEAD"), "onto": given.get("onto", ""),
        "repo": options.repo, "out": options.out or "", "seed": options.seed, "subject": "patch" if given else "self",
        "adopt": options.adopt, "isolation": options.isolation, "ci": bool(environ.get("CI")),
    }  # fmt: skip


def _not_empty(options: argparse.Namespace) -> None:
    if not options.repo or options.out == "":
        raise _usage("--repo or --out is empty; was a variable not set?")


def _usage(message: str) -> RefusedError:
    return RefusedError(Finding("usage", message, remedy="nox -s score -- --base main --head my-branch"))


def run_fence(options: argparse.Namespace) -> int:
    """`fence BASE HEAD`: the data-only gate."""
    if not all((options.base, options.head, options.onto is None or options.onto)):
        raise _usage("a revision is empty; was a variable not set?")
    _not_empty(options)
    run = steps.begin({
        "base": options.base, "head": options.head, "onto": options.onto or "", "repo": options.repo,
        "out": options.out or "", "seed": None, "subject": "patch", "adopt": False,
    })  # fmt: skip
    steps.fence(run, evidence=False)
    return finish(run, evidence=False, quiet=options.quiet)


def run_score(options: argparse.Namespace) -> int:
    """`score`: every step in turn, with this interpreter for the candidate."""
    run = steps.begin(request_of(options, os.environ))
    if steps.fence(run, evidence=True) is Code.PASS and steps.candidate(run, sys.executable, []) is Code.PASS:
        for kind in steps.EVIDENCE_STEPS:
            steps.evidence(run, kind)
    return finish(run, evidence=True, quiet=options.quiet)


def finish(run: stage.Run, *, evidence: bool, quiet: bool = False) -> int:
    """Write the verdict, print it, and answer its code."""
    built = steps.verdict(run, evidence=evidence)
    request = run.read("request.json") or {"base": "", "head": ""}
    # As it was typed: after a push, the same names mean the new commits.
    typed = shlex.join(["nox", "-s", "score", "--", "--base", request["base"], "--head", request["head"]])
    again = typed if built["base"] and built["subject"] != "self" else ""
    lines = text.render(built, request, colour=colours(sys.stdout), again=again)
    whole = f"{lines}The whole verdict:\n{run.folder / stage.VERDICT}\n"
    sys.stdout.write(whole if not quiet else lines.split("\n", 1)[0] + "\n")
    return int(built["code"])


def _explain(verbs: Any) -> None:
    parser = _verb(verbs, "explain", run_explain, "say whether a proposer may change these paths",
                   "explain src/app.py oracle/LOCK")  # fmt: skip
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--staged", action="store_true", help="the paths staged in the index")
    parser.add_argument("--base", default="HEAD", metavar="REV", help="whose policy (default: HEAD)")
    parser.add_argument("--repo", default=".", metavar="DIR")


def run_explain(options: argparse.Namespace) -> int:
    """`explain`: 0 if every path is allowed, 2 if one is denied."""
    if bool(options.paths) == options.staged:
        raise _usage("give paths, or --staged")
    rows = judging.explain(options.repo, options.base, options.paths)
    for path, found in rows:
        word = "allowed" if all(r["level"] == "note" for r in found) else "denied"
        sys.stdout.write(f"{word:8} {text.escape(path)}\n")
        for r in found:
            sys.stdout.write(f"         {r['rule']}: {text.escape(r['message'])}\n")
            sys.stdout.write(f"         -> {text.escape(r['remedy'])}\n")
    return DENIED if any(r["level"] == "error" for _, found in rows for r in found) else ALLOWED


def _landed(verbs: Any) -> None:
    parser = _verb(verbs, "landed", run_landed, "say whether a commit has exactly the tree that was judged",
                   "landed HEAD --verdict run/verdict.json")  # fmt: skip
    parser.add_argument("commit", metavar="COMMIT")
    parser.add_argument("--verdict", required=True, metavar="FILE")
    parser.add_argument("--repo", default=".", metavar="DIR")


def run_landed(options: argparse.Namespace) -> int:
    """`landed`: 0 if the commit's tree is the verdict's merge result, 1 if it is another."""
    judged = _verdict_file(options.verdict)
    tree = steps.tree_of(options.repo, options.commit)
    if judged["verdict"] not in {"pass", "review"} or not judged["merge_result"]:
        sys.stdout.write(f"other tree: the verdict is {judged['verdict']} {judged['code']}\n")
        return OTHER_TREE
    same = tree == judged["merge_result"]
    sys.stdout.write(f"{'exactly' if same else 'not'} the tree that was judged: {tree}\n")
    return SAME_TREE if same else OTHER_TREE


def _report(verbs: Any) -> None:
    parser = _verb(verbs, "report", run_report, "print a verdict again", "report run/verdict.json --format text")
    parser.add_argument("verdict", metavar="VERDICT")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run_report(options: argparse.Namespace) -> int:
    """`report`: always 0 if the verdict could be read; the verdict's own code stands in it."""
    judged = _verdict_file(options.verdict)
    sys.stdout.write(text.as_json(judged) if options.format == "json" else text.render(judged))
    return ALLOWED


def _verdict_file(path: str) -> dict[str, Any]:
    import json  # noqa: PLC0415 - two verbs need it

    try:
        judged = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise RefusedError(Finding("usage", f"{path} is not a verdict: {error}")) from error
    keys = set(verdict.build(None, [], [], [], verdict.Facts()))
    if not isinstance(judged, dict) or judged.get("format") != 1 or not keys <= set(judged):
        raise RefusedError(Finding("usage", f"{path} is not a finished verdict of format 1"))
    return judged


def _confinement(verbs: Any) -> None:
    _verb(verbs, "confinement", run_confinement, "say how this machine can confine a candidate", "confinement")


def run_confinement(_: argparse.Namespace) -> int:
    """`confinement`: 0, whatever this machine has."""
    from .candidate import confine  # noqa: PLC0415 - one verb needs it

    found = confine.measure(sys.executable, [], {})
    sys.stdout.write(f"isolation {found.level}: {', '.join(found.applied)}\n")
    sys.stdout.writelines(f"  not covered: {what}\n" for what in found.not_covered)
    sys.stdout.writelines(f"  {text.escape(why)}\n" for why in found.missing)
    return ALLOWED


def _steps(verbs: Any) -> None:
    """The steps that the Nox sessions call, each on a run folder."""
    for name, run in _STEPS.items():
        parser = _verb(verbs, name, run, "a step of score, called by Nox", f"{name} --run DIR")
        parser.add_argument("--run", dest="folder", required=True, metavar="DIR")
        parser.add_argument("--quiet", action="store_true")
        if name == "score-candidate":
            parser.add_argument("--python", required=True)
            parser.add_argument("--site", action="append", default=[])
    scorer = _verb(verbs, "scorer", run_scorer, "the scorer's own process, called by a step",
                   "scorer properties JOB")  # fmt: skip
    scorer.add_argument("kind", choices=steps.EVIDENCE_STEPS)
    scorer.add_argument("job")


_STEPS: dict[str, Callable[[argparse.Namespace], int]] = {
    "score-fence": lambda o: steps.fence(stage.resume(o.folder), evidence=True),
    "score-candidate": lambda o: steps.candidate(stage.resume(o.folder), o.python, o.site),
    "score-fixtures": lambda o: steps.evidence(stage.resume(o.folder), steps.FIXTURES),
    "score-properties": lambda o: steps.evidence(stage.resume(o.folder), steps.PROPERTIES),
    "score-verdict": lambda o: finish(stage.resume(o.folder), evidence=True, quiet=o.quiet),
}


def run_scorer(options: argparse.Namespace) -> int:
    """The process that runs evidence: reads a job, and writes its result to standard output and nothing else there."""
    from .score import suite  # noqa: PLC0415 - needs hypothesis and msgspec
    from .score.job import Job  # noqa: PLC0415

    job = Job.from_json(Path(options.job).read_bytes())
    run = suite.run_properties if options.kind == steps.PROPERTIES else suite.run_fixtures
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)  # what an oracle file prints belongs to the log
        answer.write(as_json(asdict(run(job))))
    return ALLOWED
