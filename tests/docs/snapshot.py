"""The objects of a page's cluster, read before and after the page."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lynq.kube import Client, PartialObject, Resource, load_config
from lynq.kube.errors import NotFound

_ACCEPT = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}

_UNOBSERVED_KINDS = frozenset(
    {
        "componentstatuses",
        "controllerrevisions.apps",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "pods",
        "replicasets.apps",
    }
)
"""Kinds whose objects come and go by themselves."""

_OF_THE_OPERATOR = "Secret default/lynq-installation-key"


@dataclass(frozen=True, slots=True)
class Found:
    """An object of the cluster."""

    resource: Resource
    namespace: str
    name: str

    @property
    def of_lynq(self) -> bool:
        """A hub, a form or a node."""
        return self.resource.kind.startswith("Lynq")

    def __str__(self) -> str:
        """Return KIND NAMESPACE/NAME, or KIND NAME."""
        scope = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.kind} {scope}{self.name}"


def objects(kubeconfig: Path) -> frozenset[Found]:
    """Return all objects of the cluster, without those that come and go by themselves.

    The metadata of all kinds is read concurrently: kubectl takes two processes and reads in turn.
    """
    return asyncio.run(_objects(kubeconfig))


async def _objects(kubeconfig: Path) -> frozenset[Found]:
    async with Client.connect(load_config(kubeconfig=kubeconfig)) as client:
        documents = [await client.raw(path, headers=_ACCEPT) for path in ("/api", "/apis")]
        resources = {kind.name: kind for body in documents for kind in _listable(body)}
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_list(client, kind)) for kind in resources.values()]
    found = {item for task in tasks for item in task.result()}
    return frozenset(item for item in found if str(item) != _OF_THE_OPERATOR)


def _listable(body: bytes) -> Iterator[Resource]:
    """Yield the kinds of a discovery document; the preferred version of a kind comes last."""
    for group in json.loads(body)["items"]:
        name = group["metadata"].get("name", "")
        for version in reversed(group["versions"]):
            for entry in version["resources"]:
                if not {"list", "delete"} <= {*entry["verbs"]}:
                    continue
                resource = Resource(
                    name,
                    version["version"],
                    entry["responseKind"]["kind"],
                    entry["resource"],
                    namespaced=entry["scope"] == "Namespaced",
                )
                if resource.name not in _UNOBSERVED_KINDS:
                    yield resource


async def _list(client: Client, resource: Resource) -> list[Found]:
    # The API server still lists the kind of a CRD that was deleted a moment ago.
    with suppress(NotFound):
        listed = await client.list(resource, into=PartialObject)
        return [
            Found(resource, item.metadata.namespace or "", item.metadata.name)
            for item in listed.items
        ]
    return []
