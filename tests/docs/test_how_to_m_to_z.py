"""docs/how-to, m to z: every page works as it is written, and leaves nothing behind.

Two files, because a worker of `make test` runs whole files.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from docs.blocks import how_to_pages, name_of


@pytest.mark.parametrize("page", how_to_pages("m", "z"), ids=name_of)
def test_page(page: Path, run: Callable[[Path], None]) -> None:
    run(page)
