"""What a policy may ask for that this version of the kit cannot do yet. Half a gate is no gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model import Finding
from .policy import PATH

if TYPE_CHECKING:
    from .policy import Policy


def unsupported(policy: Policy) -> list[Finding]:
    """A finding for each thing that the policy asks for and that is refused (69) when a patch is scored."""
    skips = policy.skips
    wanted = (
        ("feature-missing", "ban" in (skips.unconditional, skips.conditional, skips.deleted), "a ban on skips"),
        ("feature-missing", policy.candidate.adapter != "python", f"adapter = {policy.candidate.adapter!r}"),
        ("feature-missing", bool(policy.candidate.build), "a build"),
    )
    return [Finding(rule, f"{what} needs a later version of the kit", PATH) for rule, asked, what in wanted if asked]
