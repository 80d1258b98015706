"""The rule table: what each finding is called, which exit code it means, who acts and what to do.

This is the only place that holds exit codes. `docs/rules.md` and `docs/verdicts.md` are generated from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .model import Finding


class Code(IntEnum):
    """Exit codes of a verdict and, below, of the other commands."""

    PASS = 0
    FIXTURE = 1
    TOUCHED = 2
    LOCK = 3
    FROZEN = 4
    STORE = 5
    PROPERTY = 6
    SKIP = 7
    NO_EVIDENCE = 8
    USAGE = 64
    MALFORMED = 65
    UNAVAILABLE = 69
    INTERNAL = 70
    NOT_JUDGEABLE = 75


#: Codes of commands that give no verdict: `explain`, `landed`, and `check` and the like.
ALLOWED, DENIED = 0, 2
SAME_TREE, OTHER_TREE = 0, 1
CLEAN, WITH_FINDINGS = 0, 1

#: code → (verdict, meaning), as `docs/verdicts.md` prints it.
MEANINGS: dict[Code, tuple[str, str]] = {
    Code.PASS: ("pass, review", "the fence held and all evidence was met; or a person's change is well-formed"),
    Code.FIXTURE: ("fail", "a fixture's output digest differs from the expected one"),
    Code.TOUCHED: ("fail", "the patch touches the oracle, the gate, or anything outside roots and also"),
    Code.LOCK: ("none", "base's `oracle/LOCK` does not match base's oracle"),
    Code.FROZEN: ("fail", "the patch recreates a frozen case"),
    Code.STORE: ("none", "base's fixture store is corrupt: a wrong name, or half of a pair is missing"),
    Code.PROPERTY: (
        "fail",
        ("a property was falsified; or, on head only, a build, an import or a call failed, a call gave no bytes, the "
         "candidate died, hung, broke the protocol or gave two answers, or a share that base meets was missed"),
    ),
    Code.SKIP: ("fail", "the patch adds a skip that the policy bans"),
    Code.NO_EVIDENCE: ("none", "base has no evidence, or a property of base's (nearly) never reaches the candidate"),
    Code.USAGE: ("none", "usage: bad or empty argument, unknown or ambiguous revision, empty or reversed range"),
    Code.MALFORMED: ("none", "a file of base's oracle is malformed; a property does not return a Boolean on base"),
    Code.UNAVAILABLE: ("none", "something needed is not there: git, a package, isolation, base's own candidate"),
    Code.INTERNAL: ("none", "the gate itself failed"),
    Code.NOT_JUDGEABLE: ("none", "not judgeable as it stands; the finding says what to do"),
}

#: The code of a verdict is that of its first error in this order; calibration comes last of all.
ORDER = tuple(Code(c) for c in (64, 65, 70, 2, 3, 4, 7, 75, 69, 5, 1, 6, 8))

PROPOSER, OWNER, OPERATOR, MAINTAINER = "the proposer", "the oracle's owner", "the CI's operator", "a maintainer"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding. `level` is `error` or `note`; a note never changes the code. `calibration` marks
    what base misses too: it yields to every other error, so that it cannot hide a regression."""

    name: str
    code: Code
    meaning: str
    remedy: str
    who: str
    level: str = "error"
    calibration: bool = False


def _rules(code: Code, who: str, *rows: tuple[str, str, str]) -> list[Rule]:
    return [Rule(name, code, meaning, remedy, who) for name, meaning, remedy in rows]


_RENAME = "give the file a name that every file system opens the same way"
_TAKE_OUT = "take the path out of the patch; if it is meant, a person proposes that change alone"

