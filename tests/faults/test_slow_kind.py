"""An admission webhook of one kind that does not answer: other hubs keep their latency."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import pytest

from built_in_resources import INGRESSES
from faults.conftest import Replicas
from faults.second_hub import assert_rows_are_ready, start_leader
from lynq.kube import Resource
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import HUBS, NODES, Environment, Object, config_map
from operated.running_operator import get_node, node_condition, resource_status
from waiting import eventually

pytestmark = pytest.mark.timing

UIDS = [f"t{number:02}" for number in range(30)]
NAMES = [f"{uid}-web" for uid in UIDS]
WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)


class SilentServer:
    """A server that accepts connections and never answers."""

    def __init__(self) -> None:
        self.accepted = 0
        self._writers: list[asyncio.StreamWriter] = []

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator[tuple[Self, int]]:
        """Run a server; yield it and its port."""
        silent = cls()
        server = await asyncio.start_server(silent.accept, "127.0.0.1", 0)
        async with server:
            yield silent, server.sockets[0].getsockname()[1]
            silent.disconnect()

    async def accept(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._writers.append(writer)

    def disconnect(self) -> None:
        """Close all connections, so that the API server does not wait for its timeout."""
        while self._writers:
            self._writers.pop().close()


def ingress() -> Object:
    """Return a form entry for an Ingress; without a controller it gets no address."""
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    manifest = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "spec": {"defaultBackend": backend},
    }
    name = "{{ .uid }}-ingress"
    return {"id": "ingress", "nameTemplate": name, "waitForReady": False, "spec": manifest}


class SilentWebhook:
    """A webhook of ingresses in the test's namespace that does not answer for 10 s."""

    def __init__(self, env: Environment, server: SilentServer, port: int) -> None:
        self._env = env
        self._server = server
        self._port = port

    @property
    def calls(self) -> int:
        """Number of calls by the API server."""
        return self._server.accepted

    async def install(self) -> None:
        """Install the webhook, and wait until the API server calls it."""
        rule = {
            "apiGroups": ["networking.k8s.io"],
            "apiVersions": ["v1"],
            "operations": ["*"],
            "resources": ["ingresses"],
        }
        webhook = {
            "name": "ingress.dead.example",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 10,
            "failurePolicy": "Fail",
            "rules": [rule],
            "namespaceSelector": {
                "matchLabels": {"kubernetes.io/metadata.name": self._env.namespace}
            },
            "clientConfig": {"url": f"https://127.0.0.1:{self._port}/validate"},
        }
        metadata = {"name": self._env.namespace}
        await self._env.client.create(WEBHOOKS, {"metadata": metadata, "webhooks": [webhook]})
        await eventually(self._is_called, within=15)

    async def remove(self) -> None:
        """Remove the webhook, and wait until the API server does not call it any more."""
        await self._env.client.delete(WEBHOOKS, self._env.namespace)
        await eventually(self._is_not_called, within=15)
        self._server.disconnect()

    async def _is_called(self) -> bool:
        calls = self.calls
        await self._probe()
        return self.calls > calls

    async def _is_not_called(self) -> bool:
        return await self._probe()

    async def _probe(self) -> bool:
        """Return whether a dry run of a create is answered within a moment."""
        obj = ingress()["spec"] | {"metadata": {"name": "probe", "namespace": self._env.namespace}}
        try:
            async with asyncio.timeout(0.5):
                await self._env.client.create(INGRESSES, obj, dry_run=True)
        except (KubeError, TimeoutError):
            return False
        return True


@pytest.fixture
async def webhook(env: Environment) -> AsyncIterator[SilentWebhook]:
    async with SilentServer.running() as (server, port):
        yield SilentWebhook(env, server, port)
        try:
            await env.client.delete(WEBHOOKS, env.namespace)
        except NotFound:
            return


async def create_tenants(env: Environment) -> None:
    env.set_rows(*((uid, 1, "pro") for uid in UIDS))
    await env.create_hub(deletionGuard={"disabled": True})
    await env.create_form(configMaps=[config_map()], ingresses=[ingress()])


async def ready_nodes(env: Environment) -> list[str]:
    nodes = await env.nodes()
    return sorted(
        name
        for name, node in nodes.items()
        if name in NAMES and node_condition(node, "Ready")[0] == "True"
    )


async def all_are_ready(env: Environment) -> bool:
    assert await ready_nodes(env) == NAMES
    return True


async def have_settings(env: Environment) -> bool:
    applied = await env.client.list(CONFIG_MAPS, env.namespace, labels="lynq.sh/managed=true")
    names = {obj["metadata"]["name"] for obj in applied.items}
    return names >= {f"{uid}-settings" for uid in UIDS}


async def only_say_that_the_ingress_is_not_applied(env: Environment) -> bool:
    nodes = [await get_node(env, name) for name in NAMES]
    assert {resource_status(node, "ingress").get("state") for node in nodes} == {"Progressing"}
    return not any(node["status"].get("failedResources") for node in nodes)


async def none_remains(env: Environment) -> bool:
    assert not [name for name in await env.nodes() if name in NAMES]
    return True


async def test_silent_webhook_of_one_kind_delays_no_other_hub(
    env: Environment, replicas: Replicas, webhook: SilentWebhook
) -> None:
    replica = await start_leader(env, replicas)
    await webhook.install()
    calls = webhook.calls
    await create_tenants(env)
    await eventually(lambda: webhook.calls - calls >= 5)
    # All nodes are reconciled, those whose Ingress hangs and those whose Ingress waits.
    await eventually(lambda: have_settings(env), every=0.2)
    for name in NAMES:
        await env.patch(NODES, name, {"metadata": {"annotations": {"example.com/reviewed": "yes"}}})

    await assert_rows_are_ready(env, rows=3, within=2)
    await eventually(lambda: only_say_that_the_ingress_is_not_applied(env), every=0.2)
    # An Ingress whose write has only been deferred cannot exist, so it is not read.
    read = {path for path in replica.proxy.reads if "/ingresses/" in path}
    assert not read - {write.path for write in replica.proxy.writes}

    await webhook.remove()
    await eventually(lambda: all_are_ready(env), within=30, every=0.2)


async def test_silent_webhook_of_deletions_delays_no_other_hub(
    env: Environment, replicas: Replicas, webhook: SilentWebhook
) -> None:
    await start_leader(env, replicas)
    await create_tenants(env)
    await eventually(lambda: all_are_ready(env), within=30, every=0.2)
    await webhook.install()
    calls = webhook.calls
    await env.client.delete(HUBS, "hub", env.namespace)
    await eventually(lambda: webhook.calls - calls >= 5)

    await assert_rows_are_ready(env, rows=3, within=2)

    await webhook.remove()
    await eventually(lambda: none_remains(env), within=30, every=0.2)
