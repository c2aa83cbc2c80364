"""What happened to nodes and Deployments, in the order of the API server, and who was on the way.

Etcd numbers all changes of all kinds in one row, so two watches put together by resourceVersion
are the true history, however late each of them told it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from background_tasks import run_in_background
from built_in_resources import DEPLOYMENTS
from cluster.controllers.environment import NODES, Environment, Object
from lynq.kube import EventType, Resource, WatchEvent
from waiting import eventually


@dataclass(slots=True)
class History:
    """All changes since the recording began."""

    changes: dict[int, tuple[EventType, Object]] = field(default_factory=dict)
    listening: set[str] = field(default_factory=set)

    async def record(self, env: Environment, resource: Resource) -> None:
        """Write down what happens to objects of a kind, until cancelled."""
        stream = env.client.watch(resource, env.namespace, initial_events=True)
        async with aclosing(stream) as events:
            async for event in events:
                if isinstance(event, WatchEvent):
                    version = int(event.object["metadata"]["resourceVersion"])
                    self.changes[version] = event.type, event.object
                else:
                    self.listening.add(resource.kind)

    def states(self) -> Iterator[tuple[int, dict[str, Object], dict[str, Object]]]:
        """Yield the nodes and the Deployments there were after each change."""
        nodes: dict[str, Object] = {}
        deployments: dict[str, Object] = {}
        for version, (what, obj) in sorted(self.changes.items()):
            there = nodes if obj["kind"] == "LynqNode" else deployments
            name = obj["metadata"]["name"]
            if what is EventType.DELETED:
                there.pop(name, None)
            else:
                there[name] = obj
            yield version, nodes, deployments

    def most_on_the_way(self) -> int:
        """Return how many nodes were on their way in the worst moment."""
        return max(
            sum(is_on_the_way(node, deployments) for node in nodes.values())
            for _, nodes, deployments in self.states()
        )

    def writes(self) -> list[tuple[str, str]]:
        """Return the nodes in the order in which they were written, with the form's generation."""
        found: dict[tuple[str, str], tuple[str, str]] = {}
        for _, nodes, _ in self.states():
            for name, node in nodes.items():
                marks = node["metadata"]["annotations"]
                stamp = marks["lynq.sh/rollout-update-start"]
                generation = marks["lynq.sh/template-generation"]
                found.setdefault((name, stamp), (name, generation))
        return list(found.values())


def is_on_the_way(node: Object, deployments: dict[str, Object]) -> bool:
    """Return whether a node was written and is not ready with it, by all that can be seen."""
    metadata, status = node["metadata"], node.get("status", {})
    if "deletionTimestamp" in metadata:
        return False
    written = metadata["annotations"]["lynq.sh/rollout-update-start"]
    ready = next((c["status"] for c in status.get("conditions", []) if c["type"] == "Ready"), "")
    return (
        status.get("observedGeneration") != metadata["generation"]
        or status.get("observedUpdateStart") != written
        or ready != "True"
        or not is_rolled_out(deployments.get(f"{node['spec']['uid']}-app"))
    )


def is_rolled_out(deployment: Object | None) -> bool:
    """Return whether a Deployment has only new replicas, all of them available."""
    if deployment is None:
        return False
    status, wanted = deployment.get("status", {}), deployment["spec"]["replicas"]
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return bool(
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and all(status.get(count, 0) == wanted for count in counts)
    )


@asynccontextmanager
async def recording(env: Environment) -> AsyncIterator[History]:
    """Record what happens to nodes and Deployments of the environment during the block."""
    history = History()
    kinds = (NODES, DEPLOYMENTS)
    async with run_in_background(*(history.record(env, kind) for kind in kinds)):
        await eventually(lambda: len(history.listening) == len(kinds))
        yield history
        # What happened last is still to be told.
        await asyncio.sleep(0.3)
