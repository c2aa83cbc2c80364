"""Compares the live objects of a node with the desired ones, by a dry run of the next write."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lynq.api import (
    CreationPolicy,
    LynqNode,
    PatchStrategy,
    ResourceState,
    ResourceStatus,
    TResource,
)
from lynq.api.installation_key import KeyState
from lynq.api.masking import Mask
from lynq.api.names import ANNOTATION_CREATED_ONCE, FIELD_MANAGER, TRUE
from lynq.core.explain.columns import secret_masks
from lynq.core.explain.drift import FieldDrift, field_drifts
from lynq.core.guard.protection import keeps_objects
from lynq.core.node.desired_object import ignores_fields, prepare
from lynq.core.node.objects import ObjectRef, Owner, owner_of, ref_of
from lynq.core.node.render import Renderer, RenderError
from lynq.core.node.variables import variables_of
from lynq.inspection.evidence import EvidenceReader
from lynq.kube import Client, Discovery, Resource
from lynq.kube.errors import Conflict, KubeError, NotFound

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found out about one resource."""

    title: str
    drifts: tuple[FieldDrift, ...] = ()
    is_missing: bool = False
    is_deleting: bool = False
    """Whether the object is no longer desired, and is being deleted."""
    error: str = ""
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether the live object is not as desired."""
        return bool(self.drifts) or self.is_missing or self.is_deleting


@dataclass(frozen=True, slots=True)
class NodeComparison:
    """Compares the resources of one node."""

    client: Client
    node: LynqNode
    owner: Owner
    renderer: Renderer
    discovery: Discovery
    masks: tuple[Mask, ...]
    """Of the columns that Secrets of the node read."""

    @classmethod
    async def of(cls, reader: EvidenceReader, node: LynqNode, key: KeyState) -> "NodeComparison":
        """Return the comparison of a node; raises VariablesError and KubeError."""
        renderer = Renderer.of(node, variables_of(node), key)
        owner = owner_of(node, is_protected=keeps_objects(node, [await reader.hub_of(node)]))
        return cls(reader.client, node, owner, renderer, reader.discovery, secret_masks([node]))

    async def compare(self, resource: TResource) -> Comparison:
        """Return what differs; a problem is part of the result."""
        kind = str(resource.spec.get("kind", ""))
        try:
            return await self._compare(resource)
        except RenderError as error:
            return Comparison(f"{kind} ({resource.id})", error=str(error))
        except KubeError as error:
            title = f"{kind} {resource.name_template} ({resource.id})"
            return Comparison(title, error=str(error))

    async def _compare(self, resource: TResource) -> Comparison:
        api_version, kind = (str(resource.spec.get(key, "")) for key in ("apiVersion", "kind"))
        served = await self.discovery.resource(api_version, kind)
        rendered = self.renderer.render(resource, namespaced=served.namespaced)
        ref = rendered.ref
        title = f"{ref} ({resource.id})"
        live = await self._live(served, ref)
        if live is not None and _is_written_once(resource, live):
            return Comparison(title, note="written once: its body is not compared")
        body = live if ignores_fields(resource) else None
        entries = self._entries(ref)
        is_adopted = any(entry.adopted_uid for entry in entries)
        desired = prepare(rendered, resource, self.owner, body, is_adopted=is_adopted)
        if live is None and any(entry.completed for entry in entries):
            return Comparison(title, note="completed: it is not created again")
        if live is None:
            return Comparison(title, field_drifts(None, desired.obj, self.masks), is_missing=True)
        written, note = await self._dry_run(served, resource, desired.obj, live)
        return Comparison(title, field_drifts(live, written, self.masks), note=note)

    async def _live(self, served: Resource, ref: ObjectRef) -> Object | None:
        try:
            return await self.client.get(served, ref.name, ref.namespace or None)
        except NotFound:
            return None

    def _entries(self, ref: ObjectRef) -> list[ResourceStatus]:
        """Return what the status of the node says about an object."""
        entries = self.node.status.resources
        return [entry for entry in entries if ref_of(entry).identity == ref.identity]

    async def _dry_run(
        self, served: Resource, resource: TResource, obj: Object, live: Object
    ) -> tuple[Object, str]:
        """Return the object as the write would make it, and a note about conflicts."""
        client, metadata = self.client, obj["metadata"]
        match resource.patch_strategy:
            case PatchStrategy.MERGE:
                name, namespace = metadata["name"], metadata.get("namespace")
                written = await client.patch(
                    served, name, obj, namespace, manager=FIELD_MANAGER, dry_run=True
                )
            case PatchStrategy.REPLACE:
                pin = {"resourceVersion": live["metadata"]["resourceVersion"]}
                pinned = {**obj, "metadata": {**metadata, **pin}}
                written = await client.replace(served, pinned, manager=FIELD_MANAGER, dry_run=True)
            case PatchStrategy.APPLY:
                return await self._dry_apply(served, resource, obj)
        return written, ""

    async def _dry_apply(
        self, served: Resource, resource: TResource, obj: Object
    ) -> tuple[Object, str]:
        client = self.client
        try:
            written = await client.apply(served, obj, manager=FIELD_MANAGER, dry_run=True)
        except Conflict as conflict:
            written = await client.apply(
                served, obj, manager=FIELD_MANAGER, force=True, dry_run=True
            )
            fields = ", ".join(f"{each.field} of {each.manager}" for each in conflict.fields)
            policy = resource.conflict_policy
            return written, f"conflict over {fields}; conflictPolicy is {policy}"
        return written, ""


def deleting(node: LynqNode) -> Iterator[Comparison]:
    """Yield the objects that are no longer desired, and are being deleted."""
    for entry in node.status.resources:
        if entry.state is ResourceState.DELETING:
            title = f"{ref_of(entry)} ({entry.id})"
            yield Comparison(title, is_deleting=True, note=entry.message)


def _is_written_once(resource: TResource, live: Mapping[str, Any]) -> bool:
    annotations = live["metadata"].get("annotations") or {}
    is_once = resource.creation_policy is CreationPolicy.ONCE
    return is_once and annotations.get(ANNOTATION_CREATED_ONCE) == TRUE
