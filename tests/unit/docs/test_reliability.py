"""docs/explanation/reliability.md: every promise names a test, every fault is counted."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
FAULTS = re.findall(
    r"^\| .* \| (\d+) \| `tests/faults/(\w+\.py)` \|$", PAGE.read_text(), re.MULTILINE
)
PROMISES = [line for line in PAGE.read_text().splitlines() if re.match(r"\| [A-Z`]", line)]


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
