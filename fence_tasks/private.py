"""The private bare GIT_DIR in which judging happens: nothing in it but what stands here, and the judged objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model import Finding, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_CONFIG = """\
[core]
\trepositoryformatversion = 1
\tbare = true
\tcommitGraph = false
\tattributesFile = /dev/null
\thooksPath = /dev/null
\tfsmonitor = false
[extensions]
\tobjectFormat = {format}
[merge]
\trenames = true
\tdirectoryRenames = conflict
\trenameLimit = 7000
\tconflictStyle = merge
\trenormalize = false
[diff]
\talgorithm = histogram
"""


def make(git_dir: Path, object_format: str, stores: Sequence[str]) -> None:
    """Make a GIT_DIR at `git_dir` whose alternates are `stores` (absolute object folders); `object_format` is `sha1`
    or `sha256`.

    Raises RefusedError with `not-a-repository` for a folder whose name git cannot list.
    """
    # One path a line; git reads a line that starts with a quote as C-quoted, and a newline ends it.
    if any(path.startswith('"') or "\n" in path for path in stores):
        raise RefusedError(Finding("not-a-repository", f"{stores[0]!r} has a name git cannot list"))
    for folder in ("objects/info", "refs"):
        (git_dir / folder).mkdir(parents=True)
    (git_dir / "HEAD").write_text("ref: refs/heads/none\n", "utf-8")
    (git_dir / "config").write_text(_CONFIG.format(format=object_format), "utf-8")
    lines = "".join(f"{path}\n" for path in stores)
    (git_dir / "objects/info/alternates").write_text(lines, "utf-8", "surrogateescape")
