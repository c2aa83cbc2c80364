"""docs/explanation/reliability.md: every promise names a test that exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
LINKS = re.findall(r"\[(test_\w+)\]\(\.\./\.\./(tests/[\w/]+\.py)\)", PAGE.read_text())
PROMISES = [line for line in PAGE.read_text().splitlines() if re.match(r"\| [A-Z`]", line)]


@pytest.mark.parametrize(("name", "path"), LINKS)
def test_named_test_exists(name: str, path: str) -> None:
    file = ROOT / path
    assert file.is_file()
    # The name of a file stands for all of its tests.
    assert name == file.stem or re.search(rf"def {name}\(", file.read_text())


def test_every_promise_names_a_test() -> None:
    assert len(PROMISES) > 20
    for promise in PROMISES:
        assert "](../../tests/" in promise, promise
