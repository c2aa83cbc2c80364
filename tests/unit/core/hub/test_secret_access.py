"""The Secrets that the author of a hub has to be allowed to get."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from lynq.api import HubSpec
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


def hub(engine: str = "mysql", sync_interval: str = "30s", **server: Any) -> HubSpec:
    source = {
        "type": engine,
        "syncInterval": sync_interval,
        "mysql": {**SERVER, **server},
        "postgresql": {**SERVER, **server},
        "sqlite": SQLITE,
    }
    return convert({"source": source, "valueMappings": {"uid": "id", "activate": "on"}}, HubSpec)


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


@given(
    table=st.sampled_from(["tenants", "customers"]),
    seconds=st.integers(1, 60),
    interval=st.integers(1, 60),
)
def test_unchanged_connection_needs_no_secret(table: str, seconds: int, interval: int) -> None:
    timeouts = {"connectTimeout": f"{seconds}s", "queryTimeout": f"{seconds}s"}
    new = hub(sync_interval=f"{interval}s", table=table, **timeouts)
    assert secrets_to_authorize(new, hub()) == ()
