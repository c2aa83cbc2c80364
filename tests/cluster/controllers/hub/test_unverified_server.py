"""Hubs whose MySQL server asks for the password and is not verified: the status says why."""

from collections.abc import Iterator

import pytest

from certificates import Authority
from lynq.kube.errors import KubeError
from lynq.kube.resource import SECRETS
from operated.environment import Environment, Object
from operated.running_operator import running_operator
from unit.sources.hostile_mysql import Hostile, Script, hostile_server, switch

PASSWORD = "hunter2-prod-db"
PAIR = Authority().sign("server", "127.0.0.1")
SCRIPT = Script(packets=(switch("caching_sha2_password"), b"\1\4"))


@pytest.fixture
def server() -> Iterator[Hostile]:
    with hostile_server(SCRIPT, PAIR) as server:
        yield server


@pytest.fixture
async def block(env: Environment, server: Hostile) -> Object:
    """The connection to the server, with a password."""
    metadata = {"name": "db", "namespace": env.namespace}
    await env.client.create(SECRETS, {"metadata": metadata, "stringData": {"password": PASSWORD}})
    return {
        "host": "127.0.0.1",
        "port": server.port,
        "username": "lynq",
        "passwordRef": {"name": "db", "key": "password"},
        "database": "shop",
        "table": "t",
    }


@pytest.mark.parametrize("changes", ["Poll", "Push"])
@pytest.mark.parametrize("tls", [None, {"mode": "require"}])
async def test_server_that_asks_for_the_password_gets_none_and_the_status_says_why(
    env: Environment, server: Hostile, block: Object, tls: Object | None, changes: str
) -> None:
    mysql = {**block, "tls": tls}
    await env.create_hub(
        source={"type": "mysql", "sqlite": None, "mysql": mysql, "changes": changes}
    )
    async with running_operator(env):
        condition = await env.wait_for_condition("Ready", "False")
    assert condition["reason"] == "DatabaseConnectionFailed"
    for part in ("plugin caching_sha2_password", "verify-full", "sendPasswordTo: AnyServer"):
        assert part in condition["message"]
    assert server.received
    assert not server.has(PASSWORD)


async def test_key_for_a_mode_with_tls_is_rejected(env: Environment, block: Object) -> None:
    tls = {"mode": "require", "serverPublicKeyRef": {"name": "db", "key": "key.pem"}}
    source = {"type": "mysql", "sqlite": None, "mysql": {**block, "tls": tls}}
    with pytest.raises(KubeError, match=r"tls\.serverPublicKeyRef"):
        await env.create_hub(source=source)
