"""Which paths a patch may change: allowed strictly, denied loosely, and never two names for one file."""

from __future__ import annotations

import string
import unicodedata
from typing import Any

from _aliases import alias
from _kit import ABSENT, change, fence, folders, judged

from fence_tasks.properties import at_most, cover, given, st

PROTECTED_RULES = {"oracle-touched", "gate-touched", "people-touched", "protected-alias"}
#: Paths that no proposer may write under the policy of `_kit`: outside the roots, and inside src/, where nothing but
#: its name denies a path.
OUTSIDE = ["oracle/LOCK", "oracle/properties/x.py", "fence_tasks/cli.py", "noxfile.py", "first_steps/contrôle.toml",
           ".github/workflows/ci.yml", ".gitlab-ci.yml", "azure-pipelines.yml", "Jenkinsfile"]  # fmt: skip
INSIDE = ["owned/notes.txt", "owned", "straße/résumé.toml"]
PROTECTED = st.one_of(
    st.sampled_from(OUTSIDE).flatmap(alias),
    st.sampled_from(INSIDE).flatmap(alias).map(lambda found: ("src/" + found[0], found[1])),
)
MODES = st.sampled_from([(ABSENT, "100644"), ("100644", "100644"), ("100644", "100755"), ("100644", ABSENT)])

LETTERS = string.ascii_letters + string.digits + "_éèüñçøåÉÖжш日本"
WORDS = st.text(LETTERS, min_size=1, max_size=9)
#: Names with a meaning of their own, which the generator may hit by chance.
TAKEN = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)), "codeowners",
         "sitecustomize", "usercustomize"}  # fmt: skip
NAMES = st.builds(
    lambda words, marks: "".join(w + m for w, m in zip(words, [*marks, *"---"], strict=False)).rstrip("-._"),
    st.lists(WORDS, min_size=1, max_size=3),
    st.lists(st.sampled_from([".", "-", "_", "", ".."]), max_size=2),
).filter(lambda name: name and name.split(".")[0].casefold() not in TAKEN)
SUFFIXES = st.sampled_from([".py", ".md", ".toml", ".c", ".tar.gz", ""])
PLACES = st.sampled_from(["src/", "oracle_tools/", "tests/", "src/oracle/", "src/noxfile/", "tests/.github-notes/"])


@st.composite
def honest(draw: st.DrawFn) -> str:
    """A path as people write it, below a writable root: letters with accents composed, digits, `_`, `-`, `.`."""
    folder = "".join(name + "/" for name in draw(st.lists(NAMES, max_size=2)))
    return unicodedata.normalize("NFC", draw(PLACES) + folder + draw(NAMES) + draw(SUFFIXES))


@given(found=PROTECTED, below=st.sampled_from(["", "", "/x"]), modes=MODES)
def prop_a_protected_name_stays_denied_under_every_folding(
    api: Any, found: tuple[str, set[str]], below: str, modes: tuple[str, str]
) -> bool:
    path, kinds = found
    cover("nothing but a folding denies it", path.startswith("src/") and bool(kinds), at_least=0.1)
    cover("a short name", "~" in path, at_least=0.02)
    cover("two foldings at once", len(kinds) > 1, at_least=0.2)
    code, rules = judged(api, [change(api, path + below, *modes)])
    return code == 2 and bool(rules & PROTECTED_RULES)


@at_most(60)
@given(
    place=st.sampled_from(["src/", "src/deep/er/", "tests/"]),
    found=st.sampled_from([".git", ".git/config", ".git/hooks/pre-commit", "CODEOWNERS"]).flatmap(alias),
)
def prop_git_and_codeowners_are_denied_in_every_folder_by_any_name(
    api: Any, place: str, found: tuple[str, set[str]]
) -> bool:
    code, rules = judged(api, [change(api, place + found[0])])
    return code == 2 and len(rules) == 1


@given(path=honest(), modes=MODES)
def prop_an_ordinary_name_under_the_roots_is_allowed(api: Any, path: str, modes: tuple[str, str]) -> bool:
    return judged(api, [change(api, path, *modes)], folders=folders([path])) == (0, set())


@at_most(50)
@given(path=honest(), old=st.sampled_from([ABSENT, "100644", "120000", "160000"]),
       new=st.sampled_from(["120000", "160000", "100664", "100600", "040755"]))  # fmt: skip
def prop_nothing_but_a_regular_file_enters(api: Any, path: str, old: str, new: str) -> bool:
    denied = judged(api, [change(api, path, old, new)])[0] == 2
    return denied and (old == ABSENT or judged(api, [change(api, path, old, ABSENT)])[0] == 0)


#: Names of which some are one file on a disk that folds case or composes accents.
TWINS = st.sampled_from(["a", "A", "b.py", "B.py", "\u00e9", "E\u0301", "stra\u00dfe", "STRASSE"])
TWIN_PATHS = st.lists(TWINS, min_size=1, max_size=2).map("/".join)


@given(there=st.sets(TWIN_PATHS, min_size=1, max_size=4), added=st.sets(TWIN_PATHS, min_size=1, max_size=2))
def prop_what_folds_alike_in_one_folder_clashes_and_nothing_else(api: Any, there: set[str], added: set[str]) -> bool:
    files = {path for path in there | added if not any(other.startswith(f"{path}/") for other in there | added)}
    there, added = there & files, added & files - there
    entries = folders(there | added)
    clash = {path: steps for path in added if (steps := {step for step in _steps(path) if _has_twin(*step, entries)})}
    cover("a clash", bool(clash), at_least=0.1)
    cover("no clash", not clash, at_least=0.2)
    reported = {finding.path for finding in fence(api).paths.clashes(sorted(added), entries)}
    steps = [clash.get(path, set()) for path in reported]
    # Each pair of twins is reported, once or with each path that goes through it.
    return reported <= clash.keys() and set().union(*steps) == set().union(*clash.values())


def _steps(path: str) -> list[tuple[str, str]]:
    parts = path.split("/")
    return [("/".join(parts[:n]), part) for n, part in enumerate(parts)]


def _has_twin(folder: str, name: str, entries: dict[str, list[str]]) -> bool:
    siblings = {path.rsplit("/", 1)[-1] for path in entries[folder]} - {name}
    return any(_folded(sibling) == _folded(name) for sibling in siblings)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
