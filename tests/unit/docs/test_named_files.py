"""docs/explanation and docs/troubleshooting: the files of the repository that they name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [
    *(ROOT / "docs" / "explanation").glob("*.md"),
    *(ROOT / "docs" / "troubleshooting").glob("*.md"),
]
FILE = re.compile(r"`((?:tests|src|deploy|examples|tools)/[\w./-]+)(?:::(\w+))?`")
NAMED = sorted({match for page in PAGES for match in FILE.findall(page.read_text())})


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_named_file_exists(path: str, name: str) -> None:
    file = ROOT / path
    assert file.exists()
    assert not name or re.search(rf"def {name}\(", file.read_text())
