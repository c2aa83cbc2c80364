"""Watches of node resources during shutdown."""

import asyncio
from contextlib import suppress

from msgspec.structs import replace

from lynq.api import NodeStatus, ResourceState, ResourceStatus
from lynq.controllers.children import Children
from lynq.kube import Client, ClusterConfig, Discovery, RuntimeMetrics
from unit.core.node.nodes import a_node

READY = ResourceState.READY


async def test_node_change_during_shutdown_starts_no_watch() -> None:
    resource = ResourceStatus(id="a", api_version="v1", kind="Secret", name="a", state=READY)
    node = replace(a_node(), status=NodeStatus(resources=(resource,)))
    async with Client.connect(ClusterConfig("http://127.0.0.1:1")) as client:
        children = Children(
            client, Discovery(client), RuntimeMetrics.unexposed(), on_change=lambda _: None
        )
        running = asyncio.create_task(children.run())
        await asyncio.sleep(0)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        children.start_watches(node)
