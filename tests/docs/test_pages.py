"""README.md and docs: every page works as it is written, and leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from docs.blocks import name_of, pages, runs

PAGES = [page for page in pages() if runs(page)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page(page: Path, run: Callable[[Path], None]) -> None:
    run(page)
