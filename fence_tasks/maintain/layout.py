"""Where a repository keeps its production code: roots, import folders and the API module, from its paths. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .refusals import shown, usage

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE = "invoke init-split --into ../host --production src/ --api parsekit.api --function normalise"
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Layout:
    """`roots` and `also` as the policy writes them (folders with `/`), import folders, and the API's module."""

    roots: tuple[str, ...]
    also: tuple[str, ...]
    imports: tuple[str, ...]
    api: str


def of(paths: Sequence[str], production: Sequence[str], also: Sequence[str], api: str) -> Layout:
    """The layout of a repository with these tracked `paths`; `api` may be "" where only one package can be meant.

    Raises TaskError with `usage` for a root that is not there, or an API that no root holds.
    """
    roots = tuple(dict.fromkeys(_plain(value, paths, "--production") for value in _values(production)))
    if not roots:
        raise usage("--production is missing: which folder may a proposer change?", EXAMPLE)
    for root in roots:
        if not any(p == root or (root.endswith("/") and p.startswith(root)) for p in paths):
            raise usage(f"--production {root!r}: HEAD has no such folder or file", EXAMPLE)
    others = tuple(dict.fromkeys(_plain(value, paths, "--also") for value in _values(also)))
    module = api or _only_package(paths, roots)
    if not _MODULE.fullmatch(module):
        raise usage(f"--api {module!r} is not a module's name", EXAMPLE)
    folders = tuple(dict.fromkeys(_import_folder(root, module, paths) for root in roots))
    if not any(_holds(folder, module, paths, roots) for folder in folders):
        raise usage(f"--api {module!r} is no module under {', '.join(roots)}", EXAMPLE)
    return Layout(roots, others, folders, module)


def _values(given: Sequence[str]) -> list[str]:
    """Each value of an option that may be repeated or hold commas."""
    return [part.strip() for value in given for part in value.split(",") if part.strip()]


def _plain(value: str, paths: Sequence[str], option: str) -> str:
    """A path as the policy writes it: from the root, a folder with `/` at its end."""
    path = value.removeprefix("./")
    parts = path.removesuffix("/").split("/")
    if not path or any(part in {"", ".", ".."} for part in parts) or "\\" in path:
        raise usage(f"{option} {value!r} is not a path below the repository's root, counted from there", EXAMPLE)
    return path if path.endswith("/") or not any(p.startswith(f"{path}/") for p in paths) else f"{path}/"


def _tops(root: str, paths: Sequence[str]) -> list[str]:
    """The packages and modules directly below a root; the root's own name where it is a package itself."""
    if not root.endswith("/"):
        return [root.rsplit("/", 1)[-1].removesuffix(".py")]
    if f"{root}__init__.py" in paths:
        return [root.removesuffix("/").rsplit("/", 1)[-1]]
    below = [p.removeprefix(root) for p in paths if p.startswith(root)]
    packages = {p.removesuffix("/__init__.py") for p in below if p.count("/") == 1 and p.endswith("/__init__.py")}
    packages -= {"test", "tests"}
    return sorted(packages) or sorted(p.removesuffix(".py") for p in below if p.endswith(".py") and "/" not in p)


def _only_package(paths: Sequence[str], roots: Sequence[str]) -> str:
    found = [top for root in roots for top in _tops(root, paths)]
    if len(found) != 1:
        what = f"the roots hold {shown(found)}" if found else "the roots hold no package"
        raise usage(f"--api is missing: {what}; which module is the public one?", EXAMPLE)
    return found[0]


def _import_folder(root: str, module: str, paths: Sequence[str]) -> str:
    """The folder to import from: the root itself (src layout), or the one above a root that is a package (flat)."""
    above = root.removesuffix("/").rpartition("/")[0]
    top = module.split(".", 1)[0]
    inside = any(p.startswith((f"{root}{top}/", f"{root}{top}.")) for p in paths)
    flat = not root.endswith("/") or f"{root}__init__.py" in paths or root.removesuffix("/").rsplit("/", 1)[-1] == top
    return root if inside or not flat else f"{above}/" if above else "./"


def _holds(folder: str, module: str, paths: Sequence[str], roots: Sequence[str]) -> bool:
    """True if a file of a root is the module, or lies in the folder that is it."""
    stem = folder.removeprefix("./") + module.replace(".", "/")
    mine = [p for p in paths if any(p == root or (root.endswith("/") and p.startswith(root)) for root in roots)]
    return any(p.startswith((f"{stem}/", f"{stem}.")) for p in mine)
