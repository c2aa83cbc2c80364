"""An API server that does not yet say all that it serves: nobody's objects are given up for it."""

import uuid
from dataclasses import dataclass, replace

import msgspec

from cluster.controllers.node.making import NODE, delete_node, make_node, of_kind
from cluster.controllers.operating import is_gone, node_is_ready, operating
from cluster.controllers.stage import NODES, Stage
from faults.tenants import places_of
from gadgets import gadgets
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
        found = msgspec.json.decode(response.body)
        found["items"] = [each for each in found["items"] if each["metadata"]["name"] != self.group]
        return replace(response, body=msgspec.json.encode(found))


async def test_a_kind_that_is_missing_for_a_moment_is_no_reason_to_let_a_node_go(
    stage: Stage, elsewhere: str
) -> None:
    group, places = f"g{uuid.uuid4().hex[:8]}.example.com", places_of(stage)
    # Tied by labels: the garbage collector takes nothing along.
    manifest = {"apiVersion": f"{group}/v1", "kind": "Gadget"}
    gadget = of_kind("gadget", manifest, targetNamespace=elsewhere)
    async with gadgets(stage.client, group) as resource:
        async with operating(stage, namespaces=places):
            await make_node(stage, manifests=[gadget])
            await node_is_ready(stage, NODE)
        await delete_node(stage)
        forgetful = Forgetful(group, times=1)
        stage.client = stage.client.intercepted(forgetful)
        async with operating(stage, namespaces=places):
            await is_gone(stage, NODES, NODE, within=30)
        assert forgetful.left_out
        assert (await stage.client.list(resource, elsewhere)).items == []
