"""Authorization of /metrics by the API server."""

from collections.abc import Callable
from functools import partial

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from lynq.controllers.metrics_auth import may_read_metrics
from lynq.kube import Client, ClusterConfig
from lynq.kube.credentials import Credential, StaticCredentials
from lynq.telemetry import AccessDecision, Address, Protection, ReviewFailedError
from lynq.telemetry.endpoints import metrics_server
from waiting import eventually

Kubectl = Callable[..., str]


@pytest.fixture
def token(kubectl: Kubectl, namespace: str) -> str:
    """The token of an account without permissions."""
    kubectl("create", "serviceaccount", "prometheus", "-n", namespace)
    return kubectl("create", "token", "prometheus", "-n", namespace).strip()


@pytest.fixture
async def allowed(client: Client, kubectl: Kubectl, namespace: str, token: str) -> str:
    """The token of an account that may get /metrics."""
    kubectl(
        *("create", "clusterrole", namespace, "--verb=get", "--non-resource-url=/metrics"),
    )
    kubectl(
        *("create", "clusterrolebinding", namespace, f"--clusterrole={namespace}"),
        f"--serviceaccount={namespace}:prometheus",
    )

    async def is_allowed() -> bool:
        return await may_read_metrics(client, token) is AccessDecision.ALLOWED

    # A new role counts a moment after it was created.
    await eventually(is_allowed)
    return token


async def test_authorized_account_is_allowed(client: Client, allowed: str) -> None:
    assert await may_read_metrics(client, allowed) is AccessDecision.ALLOWED


async def test_unauthorized_account_is_forbidden(client: Client, token: str) -> None:
    assert await may_read_metrics(client, token) is AccessDecision.FORBIDDEN


@pytest.mark.parametrize("made_up", ["x", "eyJhbGciOiJub25lIn0.e30.", "ü"])
async def test_invalid_token_is_unauthenticated(client: Client, made_up: str) -> None:
    assert await may_read_metrics(client, made_up) is AccessDecision.UNAUTHENTICATED


async def test_unreachable_api_server_is_a_failed_review() -> None:
    config = ClusterConfig(
        "http://127.0.0.1:1", credentials=StaticCredentials(Credential(token="x"))
    )
    async with Client.connect(config) as unreachable:
        with pytest.raises(ReviewFailedError) as raised:
            await may_read_metrics(unreachable, "hunter2")
    assert "hunter2" not in str(raised.value)


async def test_metrics_server_uses_cluster_authorization(client: Client, allowed: str) -> None:
    protection = Protection(partial(may_read_metrics, client))
    async with (
        metrics_server(Address("127.0.0.1", 0), CollectorRegistry(), protection) as server,
        aiohttp.ClientSession() as session,
    ):
        url = f"https://{server.address}/metrics"
        for token, status in ((allowed, 200), ("x", 401)):
            headers = {"Authorization": f"Bearer {token}"}
            async with session.get(url, headers=headers, ssl=False) as response:
                assert response.status == status
