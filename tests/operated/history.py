"""Records the history of nodes and Deployments and counts the nodes that were updating.

etcd numbers the changes of all kinds in one sequence. Two watches merged by resourceVersion
therefore yield the true order, whatever the delay of each watch.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from background_tasks import run_in_background
from built_in_resources import DEPLOYMENTS
from lynq.kube import EventType, Resource, WatchEvent
from operated.environment import NODES, Environment, Object
from waiting import eventually


@dataclass(slots=True)
class History:
    """All changes since recording started."""

    changes: dict[int, tuple[EventType, Object]] = field(default_factory=dict)
    watching: set[str] = field(default_factory=set)

    async def record(self, env: Environment, resource: Resource) -> None:
        """Record the changes of objects of one kind until cancelled."""
        stream = env.client.watch(resource, env.namespace, initial_events=True)
        async with aclosing(stream) as events:
            async for event in events:
                if isinstance(event, WatchEvent):
                    version = int(event.object["metadata"]["resourceVersion"])
                    self.changes[version] = event.type, event.object
                else:
                    self.watching.add(resource.kind)

    def states(self) -> Iterator[tuple[int, dict[str, Object], dict[str, Object]]]:
        """Yield the nodes and Deployments that existed after each change."""
        nodes: dict[str, Object] = {}
        deployments: dict[str, Object] = {}
        for version, (event_type, obj) in sorted(self.changes.items()):
            existing = nodes if obj["kind"] == "LynqNode" else deployments
            name = obj["metadata"]["name"]
            if event_type is EventType.DELETED:
                existing.pop(name, None)
            else:
                existing[name] = obj
            yield version, nodes, deployments

    def most_updating(self, budget: str) -> int:
        """Return the highest number of nodes of a budget that were updating at the same time."""
        return max(
            len([node for node in nodes.values() if is_updating(node, deployments, budget)])
            for _, nodes, deployments in self.states()
        )

    def writes(self) -> list[tuple[str, str]]:
        """Return node names and form generations in the order of the writes."""
        written: dict[tuple[str, str], tuple[str, str]] = {}
        for _, nodes, _ in self.states():
            for name, node in nodes.items():
                annotations = node["metadata"]["annotations"]
                start = annotations["lynq.sh/rollout-update-start"]
                generation = annotations["lynq.sh/template-generation"]
                written.setdefault((name, start), (name, generation))
        return list(written.values())


def is_updating(node: Object, deployments: dict[str, Object], budget: str) -> bool:
    """Return whether a node or its Deployment has not finished its last update of this budget."""
    metadata, status = node["metadata"], node.get("status", {})
    if "deletionTimestamp" in metadata:
        return False
    if metadata["annotations"]["lynq.sh/rollout-budget"] != budget:
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
    """Return whether all replicas of a Deployment are updated and available."""
    if deployment is None:
        return False
    status, desired = deployment.get("status", {}), deployment["spec"]["replicas"]
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return bool(
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and all(status.get(count, 0) == desired for count in counts)
    )


@asynccontextmanager
async def recording(env: Environment) -> AsyncIterator[History]:
    """Record the changes of nodes and Deployments while the block runs."""
    history = History()
    kinds = (NODES, DEPLOYMENTS)
    async with run_in_background(*(history.record(env, kind) for kind in kinds)):
        await eventually(lambda: len(history.watching) == len(kinds))
        yield history
        # The watch events of the last changes are still in flight.
        await asyncio.sleep(0.3)
