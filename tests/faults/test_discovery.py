"""Incomplete discovery after an API server restart."""

import uuid
from dataclasses import dataclass, replace

import msgspec

from custom_kind import served_custom_kind
from faults.tenants import watched_namespaces
from lynq.kube import Request, Response, Send
from operated.builders import NODE, create_node, delete_node, manifest_entry
from operated.environment import NODES, Environment
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)


@dataclass(slots=True)
class IncompleteDiscovery:
    """Omits an API group from the first discovery responses."""

    group: str
    times: int
    omitted: int = 0

    async def __call__(self, request: Request, send: Send) -> Response:
        response = await send(request)
        if request.path != "/apis" or self.omitted >= self.times:
            return response
        self.omitted += 1
        groups = msgspec.json.decode(response.body)
        groups["items"] = [
            group for group in groups["items"] if group["metadata"]["name"] != self.group
        ]
        return replace(response, body=msgspec.json.encode(groups))


async def test_incomplete_discovery_does_not_release_node_finalizer(
    env: Environment, other_namespace: str
) -> None:
    group, places = f"g{uuid.uuid4().hex[:8]}.example.com", watched_namespaces(env)
    # Tracked by labels: the garbage collector does not delete it.
    manifest = {"apiVersion": f"{group}/v1", "kind": "Gadget"}
    gadget = manifest_entry("gadget", manifest, targetNamespace=other_namespace)
    async with served_custom_kind(env.client, group) as resource:
        async with running_operator(env, namespaces=places):
            await create_node(env, manifests=[gadget])
            await wait_for_node_ready(env, NODE)
        await delete_node(env)
        discovery = IncompleteDiscovery(group, times=1)
        env.client = env.client.intercepted(discovery)
        async with running_operator(env, namespaces=places):
            await wait_for_deletion(env, NODES, NODE, within=30)
        assert discovery.omitted
        assert (await env.client.list(resource, other_namespace)).items == []
