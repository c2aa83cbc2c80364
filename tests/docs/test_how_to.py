"""docs/how-to: every page works as it is written, and leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from docs.blocks import DOCS, name_of, runs

PAGES = [page for page in sorted((DOCS / "how-to").glob("*.md")) if runs(page)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page(page: Path, run: Callable[[Path], None]) -> None:
    run(page)
