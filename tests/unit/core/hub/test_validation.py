"""Errors and warnings of a hub, with the exact path."""

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


def mysql(**fields: Any) -> HubSpec:
    return hub({"mysql": {**MYSQL, **fields}})


def postgresql(**fields: Any) -> HubSpec:
    return hub({"type": "postgresql", "postgresql": {**MYSQL, **fields}})


def sqlite(path: str) -> HubSpec:
    return hub({"type": "sqlite", "sqlite": {"path": path, "table": "tenants"}})


@pytest.mark.parametrize(
    "spec", [hub(), mysql(table="sales.tenants"), postgresql(), sqlite("a/../b.db"), sqlite("/d/b")]
)
def test_valid_hub_has_no_problem(spec: HubSpec) -> None:
    assert validate_hub(spec) == ()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            hub({"mysql": None}),
            "spec.source.mysql: required for type mysql",
        ),
        (
            hub({"type": "sqlite"}),
            "spec.source.sqlite: required for type sqlite",
        ),
        (
            mysql(host=""),
            "spec.source.mysql.host: required: host name or address of the database server",
        ),
        (mysql(username=" "), "spec.source.mysql.username: required: user name for the database"),
        (
            postgresql(database=""),
            "spec.source.postgresql.database: required: name of the database",
        ),
        (
            mysql(table=""),
            "spec.source.mysql.table: required: name of the table or view with the rows",
        ),
        (
            mysql(table="a.b.c"),
            "spec.source.mysql.table: 'a.b.c' has more than one dot: use table or schema.table",
        ),
        (
            mysql(table="t; DROP TABLE t"),
            "spec.source.mysql.table: 't; DROP TABLE t' contains a semicolon or a comment",
        ),
        (
            postgresql(table="t" * 64),
            "spec.source.postgresql.table: a name is limited to 63 bytes",
        ),
        (
            mysql(passwordRef={"name": "db", "key": ""}),
            "spec.source.mysql.passwordRef.key: required: name and key of the Secret",
        ),
        (
            mysql(tls={"certRef": {"name": "a", "key": "b"}}),
            "spec.source.mysql.tls.keyRef: certRef and keyRef must be set together",
        ),
        (
            mysql(tls={"serverPublicKeyRef": {"name": "a", "key": "b"}}),
            (
                "spec.source.mysql.tls.serverPublicKeyRef: is for connections without TLS: set"
                " mode to disable"
            ),
        ),
        (sqlite("a/../../etc/x"), "spec.source.sqlite.path: must not lead out of --sqlite-dir"),
        (
            hub(mappings={"uid": ""}),
            "spec.valueMappings.uid: required: column that identifies the row",
        ),
        (
            hub(mappings={"activate": ""}),
            "spec.valueMappings.activate: required: column that activates the row",
        ),
        (
            hub(mappings={"uid": "i`d"}),
            "spec.valueMappings.uid: 'i`d' contains a quote, bracket or backslash",
        ),
        (
            hub(extras={"plan": ""}),
            "spec.extraValueMappings.plan: a name is empty, or starts or ends with a space",
        ),
        (
            hub(extras={"my plan": "a--"}),
            "spec.extraValueMappings[my plan]: 'a--' contains a semicolon or a comment",
        ),
    ],
)
def test_error(spec: HubSpec, expected: str) -> None:
    assert [str(problem) for problem in errors(validate_hub(spec))] == [expected]


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
            "spec.source.syncInterval: too short: 1s is used instead",
        ),
        (
            hub(extras={"hubId": "x"}),
            "spec.extraValueMappings.hubId: has no effect: .hubId is the name of the hub",
        ),
        (
            hub(extras={"uid": "x"}),
            "spec.extraValueMappings.uid: overrides the built-in variable .uid in templates",
        ),
        (
            hub(extras={"a-b": "x"}),
            "spec.extraValueMappings.a-b: not an identifier: templates can read it by index only",
        ),
    ],
)
def test_warning(spec: HubSpec, expected: str) -> None:
    problems = validate_hub(spec)
    assert [str(problem) for problem in warnings(problems)] == [expected]
    assert errors(problems) == ()


def test_all_problems_are_found_at_once() -> None:
    spec = hub({"mysql": {**MYSQL, "host": "", "table": ""}}, {"uid": ""}, {"plan": "a;"})
    assert [problem.path for problem in errors(validate_hub(spec))] == [
        "spec.source.mysql.host",
        "spec.source.mysql.table",
        "spec.valueMappings.uid",
        "spec.extraValueMappings.plan",
    ]


names = st.text(alphabet="ab.`'\";#-/* \n\\[]é", max_size=6)


@given(table=names, uid=names, activate=names, extra=names)
def test_admission_and_reader_agree_about_names(
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
