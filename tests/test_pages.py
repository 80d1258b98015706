"""The generated pages say what the rule table says."""

from __future__ import annotations

import pytest

from tests.pages import PAGES, ROOT


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_rule_table_generates(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == PAGES[name]()
