"""Fixtures that every test may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.host import Host, build, copy

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """A fenced host, built once a process; no test writes to it."""
    return build(tmp_path_factory.mktemp("template"))


@pytest.fixture
def host(template: Host, tmp_path: Path) -> Host:
    """A fenced host of the test's own, with `main` checked out."""
    return copy(template, tmp_path)
