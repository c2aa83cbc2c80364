"""Every block of README.md and docs is run, equals a file of examples, or says why not."""

from collections import Counter
from pathlib import Path

import pytest

from docs.blocks import (
    ROOT,
    Block,
    Check,
    blocks_of,
    commands,
    indented,
    name_of,
    needs,
    pages,
)
from docs.playground import Needs

BLOCKS = [block for page in pages() for block in blocks_of(page)]
EXAMPLES = [block for block in BLOCKS if block.check == Check.EXAMPLE]


def test_every_block_is_checked_or_says_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    unchecked = [
        f"{block.location}: {block.language or 'no language'}"
        for block in BLOCKS
        if block.check == Check.NONE
    ]
    assert not unchecked, f"each needs a title, or <!-- not run: REASON --> above: {unchecked}"
    counts = Counter(block.check for block in BLOCKS)
    run = sum(counts[check] for check in (Check.SCRIPT, Check.SESSION, Check.MANIFEST))
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{len({block.page for block in BLOCKS})} of {len(pages())} pages have blocks: "
            f"{run} run, {counts[Check.EXAMPLE]} equal to files of examples, "
            f"{counts[Check.NOT_RUN]} not run with a reason, {counts[Check.PROSE]} text"
        )


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.location)
def test_block_equals_its_file(block: Block) -> None:
    file = ROOT / block.example
    assert file.is_file(), f"{block.location}: {block.example} does not exist"
    assert block.text == file.read_text(), f"{block.location}: run `make docs-sync`"


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_code_stands_in_fences(page: Path) -> None:
    assert indented(page.read_text()) == []


def test_pages_name_known_needs_and_begin_sessions_with_a_command() -> None:
    for page in pages():
        Needs.parse(needs(page.read_text()))
    for block in BLOCKS:
        if block.check == Check.SESSION:
            assert commands(block), block.location
