"""Finds orphans: objects that were retained when they were no longer desired."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lynq.api import Metadata
from lynq.api.names import LABEL_ORPHANED, TRUE
from lynq.core.node.objects import ObjectRef
from lynq.kube import Client, PartialObject, Resource
from lynq.kube.errors import Forbidden, MethodNotAllowed, NotFound

_CONCURRENT: Final = 8


@dataclass(frozen=True, slots=True)
class Orphan:
    """An object with the label of an orphan."""

    resource: Resource
    metadata: Metadata

    @property
    def ref(self) -> ObjectRef:
        """The object."""
        metadata, resource = self.metadata, self.resource
        return ObjectRef(resource.api_version, resource.kind, metadata.namespace, metadata.name)

    @property
    def name(self) -> str:
        """The kind in lower case and the name, as kubectl prints them."""
        return f"{self.resource.kind.lower()}/{self.metadata.name}"

    def annotation(self, key: str) -> str:
        """Return an annotation; empty if there is none."""
        return self.metadata.annotations.get(key, "")


async def find_orphans(
    client: Client, kinds: Iterable[Resource], namespace: str | None
) -> tuple[list[Orphan], list[str]]:
    """Return the orphans of kinds in a namespace, or in all; and the kinds that are denied."""
    slots = asyncio.Semaphore(_CONCURRENT)
    denied: list[str] = []

    async def read(kind: Resource) -> list[Orphan]:
        async with slots:
            try:
                listed = await client.list(
                    kind,
                    namespace if kind.namespaced else None,
                    into=PartialObject,
                    labels=f"{LABEL_ORPHANED}={TRUE}",
                )
            except Forbidden:
                denied.append(kind.name)
                return []
            except (NotFound, MethodNotAllowed):
                # A kind that is not stored, or that was removed meanwhile.
                return []
        return [Orphan(kind, item.metadata) for item in listed]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(kind)) for kind in kinds]
    orphans = {orphan.metadata.uid: orphan for task in tasks for orphan in task.result()}
    ordered = sorted(orphans.values(), key=lambda orphan: (orphan.metadata.namespace, orphan.name))
    return ordered, sorted(denied)
