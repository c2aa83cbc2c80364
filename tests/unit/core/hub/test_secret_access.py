"""The Secrets that the author of a hub has to be allowed to get."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert
from msgspec.structs import replace

from lynq.api import DeletionGuard, HubSpec
from lynq.core.hub.secret_access import secrets_to_authorize

SERVER = {
    "host": "db",
    "username": "lynq",
    "database": "shop",
    "table": "tenants",
    "passwordRef": {"name": "db-password", "key": "password"},
    "tls": {
        "caRef": {"kind": "ConfigMap", "name": "db-ca", "key": "ca.crt"},
        "certRef": {"name": "db-client", "key": "tls.crt"},
        "keyRef": {"name": "db-client", "key": "tls.key"},
    },
}
SQLITE = {"path": "rows.db", "table": "tenants"}
ALL = ("db-client", "db-password")


MAPPINGS: dict[str, Any] = {
    "valueMappings": {"uid": "id", "activate": "on", "hostOrUrl": "url"},
    "extraValueMappings": {"planId": "plan", "region": "zone"},
}


def hub(
    engine: str = "mysql",
    sync_interval: str = "30s",
    mappings: dict[str, Any] = MAPPINGS,
    **server: Any,
) -> HubSpec:
    source = {
        "type": engine,
        "syncInterval": sync_interval,
        "mysql": {**SERVER, **server},
        "postgresql": {**SERVER, **server},
        "sqlite": SQLITE,
    }
    return convert({"source": source, **mappings}, HubSpec)


@pytest.mark.parametrize("engine", ["mysql", "postgresql"])
def test_created_hub_needs_every_secret_once_and_no_config_map(engine: str) -> None:
    assert secrets_to_authorize(hub(engine), None) == ALL


def test_ca_in_a_secret_is_needed() -> None:
    tls = {"caRef": {"name": "db-ca", "key": "ca.crt"}}
    assert secrets_to_authorize(hub(tls=tls), None) == ("db-ca", "db-password")


def test_hub_without_references_needs_no_secret() -> None:
    assert secrets_to_authorize(hub(passwordRef=None, tls=None), None) == ()
    assert secrets_to_authorize(hub("sqlite"), None) == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"host": "elsewhere"},
        {"port": 1},
        {"database": "other"},
        {"table": "pg_catalog.pg_authid"},
        {"username": "root"},
        {"passwordRef": {"name": "db-password", "key": "other"}},
        {"tls": {**SERVER["tls"], "mode": "require"}},  # type: ignore[dict-item]
    ],
)
def test_changed_connection_needs_its_secrets(changed: dict[str, Any]) -> None:
    assert secrets_to_authorize(hub(**changed), hub()) == ALL


def test_changed_type_needs_the_secrets_of_the_new_block() -> None:
    assert secrets_to_authorize(hub("postgresql"), hub("mysql")) == ALL
    assert secrets_to_authorize(hub("mysql"), hub("sqlite")) == ALL
    assert secrets_to_authorize(hub("sqlite"), hub("mysql")) == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"valueMappings": {"uid": "rolname", "activate": "on"}},
        {"valueMappings": {"uid": "id", "activate": "rolcanlogin"}},
        {"valueMappings": {"uid": "id", "activate": "on", "hostOrUrl": "secret"}},
        {"extraValueMappings": {"planId": "rolpassword"}},
        {"extraValueMappings": {"planId": "plan", "region": "zone", "more": "rolpassword"}},
    ],
)
@pytest.mark.parametrize("engine", ["mysql", "postgresql"])
def test_another_column_needs_the_secrets(engine: str, changed: dict[str, Any]) -> None:
    new = hub(engine, mappings=MAPPINGS | changed)
    assert secrets_to_authorize(new, hub(engine)) == ALL


@given(
    variables=st.lists(st.text(min_size=1, max_size=5), max_size=3, unique=True),
    columns=st.lists(st.sampled_from(["id", "on", "url", "plan", "zone"]), min_size=3, max_size=3),
)
def test_columns_that_are_read_already_need_no_secret(
    variables: list[str], columns: list[str]
) -> None:
    mappings = {
        "valueMappings": {"uid": columns[0], "activate": columns[1]},
        "extraValueMappings": dict(zip(variables, columns, strict=False)),
    }
    assert secrets_to_authorize(hub(mappings=mappings), hub()) == ()


def test_unrelated_edit_of_a_hub_needs_no_secret() -> None:
    new = replace(hub(), paused=True, deletion_guard=DeletionGuard(max_count=1))
    assert secrets_to_authorize(new, hub()) == ()


def test_acceptance_of_any_server_needs_the_secrets() -> None:
    assert secrets_to_authorize(hub(sendPasswordTo="AnyServer"), hub()) == ALL


def test_other_key_of_the_server_needs_the_secrets() -> None:
    keys = [
        hub(tls={"mode": "disable", "serverPublicKeyRef": {"name": name, "key": "k"}})
        for name in ("one", "two")
    ]
    assert secrets_to_authorize(keys[1], keys[0]) == ("db-password", "two")


@given(
    seconds=st.integers(1, 60),
    interval=st.integers(1, 60),
)
def test_unchanged_connection_needs_no_secret(seconds: int, interval: int) -> None:
    timeouts: dict[str, Any] = {"connectTimeout": f"{seconds}s", "queryTimeout": f"{seconds}s"}
    new = hub(sync_interval=f"{interval}s", **timeouts)
    assert secrets_to_authorize(new, hub()) == ()
