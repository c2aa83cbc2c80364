"""tools/reference: the generated pages of docs/reference equal the code."""

from enum import StrEnum
from pathlib import Path

import pytest
from reference import __main__ as reference
from reference import functions
from reference.declarations import members

from lynq.template.functions.table import FUNCTIONS

DECLARATIONS = '''
class Fruit(StrEnum):
    """Fruit."""

    # Red
    APPLE = "Apple"
    """Round
    and red."""
    CHERRY = "Cherry"
    """Small."""
    # Yellow
    LEMON = "Lemon"
    """Sour."""
'''


def test_pages_equal_the_code() -> None:
    assert reference.stale() == []


def test_changed_page_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in reference.files():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(reference, "FOLDER", tmp_path)
    (tmp_path / "events.md").write_text("edited")
    (tmp_path / "metrics.md").unlink()
    assert reference.stale() == ["events.md", "metrics.md"]


def test_words_are_listed_by_the_comment_above_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fruit(StrEnum):
        APPLE = "Apple"
        CHERRY = "Cherry"
        LEMON = "Lemon"

    monkeypatch.setattr("reference.declarations.getsource", lambda _: DECLARATIONS)
    assert [(word.section, word.value, word.meaning) for word in members(Fruit)] == [
        ("Red", "Apple", "Round and red."),
        ("Red", "Cherry", "Small."),
        ("Yellow", "Lemon", "Sour."),
    ]


def test_every_template_function_has_one_example() -> None:
    names = [name for group in functions.grouped_examples().values() for name in group]
    assert sorted(names) == sorted(FUNCTIONS)


def test_examples_call_their_function_and_fail_only_on_purpose() -> None:
    examples = [item for group in functions.grouped_examples().values() for item in group.items()]
    assert [name for name, template in examples if name not in template] == []
    failing = [name for name, text in examples if functions.output(text).startswith("error: ")]
    assert failing == ["call", "fail"]
