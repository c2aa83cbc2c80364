"""tools/reference: the generated pages of docs/reference equal the code."""

from enum import StrEnum
from pathlib import Path

import pytest
from reference import __main__ as reference
from reference.declarations import members

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
