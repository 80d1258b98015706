"""The job that judges pull requests, as `init-split --ci` writes it: the forge's file, from a template."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from .. import checkout, files
from .refusals import broken, usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model import Entry

EXAMPLE = "invoke init-split --into ../host --production src/ --ci github"
#: Forge → (where its job lies, the template).
_FORGES = {"github": (".github/workflows/path-fence.yml", "github.yml.txt")}
_PATTERN = re.compile(r"[+!\]]")  # what GitHub's branch patterns give a meaning, of what a branch's name may hold


def check(forge: str) -> None:
    """Refuse a forge for which there is no job."""
    if forge not in {*_FORGES, "none"}:
        later = "a later version writes its job" if forge == "gitlab" else "known are github and none"
        raise usage(f"--ci {forge!r}: {later}", EXAMPLE)


def path(forge: str) -> str:
    """Where a forge's job lies in the repository, "" for none."""
    return _FORGES[forge][0] if forge in _FORGES else ""


def there(root: str, index: Sequence[Entry], forge: str) -> bool:
    """True if the repository has a file, tracked or not, where the forge's job belongs; never for none."""
    place = path(forge)
    return bool(place) and (any(e.path == place for e in index) or os.path.lexists(os.path.join(root, place)))  # noqa: PTH118


def new(root: str, index: Sequence[Entry], forge: str) -> dict[str, bytes]:
    """The job to write, by path; nothing for none. Raises TaskError where a file is in its place already."""
    if not path(forge):
        return {}
    if there(root, index, forge):
        raise broken("clash", "is there already", "git mv it elsewhere, or leave out --ci", path(forge))
    return {path(forge): render(forge, checkout.main_branch(root))}


def render(forge: str, branch: str) -> bytes:
    """The job of a forge for patches that are to be merged into `branch`."""
    text = (files.KIT / "templates" / _FORGES[forge][1]).read_text("utf-8").replace("\r\n", "\n")
    name = json.dumps(_PATTERN.sub(r"\\\g<0>", branch), ensure_ascii=False)  # a YAML string too
    return text.replace("@@BRANCH@@", name).encode("utf-8", "surrogateescape")


def told(root: str, forge: str) -> list[str]:
    """What the person must know about a job that was written."""
    if not path(forge):
        return []
    branch = checkout.main_branch(root)
    return [
        f"ci:      {path(forge)} judges what is to be merged into {branch!r}; for another branch edit it",
        "         the settings of the forge that make it binding stand at its top",
    ]
