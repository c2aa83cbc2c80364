"""Names are names, whatever somebody writes into a hub."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import SourceType
from lynq.sources import ENGINES, Query
from lynq.sources.errors import InvalidSettings
from lynq.sources.query import Dialect, Table, check_name

DIALECTS = [engine.dialect for engine in ENGINES.values()]
MYSQL = ENGINES[SourceType.MYSQL].dialect
POSTGRESQL = ENGINES[SourceType.POSTGRESQL].dialect

EVIL = [
    "a`b",
    'a"b',
    "a'b",
    "a;b",
    "a--b",
    "a/*b",
    "a*/b",
    "a#b",
    "a\\b",
    "a[b",
    "a]b",
    "a\0b",
    "a\nb",
    "a\x7fb",
    "a\u2028b",
    "a\ud800b",
    "",
    " ",
    " a",
    "a ",
]


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("table", "table"),
        ("valueMappings.uid", "uid"),
        ("valueMappings.activate", "activate"),
        ("extraValueMappings.planId", "extras"),
    ],
)
def test_a_name_that_could_end_itself_is_refused_with_its_field(
    name: str, field: str, change: str
) -> None:
    asked: dict[str, object] = {"table": "t", "uid": "u", "activate": "a", "extras": {"p": "q"}}
    asked[change] = {"planId": name} if change == "extras" else name
    with pytest.raises(InvalidSettings) as caught:
        Query(**asked)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert field in str(caught.value)


def test_the_deprecated_column_is_checked_too() -> None:
    with pytest.raises(InvalidSettings, match="hostOrUrl"):
        Query(table="t", uid="u", activate="a", host_or_url="x;y")


@pytest.mark.parametrize("name", ["a.b.c", ".a", "a.", "."])
def test_a_table_has_one_dot_at_most_and_something_around_it(name: str) -> None:
    with pytest.raises(InvalidSettings, match="table"):
        Table.named(name)


@given(name=st.text(min_size=1, max_size=70), dialect=st.sampled_from(DIALECTS))
def test_a_quoted_name_ends_where_it_should(name: str, dialect: Dialect) -> None:
    try:
        check_name(name, field="x")
        quoted = dialect.name(name, field="x")
    except InvalidSettings:
        return
    assert quoted == f"{dialect.quote}{name}{dialect.quote}"
    assert quoted.count(dialect.quote) == 2


def test_a_name_that_postgresql_would_cut_is_refused() -> None:
    query = Query(table="t", uid="ä" * 32, activate="a")
    with pytest.raises(InvalidSettings, match=r"valueMappings\.uid.*63 bytes"):
        query.sql(POSTGRESQL)
    assert "ä" * 32 in query.sql(MYSQL)


def test_the_statement_asks_for_the_mapped_columns_and_no_more() -> None:
    query = Query(
        table="shop.tenants",
        uid="id",
        activate="on",
        host_or_url="url",
        extras={"b": "plan", "a": "Größe"},
    )
    assert query.sql(MYSQL) == ("SELECT `id`, `on`, `url`, `Größe`, `plan` FROM `shop`.`tenants`")
    assert query.sql(POSTGRESQL, as_text={0, 4}) == (
        'SELECT "id"::text, "on", "url", "Größe", "plan"::text FROM "shop"."tenants"'
    )
    assert query.variables == ("a", "b")
