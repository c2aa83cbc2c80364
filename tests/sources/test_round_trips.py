"""Texts are read exactly as they were written."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lynq.api.source import VALUES_LIMIT
from lynq.sources import SQLiteSettings
from sources.engines import Engine, PostgreSQL, SQLite, mariadb_at, new_table, postgresql_at, texts

EXAMPLES = 25
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
WITHOUT_NUL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))

UNUSUAL = [
    "",
    " ",
    "\ufeff",
    "🦊👩‍👩‍👧‍👦",
    "ä",
    "a\u0308",
    "'\"`;--/*\\",
    "%s %(x)s {} $1 ?",
    "\r\n\t",
    "\u202e",
    "null",
    "NULL",
    "\\N",
    "\U0010ffff",
]


async def test_unusual_texts_are_read_unchanged(engine: Engine) -> None:
    assert await write_and_read(engine, UNUSUAL) == UNUSUAL


async def test_nul_character_is_read_unchanged(engine: Engine) -> None:
    if isinstance(engine, PostgreSQL):
        pytest.skip("PostgreSQL allows no NUL in texts")
    assert await write_and_read(engine, ["a\0b", "\0"]) == ["a\0b", "\0"]


async def test_text_of_the_largest_usable_size_is_read_unchanged(engine: Engine) -> None:
    large = "0123456789abcdeä" * ((VALUES_LIMIT - 100) // 17)
    (back,) = await write_and_read(engine, [large])
    assert back == large


@pytest.mark.parametrize("name", ["mysql", "postgresql", "sqlite"])
def test_any_text_is_read_unchanged(
    name: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    engine: Engine
    if name == "mysql":
        engine = mariadb_at(request.getfixturevalue("mariadb"))
    elif name == "postgresql":
        engine = postgresql_at(request.getfixturevalue("postgresql"))
    else:
        folder = tmp_path_factory.mktemp("round")
        engine = SQLite(SQLiteSettings(path="rows.db", directory=folder))

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.lists(WITHOUT_NUL if name == "postgresql" else ANY, min_size=1, max_size=30))
    def check(written: list[str]) -> None:
        with asyncio.Runner() as runner:
            assert runner.run(write_and_read(engine, written)) == written

    check()


async def write_and_read(engine: Engine, written: list[str]) -> list[str]:
    table = new_table()
    type_ = "TEXT" if isinstance(engine, PostgreSQL | SQLite) else "LONGTEXT"
    await engine.execute(f"CREATE TABLE {table} (uid VARCHAR(9), activate INTEGER, plan {type_})")
    await engine.insert(table, [(f"{n:06}", 1, text) for n, text in enumerate(written)])
    back = await texts(engine, table)
    await engine.execute(f"DROP TABLE {table}")
    return back
