"""Reads the CustomResourceDefinitions of hubs, forms and nodes.

The API server deletes every object of a definition before the definition itself. Such a deletion is
no decision about tenants. The definition is marked as being deleted before its objects are, so a
definition that is read after the deletion of an object tells the two apart.
"""

from datetime import datetime

from lynq.api.node_metadata import is_deleting
from lynq.controllers.concurrency import SharedRead
from lynq.kube import Client, PartialObject, Resource
from lynq.kube.errors import Forbidden, KubeError, NotFound
from lynq.kube.resource import CUSTOM_RESOURCE_DEFINITIONS


class DefinitionReader:
    """Reads the definition of one kind."""

    def __init__(self, client: Client, resource: Resource) -> None:
        self._client = client
        self._resource = resource
        self._deletion = SharedRead(self._read_is_deleted)

    async def created_at(self) -> datetime | None:
        """Return when the definition was created; None if it may not be read.

        Raises KubeError if it does not exist or is being deleted.
        """
        name = self._resource.name
        try:
            definition = await self._read()
        except Forbidden:
            return None
        if is_deleting(definition):
            raise KubeError(f"the CustomResourceDefinition {name} is being deleted")
        return definition.metadata.creation_timestamp

    async def is_deleted(self, observed_at: float | None = None) -> bool:
        """Return whether the definition is gone or being deleted; False if it may not be read.

        `observed_at` is the time of the event loop at which the deletion of an object was observed,
        by default now. All objects whose deletion was observed before a read began share it.
        """
        return await self._deletion.result(observed_at)

    async def _read_is_deleted(self) -> bool:
        try:
            return is_deleting(await self._read())
        except Forbidden:
            return False
        except NotFound as error:
            if not error.proves_absence:
                raise
            return True

    async def _read(self) -> PartialObject:
        return await self._client.get(
            CUSTOM_RESOURCE_DEFINITIONS, self._resource.name, into=PartialObject
        )
