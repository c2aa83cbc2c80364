"""docs/troubleshooting: one entry per word of conditions, resources, events and causes."""

import re
from collections import Counter
from enum import StrEnum
from pathlib import Path

import pytest

from lynq.api import ResourceState
from lynq.api.events import EventReason
from lynq.api.reasons import (
    ConditionReason,
    OrphanReason,
    ReadinessReason,
    RejectionReason,
    StateReason,
)
from lynq.core.explain.model import CauseKind, entry_of

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs" / "troubleshooting").glob("*.md"))
ENTRY = re.compile(r"^### ([A-Z][A-Za-z]+)\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
FOREIGN = "## Words of other controllers"
ENTRIES = [(page, *entry) for page in PAGES for entry in ENTRY.findall(page.read_text())]
OWN = {word for page in PAGES for word, _ in ENTRY.findall(page.read_text().partition(FOREIGN)[0])}
ENUMS: tuple[type[StrEnum], ...] = (
    CauseKind,
    ConditionReason,
    EventReason,
    OrphanReason,
    ReadinessReason,
    RejectionReason,
    ResourceState,
    StateReason,
)
WORDS = {str(word) for enum in ENUMS for word in enum}


def test_every_word_has_an_entry_and_no_entry_is_stale() -> None:
    assert OWN == WORDS


def test_no_word_has_two_entries() -> None:
    counts = Counter(word.lower() for _, word, _ in ENTRIES)
    assert [word for word, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("kind", CauseKind)
def test_explain_names_an_entry_that_exists(kind: CauseKind) -> None:
    path, _, anchor = entry_of(kind).partition("#")
    assert (ROOT / path, anchor) in {(page, word.lower()) for page, word, _ in ENTRIES}


@pytest.mark.parametrize(("page", "word", "text"), ENTRIES, ids=[word for _, word, _ in ENTRIES])
def test_entry_says_where_it_is_seen_what_it_means_and_what_to_do(
    page: Path, word: str, text: str
) -> None:
    parts = re.findall(r"^- \*\*(\w+)\*\*: ", text, re.MULTILINE)
    assert parts in (["Seen", "Means", "Check", "Do"], ["Seen", "Means"]), f"{page.name}: {word}"
