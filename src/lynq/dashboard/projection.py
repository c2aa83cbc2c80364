"""What the dashboard knows of the cluster: hubs and forms, and an entry of each node.

The server watches the three kinds with its own rights, once for all viewers. What a viewer sees of
it is decided for each answer (`rights`); objects themselves are read with the viewer's rights.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, TypeAlias, TypeVar

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import HasMetadata, ObjectKey
from lynq.controllers.decoding import RawObject, Unreadable, decode_form, decode_hub
from lynq.core.explain.summary import READY
from lynq.dashboard.changes import ChangeLog
from lynq.dashboard.latency import Latency
from lynq.dashboard.node_entry import NodeEntry, node_entry
from lynq.kube import Client, Informer, InformerPhase, ObjectChange
from lynq.kube.resource import resource_of

HUBS: Final = resource_of(LynqHub.definition)
FORMS: Final = resource_of(LynqForm.definition)
NODES: Final = resource_of(LynqNode.definition)

K = TypeVar("K", bound=HasMetadata)

HubEntry: TypeAlias = LynqHub | Unreadable
FormEntry: TypeAlias = LynqForm | Unreadable


class Projection:
    """The informers of hubs, forms and nodes, and the log of their changes."""

    def __init__(
        self,
        client: Client,
        namespace: str | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._now = now
        self.changes = ChangeLog()
        self.latency = Latency()
        self._hubs = Informer(client, HUBS, into=RawObject, project=decode_hub, namespace=namespace)
        self._forms = Informer(
            client, FORMS, into=RawObject, project=decode_form, namespace=namespace
        )
        self._nodes = Informer(
            client, NODES, into=RawObject, project=node_entry, namespace=namespace
        )
        self._hubs.on_change(lambda change: self.changes.add("Hub", change.key))
        self._forms.on_change(lambda change: self.changes.add("Form", change.key))
        self._nodes.on_change(self._node_changed)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in (self._hubs, self._forms, self._nodes):
                group.create_task(informer.run())

    async def synced(self) -> None:
        """Wait until all existing objects are known."""
        for informer in (self._hubs, self._forms, self._nodes):
            await informer.synced()

    @property
    def problems(self) -> list[str]:
        """Why the server cannot watch, if it cannot."""
        informers = (self._hubs, self._forms, self._nodes)
        return [each.health.problem for each in informers if each.health.problem]

    @property
    def denied(self) -> list[str]:
        """The rights that the server lacks."""
        informers = (self._hubs, self._forms, self._nodes)
        is_denied = InformerPhase.FORBIDDEN
        return [each.health.problem for each in informers if each.health.phase is is_denied]

    @property
    def has_synced(self) -> bool:
        """Whether all existing objects are known."""
        return all(each.has_synced for each in (self._hubs, self._forms, self._nodes))

    def nodes(self) -> list[NodeEntry]:
        """Return the entries of all nodes."""
        return self._nodes.store.values()

    def node(self, key: ObjectKey) -> NodeEntry | None:
        """Return the entry of a node."""
        return self._nodes.store.get(key)

    def nodes_of_uid(self, namespace: str, uid: str) -> list[NodeEntry]:
        """Return the nodes of a row."""
        # An index would take more memory than the entries.
        nodes = self._nodes.store.values()
        return [node for node in nodes if node.namespace == namespace and node.uid == uid]

    def hubs(self) -> Iterator[LynqHub]:
        """Yield all hubs that can be decoded."""
        return _readable(self._hubs.store.values())

    def hub(self, key: ObjectKey) -> LynqHub | None:
        """Return a hub; None if it does not exist or cannot be decoded."""
        return next(_readable([self._hubs.store.get(key)]), None)

    def forms(self) -> Iterator[LynqForm]:
        """Yield all forms that can be decoded."""
        return _readable(self._forms.store.values())

    def form(self, key: ObjectKey) -> LynqForm | None:
        """Return a form; None if it does not exist or cannot be decoded."""
        return next(_readable([self._forms.store.get(key)]), None)

    def namespaces(self, kind: str) -> set[str]:
        """Return the namespaces that have objects of a kind: Hub, Form or Node."""
        keys = {
            "Hub": self._hubs.store.keys,
            "Form": self._forms.store.keys,
            "Node": self._nodes.store.keys,
        }
        return {key.namespace for key in keys[kind]()}

    def _node_changed(self, change: ObjectChange[NodeEntry]) -> None:
        old, new = change.old, change.new
        if old is not None and new is not None and old == new:
            return
        self.changes.add("Node", change.key)
        is_known = old is not None or self._nodes.has_synced
        was_ready = old is not None and old.state == READY and new and old.written == new.written
        if new and is_known and new.state == READY and not was_ready and new.written:
            self.latency.observe(self._now(), new.namespace, new.written)


def _readable(objects: Iterable[K | Unreadable | None]) -> Iterator[K]:
    for obj in objects:
        if obj is not None and not isinstance(obj, Unreadable):
            yield obj
