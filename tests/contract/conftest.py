"""Each test of the contract runs against both API servers."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

import pytest
from msgspec.json import decode, encode

from built_in_resources import SERVICE_ACCOUNTS
from contract.manifests import WIDGET_DEFINITION, WIDGETS
from lynq.api.crds import build as definitions
from lynq.kube import Client, ClientOptions, Request, Resource, load_config
from lynq.kube.crd_install import install_crd
from lynq.kube.credentials import StaticCredentials
from lynq.kube.errors import NotFound
from lynq.kube.resource import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from memory.api_server import MemoryApiServer

DENIED = "system:serviceaccount:default:denied"
"""A user without rights."""

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


@pytest.fixture(scope="session", params=["memory", pytest.param("real", marks=pytest.mark.server)])
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


@pytest.fixture(scope="session")
async def crds(client: Client) -> None:
    """The three Lynq CRDs, installed and served by this server."""
    for definition in definitions():
        await install_crd(client, definition)


@pytest.fixture(scope="session")
async def widgets(client: Client) -> AsyncIterator[Resource]:
    """A custom kind, served."""
    await install_crd(client, WIDGET_DEFINITION)
    yield WIDGETS
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.name)


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
async def throttled_client(
    server: Server, namespace: str, request: pytest.FixtureRequest
) -> AsyncIterator[Client]:
    """A client whose requests are refused, and which sends each of them once."""
    once = ClientOptions(attempts=1)
    if server.memory:
        server.memory.fail(path="/configmaps/throttled", status=429, times=100, retry_after=1)
        yield Client(replace(server.client._transport, options=once))
        return
    config = load_config(kubeconfig=request.getfixturevalue("kubeconfig"))
    token = await _token(server.client, namespace)
    async with _refused_flow(server.client, namespace):
        anonymous = replace(config, credentials=StaticCredentials())
        async with Client.connect(anonymous, options=once) as client:
            yield client.authenticated_by(token)


async def _token(client: Client, namespace: str) -> str:
    """Create a service account, and return a token of it."""
    account = {"metadata": {"name": namespace, "namespace": namespace}}
    await client.create(SERVICE_ACCOUNTS, account)
    path = SERVICE_ACCOUNTS.path(namespace, namespace, "token")
    body = encode({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    response = await client._transport.send(
        Request("create", "POST", path, headers={"Content-Type": "application/json"}, body=body)
    )
    token: str = decode(response.body)["status"]["token"]
    return token


@asynccontextmanager
async def _refused_flow(client: Client, name: str) -> AsyncIterator[None]:
    """Give the requests of a service account no seat, while the block runs."""
    shares = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0}
    level = {"type": "Limited", "limited": {**shares, "limitResponse": {"type": "Reject"}}}
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
    account = {"name": name, "namespace": name}
    rule = {
        "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
        "resourceRules": [everything],
    }
    schema = {
        "matchingPrecedence": 100,
        "priorityLevelConfiguration": {"name": name},
        "rules": [rule],
    }
    await client.create(PRIORITY_LEVELS, {"metadata": {"name": name}, "spec": level})
    await client.create(FLOW_SCHEMAS, {"metadata": {"name": name}, "spec": schema})
    try:
        yield
    finally:
        await client.delete(FLOW_SCHEMAS, name)
        await client.delete(PRIORITY_LEVELS, name)