_TABLE: list[Rule] = [
    *_rules(
        Code.USAGE,
        OPERATOR,
        ("usage", "the command line is not valid", "see --help"),
        ("revision-unknown", "no such branch, tag, remote branch or commit", "fetch it, or give the full commit id"),
        ("revision-ambiguous", "the name means more than one ref", "write it in full: refs/heads/…, refs/tags/…"),
        ("revision-form", "the revision is an expression or not a plain name", "give a name or a full commit id"),
        ("range-empty", "head adds nothing to base", "check which commits the job was given"),
        ("range-reversed", "head is an ancestor of base", "swap --base and --head"),
    ),
    *_rules(
        Code.MALFORMED,
        OWNER,
        ("policy-malformed", "oracle/policy.toml does not follow its schema", "correct the named key in the policy"),
        ("lock-malformed", "oracle/LOCK has a line that is not a digest and a path", "invoke relock, then commit"),
        ("manifest-malformed", "oracle/frozen/manifest.json does not follow its schema", "correct the named case"),
        ("expected-malformed", "an .expected file is not 64 hex digits and a newline", "store it with add-fixture"),
        ("pending-malformed", "oracle/pending.toml does not follow its schema", "correct the named entry"),
        ("oracle-entry", "the oracle holds a link, a submodule, an executable or an odd name", "make it a plain file"),
        ("property-malformed", "a property or adapter cannot be loaded, or asks for what is refused", "correct it"),
        ("property-not-boolean", "a property returned something other than True or False on base", "return a Boolean"),
    ),
    *_rules(
        Code.INTERNAL,
        MAINTAINER,
        ("gate-failed", "the gate itself failed", "report it with the log; the patch is not to blame"),
        ("step-missing", "a scoring step recorded nothing", "run again; look at the step's own output"),
        ("scorer-died", "the scorer ended without a result", "run again; if it repeats, look at the step's log"),
        ("scorer-hung", "the scorer met its own deadline", "run again; if it repeats, look at the step's log"),
        ("stage-changed", "the exported oracle changed while the candidate ran", "do not merge; look at the candidate"),
    ),
    *_rules(
        Code.TOUCHED,
        PROPOSER,
        ("oracle-touched", "the patch changes the oracle", _TAKE_OUT),
        ("gate-touched", "the patch changes the gate or a CI file", _TAKE_OUT),
        ("people-touched", "the patch changes a path that people own", _TAKE_OUT),
        ("split-change", "oracle or gate change together with production", "make two changes of it, evidence first"),
        ("history-touched", "a commit of the range touched oracle or gate and a later one restored it", _TAKE_OUT),
        ("protected-alias", "some file systems open this name as a protected path", _RENAME),
        ("outside-roots", "the path lies outside production roots and also", _TAKE_OUT),
        ("stray-file", "a new file lies where the policy allows none", "leave scratch files and scripts uncommitted"),
        ("policy-denied", "the policy denies this path inside the roots", _TAKE_OUT),
        ("reserved-name", "Python, a test runner or a task runner loads this name unasked", "choose another name"),
        ("git-name", "git or some file system gives this name a meaning", "choose another name"),
        ("compiled-file", "compiled code or package metadata cannot be reviewed", "commit the source instead"),
        ("link-added", "the patch adds or retargets a symbolic link", "commit a regular file"),
        ("submodule-added", "the patch adds or moves a submodule", "commit the files themselves"),
        ("mode-odd", "the entry is not a regular file", "commit a regular file with mode 100644 or 100755"),
        ("name-not-utf8", "the name is not UTF-8", _RENAME),
        ("name-control", "the name holds control, bidirectional or invisible characters", _RENAME),
        ("name-windows", "Windows opens this name as another one", _RENAME),
        ("name-dash", "a component starts with a dash, which commands read as an option", _RENAME),
        ("name-long", "a component is longer than 255 bytes", "choose a shorter name"),
        ("name-climbs", "the path has an empty, `.` or `..` component", "write the tree with plain git commands"),
        ("name-clash", "two names of one folder are one file on a folding disk", "rename one of them"),
        ("tree-malformed", "a tree of the patch has two entries of one name", "commit again with plain git commands"),
        ("oracle-copied", "production newly holds an exact copy of an oracle file", "do not copy evidence"),
    ),
    *_rules(
        Code.LOCK,
        OWNER,
        ("lock-mismatch", "oracle/LOCK and the oracle differ", "a person runs invoke relock and commits"),
        ("lock-missing", "there is no oracle/LOCK", "a person runs invoke relock and commits"),
    ),
    *_rules(
        Code.FROZEN,
        PROPOSER,
        ("frozen-path", "the patch recreates the path of a frozen case", "leave the case to the owner of its freeze"),
        ("frozen-content", "the patch holds a copy of a frozen case", "leave the case to the owner of its freeze"),
        ("frozen-name", "the patch defines a retired test again", "leave the case to the owner of its freeze"),
    ),
    *_rules(
        Code.NOT_JUDGEABLE,
        PROPOSER,
        ("merge-conflict", "base and head do not merge", "git merge BASE into the branch, resolve, commit, push"),
        ("no-merge-base", "base and head share no commit", "fetch the full history, or branch from base"),
        ("base-behind", "base is not the tip of the protected branch", "judge again with the branch's tip as base"),
        ("protected-moved", "the merge carries an edit to where base moved the file", "merge base, keep its file"),
    ),
    *_rules(
        Code.NOT_JUDGEABLE,
        OPERATOR,
        ("shallow-clone", "the clone has no full history", "git fetch --unshallow"),
        ("partial-clone", "the clone may lack objects", "clone again without --filter"),
        ("not-adopted", "base has no oracle", "a maintainer runs invoke init-split and merges it"),
        ("gate-differs", "the running gate is not base's", "git worktree add ../gate BASE, and run the gate there"),
    ),
    *_rules(
        Code.UNAVAILABLE,
        OPERATOR,
        ("git-missing", "git is not in a system folder", "install git 2.38 or newer"),
        ("git-old", "git is too old", "install git 2.38 or newer"),
        ("not-a-repository", "the folder is not in a git repository", "give --repo DIR"),
        ("object-missing", "an object that is needed is not in the repository", "fetch the full history"),
        ("package-missing", "a package is not installed", "install the locked requirements"),
        ("isolation-missing", "the isolation that the policy asks for is not available", "ask for what is there"),
        ("feature-missing", "the policy asks for something this version cannot do", "change the policy or the version"),
        ("run-folder", "the run folder is not safe to use", "choose another --out"),
        ("environment", "the virtual environment could not be trusted or made", "run with Nox's defaults"),
    ),
    *_rules(
        Code.STORE,
        OWNER,
        ("fixture-name", "a fixture's name is not the digest of its content", "store it again with add-fixture"),
        ("fixture-half", "half of a fixture's pair is missing", "store it again with add-fixture, or remove it"),
    ),
    *_rules(
        Code.FIXTURE,
        PROPOSER,
        ("fixture-mismatch", "the output's digest differs from the expected one", "correct the production code"),
    ),
    *_rules(
        Code.PROPERTY,
        PROPOSER,
        ("property-falsified", "a property does not hold", "correct the production code"),
        ("property-raised", "a property held on base and raises on head", "correct the production code"),
        ("property-starved", "head's rejections leave too few examples; base's do not", "do not reject legal input"),
        ("property-cover", "a share that base covers is missed on head", "do not reject legal input"),
        ("candidate-import", "the candidate cannot be imported", "correct the production code"),
        ("candidate-raised", "the candidate raised where base answers", "correct the production code"),
        ("candidate-no-bytes", "the candidate gave no bytes where base does", "return exactly bytes"),
        ("candidate-died", "the candidate's process ended", "correct the production code"),
        ("candidate-hung", "the candidate gave no answer in time", "correct the production code"),
        ("candidate-protocol", "the candidate's process broke the protocol", "do not write to the pipes"),
        ("candidate-too-big", "an answer is over a limit", "return less"),
        ("candidate-two-answers", "one input had two answers", "make the code deterministic"),
    ),
    *_rules(
        Code.NO_EVIDENCE,
        OWNER,
        ("no-evidence", "base has neither a property nor a fixture", "a person adds evidence to the oracle"),
        ("property-vacuous", "a property (nearly) never reaches base's candidate", "draw inputs that reach it"),
    ),
    Rule("base-misses", Code.NOT_JUDGEABLE, "base misses this evidence too", "mend base, or list it in "
         "oracle/pending.toml", OWNER, calibration=True),
    Rule("candidate-needs-package", Code.NOT_JUDGEABLE, "head imports a package that the requirements lack",
         "the owner adds it to oracle/candidate-requirements.txt, then the patch is judged again", OWNER,
         calibration=True),
    Rule("base-candidate", Code.UNAVAILABLE, "base's own candidate cannot be imported", "mend base's candidate, its "
         "requirements or its import path", OWNER, calibration=True),
    Rule("reserved-note", Code.TOUCHED, "a name that task runners load, allowed here", "nothing to do", PROPOSER,
         level="note"),
    Rule("history-note", Code.TOUCHED, "a commit of the range touched oracle or gate and a later one restored it",
         "nothing to do", PROPOSER, level="note"),
    Rule("gate-note", Code.NOT_JUDGEABLE, "the running gate is not HEAD's", "commit, or run from a clean checkout",
         MAINTAINER, level="note"),
]  # fmt: skip

RULES: dict[str, Rule] = {rule.name: rule for rule in _TABLE}


def code_of(findings: Iterable[Finding]) -> Code:
    """The exit code of a verdict: that of its first error in `ORDER`, calibration last, or `Code.PASS`.

    Raises KeyError for a finding whose rule is not in the table (a fault of the gate).
    """
    rules = [RULES[f.rule] for f in findings]
    errors = [r for r in rules if r.level == "error"]
    for code in ORDER:
        if any(r.code is code and not r.calibration for r in errors):
            return code
    for code in (Code.NOT_JUDGEABLE, Code.UNAVAILABLE):
        if any(r.code is code for r in errors):
            return code
    return Code.PASS


def verdict_of(code: Code, subject: str) -> str:
    """The word for a code: `pass`, `fail`, `review` or `none`. For a review, faults of head's oracle fail."""
    if code is Code.PASS:
        return "review" if subject == "review" else "pass"
    if subject == "review" and code in {Code.LOCK, Code.STORE, Code.NO_EVIDENCE}:
        return "fail"
    return MEANINGS[code][0]
