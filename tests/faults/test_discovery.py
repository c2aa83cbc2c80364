"""An API server that does not yet say all that it serves: nobody's objects are given up for it."""

import uuid
from dataclasses import dataclass, replace

import msgspec

from cluster.controllers.environment import NODES, Environment
from cluster.controllers.node.builders import NODE, create_node, delete_node, manifest_entry
from cluster.controllers.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)
from custom_kind import served_custom_kind
from faults.tenants import places_of
from lynq.kube import Request, Response, Send


@dataclass(slots=True)
class Forgetful:
    """Leaves a group out of what is served, some times."""

    group: str
    times: int
    left_out: int = 0

    async def __call__(self, request: Request, send: Send) -> Response:
        response = await send(request)
        if request.path != "/apis" or self.left_out >= self.times:
            return response
        self.left_out += 1
        groups = msgspec.json.decode(response.body)
        groups["items"] = [
            group for group in groups["items"] if group["metadata"]["name"] != self.group
        ]
        return replace(response, body=msgspec.json.encode(groups))


async def test_incomplete_discovery_does_not_release_node_finalizer(
    env: Environment, elsewhere: str
) -> None:
    group, places = f"g{uuid.uuid4().hex[:8]}.example.com", places_of(env)
    # Tied by labels: the garbage collector takes nothing along.
    manifest = {"apiVersion": f"{group}/v1", "kind": "Gadget"}
    gadget = manifest_entry("gadget", manifest, targetNamespace=elsewhere)
    async with served_custom_kind(env.client, group) as resource:
        async with running_operator(env, namespaces=places):
            await create_node(env, manifests=[gadget])
            await wait_for_node_ready(env, NODE)
        await delete_node(env)
        forgetful = Forgetful(group, times=1)
        env.client = env.client.intercepted(forgetful)
        async with running_operator(env, namespaces=places):
            await wait_for_deletion(env, NODES, NODE, within=30)
        assert forgetful.left_out
        assert (await env.client.list(resource, elsewhere)).items == []
