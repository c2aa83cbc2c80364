"""Loading source settings from a hub spec, its Secrets and ConfigMaps."""

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from lynq.api import HubSpec, TlsMode
from lynq.controllers.hub.source_config import SourceConfig, SourceConfigLoader
from lynq.kube import Client
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from lynq.sources import TLS, MySQLSettings, PostgreSQLSettings, SQLiteSettings
from lynq.sources.errors import InvalidSettings
from operated.environment import RequestRecorder

SERVER = {"host": "db", "username": "reader", "database": "saas", "table": "sales.tenants"}
PASSWORD = {"name": "login", "key": "password"}


@pytest_asyncio.fixture(loop_scope="function")
async def loader(client: Client, namespace: str) -> SourceConfigLoader:
    secret = {"password": b"p\xc3\xa4ss", "key": b"KEY", "binary": b"\xff\xfe"}
    data = {key: base64.b64encode(value).decode() for key, value in secret.items()}
    await client.create(
        SECRETS, {"metadata": {"name": "login", "namespace": namespace}, "data": data}
    )
    await client.create(
        CONFIG_MAPS,
        {"metadata": {"name": "trust", "namespace": namespace}, "data": {"ca.crt": "CA"}},
    )
    return SourceConfigLoader(client, Path("/databases"))


async def load(loader: SourceConfigLoader, namespace: str, source: dict[str, Any]) -> SourceConfig:
    spec = {
        "source": source,
        "valueMappings": {"uid": "id", "activate": "on"},
        "extraValueMappings": {"plan": "subscription"},
    }
    return await loader.load(msgspec.convert(spec, HubSpec), namespace)


async def test_mysql_source_with_all_settings(loader: SourceConfigLoader, namespace: str) -> None:
    tls = {
        "mode": "verify-ca",
        "caRef": {"kind": "ConfigMap", "name": "trust", "key": "ca.crt"},
        "certRef": {"kind": "ConfigMap", "name": "trust", "key": "ca.crt"},
        "keyRef": {"name": "login", "key": "key"},
    }
    block = SERVER | {"passwordRef": PASSWORD, "tls": tls, "queryTimeout": "5m"}
    config = await load(loader, namespace, {"type": "mysql", "mysql": block})

    assert isinstance(config.settings, MySQLSettings)
    assert (config.settings.password, config.settings.port) == ("päss", 3306)
    assert (config.settings.connect_timeout, config.settings.query_timeout) == (5.0, 300.0)
    assert (config.settings.tls.ca, config.settings.tls.key) == ("CA", "KEY")
    assert config.query.columns == ("id", "on", "subscription")
    assert config.query.table == "sales.tenants"
    assert config.login_hint == ""


async def test_key_of_a_mysql_server_is_read(loader: SourceConfigLoader, namespace: str) -> None:
    key = {"kind": "ConfigMap", "name": "trust", "key": "ca.crt"}
    tls = {"mode": "disable", "serverPublicKeyRef": key}
    config = await load(loader, namespace, {"type": "mysql", "mysql": SERVER | {"tls": tls}})
    assert isinstance(config.settings, MySQLSettings)
    assert config.settings.tls == TLS(mode=TlsMode.DISABLE, server_public_key="CA")
    assert not config.settings.accepts_any_server


async def test_any_server_is_accepted_on_request(
    loader: SourceConfigLoader, namespace: str
) -> None:
    block = SERVER | {"sendPasswordTo": "AnyServer"}
    config = await load(loader, namespace, {"type": "mysql", "mysql": block})
    assert isinstance(config.settings, MySQLSettings)
    assert config.settings.accepts_any_server


async def test_minimal_source_settings(loader: SourceConfigLoader, namespace: str) -> None:
    config = await load(loader, namespace, {"type": "postgresql", "postgresql": SERVER})
    assert isinstance(config.settings, PostgreSQLSettings)
    assert config.settings.password == ""
    lite = await load(
        loader, namespace, {"type": "sqlite", "sqlite": {"path": "a.db", "table": "t"}}
    )
    assert lite.settings == SQLiteSettings(path="a.db", directory=Path("/databases"))


async def test_missing_password_key_is_empty_and_reported(
    loader: SourceConfigLoader, namespace: str
) -> None:
    block = SERVER | {"passwordRef": {"name": "login", "key": "absent"}}
    config = await load(loader, namespace, {"type": "mysql", "mysql": block})
    assert isinstance(config.settings, MySQLSettings)
    assert config.settings.password == ""
    assert 'passwordRef: Secret "login" has no key "absent"' in config.login_hint


async def test_keys_of_one_object_are_read_in_one_request(client: Client, namespace: str) -> None:
    data = {key: base64.b64encode(b"x").decode() for key in ("password", "ca", "cert", "key")}
    metadata = {"name": "all", "namespace": namespace}
    await client.create(SECRETS, {"metadata": metadata, "data": data})
    traffic = RequestRecorder()
    tls = {f"{part}Ref": {"name": "all", "key": part} for part in ("ca", "cert", "key")}
    block = SERVER | {"passwordRef": {"name": "all", "key": "password"}, "tls": tls}
    loader = SourceConfigLoader(client.intercepted(traffic), None)

    await load(loader, namespace, {"type": "mysql", "mysql": block})

    assert [request.verb for request in traffic.sent] == ["get"]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"passwordRef": {"name": "none", "key": "a"}}, 'passwordRef: Secret "none" not found'),
        ({"tls": {"caRef": {"name": "login", "key": "a"}}}, 'Secret "login" has no key "a"'),
        ({"passwordRef": {"name": "login", "key": "binary"}}, "is not valid UTF-8"),
        (
            {"tls": {"caRef": {"kind": "ConfigMap", "name": "trust", "key": "x"}}},
            'tls.caRef: ConfigMap "trust" has no key "x"',
        ),
        ({"table": "a;b"}, "table: 'a;b' contains a semicolon"),
    ],
)
async def test_missing_reference_is_named(
    loader: SourceConfigLoader, namespace: str, block: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidSettings) as failure:
        await load(loader, namespace, {"type": "mysql", "mysql": SERVER | block})
    assert message in str(failure.value)
