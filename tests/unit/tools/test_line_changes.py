"""line_coverage.changes: which executed lines a change of a source concerns."""

from collections.abc import Iterable

import pytest
from line_coverage.changes import source_change

OLD = '''\
LIMIT = 1

def first(a):
    """Text."""
    if a:
        b()
    return (
        LIMIT,
        3,
    )

def second(y):
    for x in y:
        z(x)

class Node:
    count: int = 1

    def close(self):
        done()
'''


BODY = {7, 8, 9, 10}
"""The lines of the statement that returns."""


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        pytest.param("b()", "c()", {6}, id="changed statement"),
        pytest.param("if a", "if not a", {5}, id="changed condition"),
        pytest.param("3,", "4,", BODY, id="changed part of a long statement"),
        pytest.param("    b()\n", "    b()\n        c()\n", {5, 6, *BODY}, id="inserted statement"),
        pytest.param("b()\n", "b()\n    else:\n        c()\n", {5, 6, *BODY}, id="inserted else"),
        pytest.param("z(x)\n", "z(x)\n    end()\n", {13, 14}, id="statement after a loop"),
        pytest.param("    return (", "        return (", BODY, id="moved into a block"),
        pytest.param("first(a)", "first(a, b)", range(3, 11), id="changed signature"),
        pytest.param("def first", "def other", range(3, 11), id="renamed function"),
        pytest.param("def first", "@cache\ndef first", range(3, 11), id="decorated function"),
        pytest.param("done()", "gone()", {20}, id="changed method"),
    ],
)
def test_changed_function_concerns_lines(before: str, after: str, lines: Iterable[int]) -> None:
    change = source_change(OLD, OLD.replace(before, after, 1))
    assert (change.lines, change.at_import) == (frozenset(lines), False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("LIMIT = 1", "LIMIT = 2", id="constant"),
        pytest.param("count: int = 1", "count: int = 2", id="field"),
        pytest.param("class Node", "class Node(Base)", id="base class"),
        pytest.param("done()\n", "done()\n\n    def open(self): ...\n", id="new method"),
    ],
)
def test_code_that_runs_at_import_concerns_the_module(before: str, after: str) -> None:
    change = source_change(OLD, OLD.replace(before, after, 1))
    assert (change.lines, change.at_import) == (frozenset(), True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("Text", "Another text", id="docstring"),
        pytest.param("    b()", "    # why\n        b()", id="comment"),
        pytest.param("LIMIT", "import os\n\nLIMIT", id="import"),
        pytest.param("def second", "def new(): ...\n\n\ndef second", id="new function"),
        pytest.param("class Node", "class New:\n    x: int\n\nclass Node", id="new class"),
    ],
)
def test_change_without_effect_concerns_nothing(before: str, after: str) -> None:
    change = source_change(OLD, OLD.replace(before, after, 1))
    assert (change.lines, change.at_import) == (frozenset(), False)
