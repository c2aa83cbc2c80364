"""Reads what explains a node: its hub and form, its live objects, their pods and warnings."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from lynq.api import LynqForm, LynqHub, LynqNode, ResourceStatus
from lynq.api.node_metadata import hub_by_label
from lynq.api.text import one_line
from lynq.core.explain.model import Evidence, ObjectEvidence
from lynq.core.explain.node import root_entries
from lynq.core.node.objects import ObjectRef, ref_of
from lynq.kube import Client, Discovery, Resource
from lynq.kube.errors import Forbidden, NotFound, UnknownKind
from lynq.kube.resource import EVENTS, PODS, resource_of

HUBS: Final = resource_of(LynqHub.definition)
FORMS: Final = resource_of(LynqForm.definition)
_WORKLOADS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"})
_MAX_OBJECTS: Final = 20
"""Objects that are read for one node; further ones are explained by the status alone."""
_LONGEST: Final = 200

K = TypeVar("K", LynqHub, LynqForm)
Object = dict[str, Any]


@dataclass(slots=True)
class EvidenceReader:
    """Reads objects for explanations, and remembers what it may not read."""

    client: Client
    discovery: Discovery
    denials: dict[str, None] = field(default_factory=dict)
    """What was not read, and the right that is missing; each once."""

    @classmethod
    def of(cls, client: Client) -> "EvidenceReader":
        """Return a reader with the rights of a client."""
        return cls(client, Discovery(client))

    async def hub_of(self, node: LynqNode) -> LynqHub | None:
        """Return the hub of a node; None if it does not exist or may not be read."""
        key = hub_by_label(node)
        return await self._read(HUBS, key.name, key.namespace, LynqHub) if key else None

    async def form_of(self, node: LynqNode) -> LynqForm | None:
        """Return the form of a node; None if it does not exist or may not be read."""
        return await self._read(FORMS, node.spec.template_ref, node.metadata.namespace, LynqForm)

    async def read(self, node: LynqNode) -> Evidence:
        """Return what was read about the objects that are not ready."""
        entries = [entry for group in root_entries(node).values() for entry in group]
        objects = {
            ref_of(entry): await self._evidence(entry)
            for entry in entries[:_MAX_OBJECTS]
            if entry.name
        }
        is_form_unread = any(FORMS.plural in denial for denial in self.denials)
        return Evidence(objects, is_form_unread)

    async def live(self, ref: ObjectRef) -> Object | None:
        """Return an object; None if it does not exist or may not be read."""
        try:
            resource = await self.discovery.resource(ref.api_version, ref.kind)
            return await self.client.get(resource, ref.name, ref.namespace or None)
        except (NotFound, UnknownKind):
            return None
        except Forbidden as error:
            self._deny(error)
            return None

    async def _evidence(self, entry: ResourceStatus) -> ObjectEvidence:
        ref = ref_of(entry)
        live = await self.live(ref)
        if live is None:
            return ObjectEvidence()
        pods = await self._pods(ref, live)
        warnings = await self._warnings(ref, {each["metadata"]["uid"] for each in (live, *pods)})
        return ObjectEvidence(live, tuple(pods), tuple(warnings))

    async def _pods(self, ref: ObjectRef, live: Object) -> list[Object]:
        if ref.kind == PODS.kind and not ref.group:
            return [live]
        labels = live.get("spec", {}).get("selector", {}).get("matchLabels")
        if ref.kind not in _WORKLOADS or not labels:
            return []
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        return await self._list(PODS, ref.namespace, labels=selector)

    async def _warnings(self, ref: ObjectRef, uids: set[str]) -> Iterable[str]:
        """Return the warnings about these objects, the newest first, each once.

        Events outlive their objects, and objects of several kinds may share a name.
        """
        if not ref.namespace:
            return ()
        events = await self._list(EVENTS, ref.namespace, fields="type=Warning")
        events = [event for event in events if event["involvedObject"].get("uid") in uids]
        events.sort(key=event_time, reverse=True)
        return dict.fromkeys(
            one_line(f"{event.get('reason')}: {event.get('message')}", _LONGEST)
            for event in events
            if not str(event.get("source", {}).get("component", "")).startswith("lynq")
        )

    async def _list(
        self,
        resource: Resource,
        namespace: str,
        labels: str | None = None,
        fields: str | None = None,
    ) -> list[Object]:
        try:
            return (await self.client.list(resource, namespace, labels=labels, fields=fields)).items
        except Forbidden as error:
            self._deny(error)
            return []

    async def _read(self, resource: Resource, name: str, namespace: str, into: type[K]) -> K | None:
        try:
            return await self.client.get(resource, name, namespace, into=into)
        except NotFound:
            return None
        except Forbidden as error:
            self._deny(error)
            return None

    def _deny(self, error: Forbidden) -> None:
        self.denials[f"{error.path} is not read: {error.missing_right or error}"] = None


def event_time(event: Object) -> str:
    """Return when an event happened last, as text that can be sorted."""
    series = event.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    return str(next(filter(None, times), ""))
