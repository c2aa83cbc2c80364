"""docs/explanation/architecture.md: the walks name functions that exist, two files per step."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
STEPS = re.findall(r"^\d+\. .*$", PAGE.read_text(), re.MULTILINE)
REFERENCE = re.compile(r"`([\w/]+\.py):([\w.]+)`")


def definitions(path: Path) -> set[str]:
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            members = (member for member in node.body if hasattr(member, "name"))
            names.update(f"{node.name}.{member.name}" for member in members)
    return names


def test_walks_have_steps() -> None:
    assert len(STEPS) > 30


@pytest.mark.parametrize("step", STEPS, ids=range(len(STEPS)))
def test_step_names_at_most_two_files_and_existing_functions(step: str) -> None:
    references = REFERENCE.findall(step)
    assert 1 <= len({file for file, _ in references}) <= 2
    for file, name in references:
        assert name in definitions(ROOT / "src" / "lynq" / file)
