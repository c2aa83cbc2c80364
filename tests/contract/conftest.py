"""Each test of the contract runs against both API servers."""

import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass

import pytest

from lynq.kube import Client, Resource, load_config
from lynq.kube.errors import ApiError, NotFound, TooManyRequests
from lynq.kube.resource import NAMESPACES
from memory.api_server import MemoryApiServer
from waiting import eventually

DENIED = "system:serviceaccount:default:denied"
"""A user without rights."""
THROTTLED = "throttled"
"""A user whose requests are refused."""

_FLOW = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMAS = Resource(_FLOW, "v1", "FlowSchema", "flowschemas", namespaced=False)
PRIORITY_LEVELS = Resource(
    _FLOW, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", namespaced=False
)


@dataclass(frozen=True, slots=True)
class Server:
    """One of the two API servers."""

    client: Client
    memory: MemoryApiServer | None = None


@pytest.fixture(
    scope="session", params=["memory", pytest.param("real", marks=pytest.mark.server)]
)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    """The server in memory, or the real one with its controller-manager."""
    if request.param == "memory":
        memory = MemoryApiServer()
        memory.authorizer = lambda attributes: attributes.user != DENIED
        async with memory.client() as client:
            yield Server(client, memory)
    else:
        kubeconfig = request.getfixturevalue("kubeconfig")
        async with Client.connect(load_config(kubeconfig=kubeconfig)) as client:
            yield Server(client)


@pytest.fixture(scope="session")
def client(server: Server) -> Client:
    """An admin client of one of the two servers."""
    return server.client


@pytest.fixture
async def other_namespace(client: Client) -> AsyncIterator[str]:
    """A second namespace for one test, which may delete it."""
    name = f"other-{uuid.uuid4().hex[:10]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    with suppress(NotFound):
        await client.delete(NAMESPACES, name)


@pytest.fixture
def denied_client(client: Client) -> Client:
    """A client of a user without rights."""
    return client.acting_as(DENIED)


@pytest.fixture
async def throttled_client(server: Server) -> AsyncIterator[Client]:
    """A client whose requests are refused until they are fewer."""
    client = server.client.acting_as(THROTTLED)
    if server.memory:
        server.memory.fail(path="/configmaps/throttled", status=429, times=100, retry_after=1)
        yield client
        return
    name = f"throttled-{uuid.uuid4().hex[:10]}"
    limited = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0}
    level = {"type": "Limited", "limited": limited | {"limitResponse": {"type": "Reject"}}}
    rule = {
        "subjects": [{"kind": "User", "user": {"name": THROTTLED}}],
        "resourceRules": [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
        ],
    }
    schema = {
        "matchingPrecedence": 100,
        "priorityLevelConfiguration": {"name": name},
        "rules": [rule],
    }
    await server.client.create(PRIORITY_LEVELS, {"metadata": {"name": name}, "spec": level})
    await server.client.create(FLOW_SCHEMAS, {"metadata": {"name": name}, "spec": schema})
    yield client
    await server.client.delete(FLOW_SCHEMAS, name)
    await server.client.delete(PRIORITY_LEVELS, name)
