"""What a hub is refused for, and warned of, with the exact place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from lynq.api import HubSpec
from lynq.api.problems import errors, warnings
from lynq.core.hub.validation import validate_hub
from lynq.sources import Query
from lynq.sources.errors import InvalidSettings

MYSQL = {"host": "db", "username": "lynq", "database": "shop", "table": "tenants"}


def hub(
    source: dict[str, Any] | None = None,
    mappings: dict[str, str] | None = None,
    extras: dict[str, str] | None = None,
) -> HubSpec:
    spec = {
        "source": {"type": "mysql", "mysql": MYSQL, **(source or {})},
        "valueMappings": {"uid": "id", "activate": "on", **(mappings or {})},
        "extraValueMappings": extras or {},
    }
    return convert(spec, HubSpec)


def mysql(**changed: Any) -> HubSpec:
    return hub({"mysql": {**MYSQL, **changed}})


def postgresql(**changed: Any) -> HubSpec:
    return hub({"type": "postgresql", "postgresql": {**MYSQL, **changed}})


def sqlite(path: str) -> HubSpec:
    return hub({"type": "sqlite", "sqlite": {"path": path, "table": "tenants"}})


@pytest.mark.parametrize(
    "spec", [hub(), mysql(table="sales.tenants"), postgresql(), sqlite("a/../b.db"), sqlite("/d/b")]
)
def test_a_good_hub_has_no_problem(spec: HubSpec) -> None:
    assert validate_hub(spec) == ()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            hub({"mysql": None}),
            "spec.source.mysql: missing: type mysql needs the block mysql",
        ),
        (
            hub({"type": "sqlite"}),
            "spec.source.sqlite: missing: type sqlite needs the block sqlite",
        ),
        (
            mysql(host=""),
            "spec.source.mysql.host: missing: give the host name or address of the database server",
        ),
        (mysql(username=" "), "spec.source.mysql.username: missing: give the user to log in as"),
        (
            postgresql(database=""),
            "spec.source.postgresql.database: missing: give the name of the database",
        ),
        (
            mysql(table=""),
            "spec.source.mysql.table: missing: give the table or view that holds the rows",
        ),
        (
            mysql(table="a.b.c"),
            "spec.source.mysql.table: 'a.b.c' has more than one dot: write table or schema.table",
        ),
        (
            mysql(table="t; DROP TABLE t"),
            "spec.source.mysql.table: 't; DROP TABLE t' has a semicolon or a comment in it",
        ),
        (
            postgresql(table="t" * 64),
            "spec.source.postgresql.table: a name may have 63 bytes at most",
        ),
        (
            mysql(passwordRef={"name": "db", "key": ""}),
            "spec.source.mysql.passwordRef.key: missing: give name and key of the Secret",
        ),
        (
            mysql(tls={"certRef": {"name": "a", "key": "b"}}),
            (
                "spec.source.mysql.tls.keyRef: certRef and keyRef belong together: "
                "give both or neither"
            ),
        ),
        (sqlite("a/../../etc/x"), "spec.source.sqlite.path: the path leads out of --sqlite-dir"),
        (
            hub(mappings={"uid": ""}),
            "spec.valueMappings.uid: missing: give the column that identifies the row",
        ),
        (
            hub(mappings={"activate": ""}),
            (
                "spec.valueMappings.activate: missing: "
                "give the column that says whether the row is active"
            ),
        ),
        (
            hub(mappings={"uid": "i`d"}),
            "spec.valueMappings.uid: 'i`d' has a quote, bracket or backslash in it",
        ),
        (
            hub(extras={"plan": ""}),
            "spec.extraValueMappings.plan: a name is empty, or begins or ends with a space",
        ),
        (
            hub(extras={"my plan": "a--"}),
            "spec.extraValueMappings[my plan]: 'a--' has a semicolon or a comment in it",
        ),
    ],
)
def test_what_cannot_be_read_is_an_error(spec: HubSpec, expected: str) -> None:
    assert [str(each) for each in errors(validate_hub(spec))] == [expected]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            hub(mappings={"hostOrUrl": "url"}),
            (
                "spec.valueMappings.hostOrUrl: deprecated: map the column in extraValueMappings, "
                "and use the function toHost"
            ),
        ),
        (
            hub({"syncInterval": "0s"}),
            "spec.source.syncInterval: 1s is taken: rows are not read more often",
        ),
        (
            hub(extras={"hubId": "x"}),
            "spec.extraValueMappings.hubId: has no effect: .hubId is the hub's name",
        ),
        (
            hub(extras={"uid": "x"}),
            "spec.extraValueMappings.uid: takes the place of the usual .uid in templates",
        ),
        (
            hub(extras={"a-b": "x"}),
            "spec.extraValueMappings.a-b: templates cannot read it as a field, only by index",
        ),
    ],
)
def test_what_will_make_somebody_wonder_is_a_warning(spec: HubSpec, expected: str) -> None:
    found = validate_hub(spec)
    assert [str(each) for each in warnings(found)] == [expected]
    assert errors(found) == ()


def test_all_problems_are_told_at_once() -> None:
    spec = hub({"mysql": {**MYSQL, "host": "", "table": ""}}, {"uid": ""}, {"plan": "a;"})
    assert [each.path for each in errors(validate_hub(spec))] == [
        "spec.source.mysql.host",
        "spec.source.mysql.table",
        "spec.valueMappings.uid",
        "spec.extraValueMappings.plan",
    ]


names = st.text(alphabet="ab.`'\";#-/* \n\\[]é", max_size=6)


@given(table=names, uid=names, activate=names, extra=names)
def test_admission_and_the_reader_agree_about_names(
    table: str, uid: str, activate: str, extra: str
) -> None:
    spec = hub(
        {"mysql": {**MYSQL, "table": table}}, {"uid": uid, "activate": activate}, {"plan": extra}
    )
    try:
        Query(table=table, uid=uid, activate=activate, extras={"plan": extra})
    except InvalidSettings:
        accepted = False
    else:
        accepted = True
    assert (errors(validate_hub(spec)) == ()) == accepted
