"""README.md and all pages but the how-tos: they work as they are written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from docs.blocks import name_of, pages, runs

PAGES = [page for page in pages() if page.parent.name != "how-to" and runs(page)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page(page: Path, run: Callable[[Path], None]) -> None:
    run(page)
