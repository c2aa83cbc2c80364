"""Names of a hub's spec: checked, quoted, and never more than a name."""

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

UNSAFE = [
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


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("table", "table"),
        ("valueMappings.uid", "uid"),
        ("valueMappings.activate", "activate"),
        ("extraValueMappings.planId", "extras"),
    ],
)
def test_unsafe_name_is_rejected_with_its_field(name: str, field: str, change: str) -> None:
    arguments: dict[str, object] = {"table": "t", "uid": "u", "activate": "a", "extras": {"p": "q"}}
    arguments[change] = {"planId": name} if change == "extras" else name
    with pytest.raises(InvalidSettings) as caught:
        Query(**arguments)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert field in str(caught.value)


def test_host_or_url_column_is_checked() -> None:
    with pytest.raises(InvalidSettings, match="hostOrUrl"):
        Query(table="t", uid="u", activate="a", host_or_url="x;y")


@pytest.mark.parametrize("name", ["a.b.c", ".a", "a.", "."])
def test_table_name_has_at_most_one_dot_between_names(name: str) -> None:
    with pytest.raises(InvalidSettings, match="table"):
        Table.named(name)


@given(name=st.text(min_size=1, max_size=70), dialect=st.sampled_from(DIALECTS))
def test_quotes_enclose_the_whole_name(name: str, dialect: Dialect) -> None:
    try:
        check_name(name, field="x")
        quoted = dialect.name(name, field="x")
    except InvalidSettings:
        return
    assert quoted == f"{dialect.quote}{name}{dialect.quote}"
    assert quoted.count(dialect.quote) == 2


def test_name_that_postgresql_would_truncate_is_rejected() -> None:
    query = Query(table="t", uid="ä" * 32, activate="a")
    with pytest.raises(InvalidSettings, match=r"valueMappings\.uid.*63 bytes"):
        query.sql(POSTGRESQL)
    assert "ä" * 32 in query.sql(MYSQL)


def test_statement_selects_only_the_mapped_columns() -> None:
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


def test_statement_leaves_large_values_on_the_server() -> None:
    query = Query(table="t", uid="id", activate="on", extras={"a": "logo"})
    assert query.sql(MYSQL, bounded={0, 2}) == (
        "SELECT CASE WHEN COALESCE(CHAR_LENGTH(`id`), 0) + COALESCE(CHAR_LENGTH(`logo`), 0)"
        " > 204800 THEN substr(`id`, 1, 256) ELSE `id` END, `on`,"
        " CASE WHEN COALESCE(CHAR_LENGTH(`id`), 0) + COALESCE(CHAR_LENGTH(`logo`), 0) > 204800"
        " THEN NULL ELSE `logo` END,"
        " CASE WHEN COALESCE(CHAR_LENGTH(`id`), 0) + COALESCE(CHAR_LENGTH(`logo`), 0) > 204800"
        " THEN COALESCE(CHAR_LENGTH(`id`), 0) + COALESCE(CHAR_LENGTH(`logo`), 0) END FROM `t`"
    )
