"""Reads what is in a Namespace before a node deletes it.

The caches do not know it: a retained object is in no inventory, so that after a start its kind may
not be watched, and a shard receives the objects of its own nodes. The managed objects of every kind
that nodes can have are read instead, as metadata.
"""

from collections.abc import Collection, Iterator

from lynq.api.initial_inventory import API_VERSIONS
from lynq.api.names import LABEL_MANAGED, TRUE
from lynq.api.resource import all_resources
from lynq.controllers.children import Children, live_object
from lynq.controllers.concurrency import gather_or_cancel
from lynq.controllers.context import ControllerContext
from lynq.controllers.node.claims import NodeClaims
from lynq.core.node.namespace_use import NamespaceUse, Resident, unreadable, use_of
from lynq.core.node.objects import ObjectIdentity, ObjectRef, Owner
from lynq.core.node.ownership import is_owned_by
from lynq.core.readiness.verdict import NOT_OBSERVED
from lynq.kube import Discovery, PartialObject, Resource
from lynq.kube.errors import GroupUnavailable, KubeError, UnknownKind


class NamespaceReader:
    """Reads the objects in Namespaces that are about to be deleted."""

    def __init__(
        self,
        context: ControllerContext,
        children: Children,
        discovery: Discovery,
        claims: NodeClaims,
    ) -> None:
        self._context = context
        self._children = children
        self._discovery = discovery
        self._claims = claims

    async def use(
        self,
        namespace: ObjectRef,
        owner: Owner,
        pruned: Collection[ObjectIdentity],
        *,
        is_deleting: bool,
    ) -> NamespaceUse:
        """Return why a Namespace stays; what cannot be read counts as staying.

        `pruned` are the objects that the node prunes: they are decided about elsewhere.
        `is_deleting` is whether the node is being deleted, with all that it owns.
        """
        try:
            kinds = await self._kinds()
            residents = await gather_or_cancel(
                self._residents(kind, namespace, owner, pruned, is_deleting=is_deleting)
                for kind in kinds
            )
        except KubeError as error:
            return unreadable(str(error))
        return use_of(each for found in residents for each in found)

    async def _kinds(self) -> list[Resource]:
        """Return the namespaced kinds that nodes have objects of, or had."""
        resources = {
            (kind.resource.group, kind.resource.kind): kind.resource
            for kind in self._children.kinds()
        }
        for api_version, kind in self._names():
            try:
                resource = await self._discovery.resource(api_version, kind)
            except GroupUnavailable:
                raise
            except UnknownKind:
                # Nothing exists of a kind that is not served. A kind can be a template, too.
                continue
            resources.setdefault((resource.group, resource.kind), resource)
        return [resource for resource in resources.values() if resource.namespaced]

    def _names(self) -> Iterator[tuple[str, str]]:
        for kind, api_version in API_VERSIONS.items():
            yield api_version, kind
        names = {
            (str(resource.spec.get("apiVersion", "")), str(resource.spec.get("kind", "")))
            for form in self._context.forms.values()
            for resource in all_resources(form.spec)
        }
        yield from sorted(names)

    async def _residents(
        self,
        resource: Resource,
        namespace: ObjectRef,
        owner: Owner,
        pruned: Collection[ObjectIdentity],
        *,
        is_deleting: bool,
    ) -> list[Resident]:
        listed = await self._context.client.list(
            resource, namespace.name, into=PartialObject, labels=f"{LABEL_MANAGED}={TRUE}"
        )
        residents = []
        for obj in listed.items:
            ref = ObjectRef(resource.api_version, resource.kind, namespace.name, obj.metadata.name)
            if ref.identity in pruned:
                continue
            live = live_object(obj, NOT_OBSERVED)
            claimant = await self._claims.other_owner(live, ref, owner)
            is_own = not is_deleting and is_owned_by(live, ref, owner, is_listed=True)
            residents.append(Resident(ref, live, claimant, is_own))
        return residents
