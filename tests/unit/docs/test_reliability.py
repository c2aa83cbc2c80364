"""docs/explanation/reliability.md: every promise names a test that exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
TESTS = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text())
FAULTS = re.findall(
    r"^\| .* \| (\d+) \| `tests/faults/(\w+\.py)` \|$", PAGE.read_text(), re.MULTILINE
)
PROMISES = [line for line in PAGE.read_text().splitlines() if re.match(r"\| [A-Z`]", line)]


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_named_test_exists(path: str, name: str) -> None:
    file = ROOT / path
    assert file.is_file()
    # A file without a name stands for all of its tests.
    assert not name or re.search(rf"def {name}\(", file.read_text())


def test_every_promise_names_a_test() -> None:
    assert len(PROMISES) > 20
    for promise in PROMISES:
        assert "`tests/" in promise, promise


def test_every_file_of_faults_is_listed() -> None:
    files = sorted(path.name for path in (ROOT / "tests" / "faults").glob("test_*.py"))
    assert sorted(file for _, file in FAULTS) == files


@pytest.mark.parametrize(("number", "file"), FAULTS)
def test_number_of_fault_tests_is_current(number: str, file: str) -> None:
    module = ast.parse((ROOT / "tests" / "faults" / file).read_text())
    names = [getattr(node, "name", "") for node in module.body]
    assert sum(name.startswith("test_") for name in names) == int(number)
