"""The text of every database type, from the examples that the tests of sources check."""

from collections.abc import Iterator

from reference.markdown import code, page, table
from reference.type_examples import MYSQL, POSTGRESQL, SQLITE, Example

_INTRODUCTION = (
    "A variable of a template is a text. These tables have examples of values and their texts; the "
    "tests read each of them from a real server. [Sources](sources.md#the-text-of-a-value) has the "
    "rules. NULL is the empty text, of every type."
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and content of the page."""
    parts = []
    for title, examples in (
        ("MySQL, MariaDB", MYSQL),
        ("PostgreSQL", POSTGRESQL),
        ("SQLite", SQLITE),
    ):
        parts += [f"## {title}", _table(examples)]
    yield "source-types.md", page("Types of databases", _INTRODUCTION, *parts)


def _table(examples: list[Example]) -> str:
    return table(
        ("type", "value", "text in templates"),
        (
            (code(name) if name else "none", _visible(value), _visible(text) if text else "empty")
            for name, value, text in examples
        ),
    )


def _visible(text: str) -> str:
    return code(text.replace("\t", "\\t"))
