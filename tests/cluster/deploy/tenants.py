"""One tenant row with the sample hub and form, and waits for its node."""

import sqlite3
import uuid
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cluster.deploy.installation import Installer
from deploy.manifests import Object, loaded
from lynq.api import LynqHub, LynqNode
from lynq.kube.errors import NotFound
from lynq.kube.resource import resource_of
from waiting import eventually

HUBS: Final = resource_of(LynqHub.definition)
NODES: Final = resource_of(LynqNode.definition)


@dataclass(slots=True)
class Tenancy:
    """A namespace, a table and one tenant row."""

    installer: Installer
    namespace: str
    folder: Path
    uid: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:8]}")

    def set_row(self, *, active: bool = True, plan: str = "basic") -> None:
        """Replace the rows of the sample table with the tenant's row."""
        with closing(sqlite3.connect(self.folder / "tenants.db")) as connection, connection:
            connection.execute("CREATE TABLE IF NOT EXISTS tenants (id, active, plan)")
            connection.execute("DELETE FROM tenants")
            connection.execute("INSERT INTO tenants VALUES (?, ?, ?)", (self.uid, active, plan))

    async def apply_sample(self, name: str) -> Object:
        """Apply a sample file; return its last object."""
        objects = loaded(f"samples/{name}.yaml")
        for obj in objects:
            await self.apply(obj)
        return objects[-1]

    async def apply(self, obj: Object) -> None:
        """Apply an object, by default to the tenant's namespace."""
        resource = await self.installer.resource(obj)
        if resource.namespaced:
            obj["metadata"].setdefault("namespace", self.namespace)
        await self.installer.apply(obj)

    async def force_sync(self) -> None:
        """Make the hub read its rows now."""
        patch = {"metadata": {"annotations": {"lynq.sh/force-sync": uuid.uuid4().hex}}}
        await self.installer.client.patch(HUBS, "tenants", patch, self.namespace)

    async def node(self, form: str) -> Object:
        try:
            return await self.installer.client.get(NODES, f"{self.uid}-{form}", self.namespace)
        except NotFound:
            raise AssertionError(f"node {self.uid}-{form} does not exist") from None

    async def wait_for_ready(self, form: str, *, within: float = 60.0) -> Object:
        """Wait until the tenant's node is ready; return it."""

        async def ready() -> Object:
            node = await self.node(form)
            waiting = [
                resource for resource in _resources(node) if resource.get("state") != "Ready"
            ]
            assert _condition(node, "Ready") == "True", waiting or node.get("status")
            return node

        return await eventually(ready, within=within, every=0.2)

    async def wait_for_failures(self, form: str, failing: Iterable[str]) -> dict[str, Object]:
        """Wait until exactly these resources have failed and all others are ready."""
        expected = set(failing)

        async def failed_as_expected() -> dict[str, Object]:
            listed = {resource["id"]: resource for resource in _resources(await self.node(form))}
            failed = {
                resource_id
                for resource_id, resource in listed.items()
                if resource.get("state") == "Failed"
            }
            ready = {
                resource_id
                for resource_id, resource in listed.items()
                if resource.get("state") == "Ready"
            }
            assert failed == expected, listed
            assert ready == listed.keys() - expected, listed
            return {resource_id: listed[resource_id] for resource_id in expected}

        return await eventually(failed_as_expected, within=60, every=0.2)

    async def wait_for_deletion(self, form: str) -> None:
        """Wait until the tenant's node is deleted, and therefore its objects."""

        async def deleted() -> bool:
            try:
                node = await self.node(form)
            except AssertionError:
                return True
            raise AssertionError(node.get("status"))

        await eventually(deleted, within=60, every=0.2)


def _resources(node: Object) -> list[Object]:
    listed: list[Object] = node.get("status", {}).get("resources", [])
    return listed


def _condition(node: dict[str, Any], condition_type: str) -> str:
    conditions = node.get("status", {}).get("conditions", [])
    return next(
        (condition["status"] for condition in conditions if condition["type"] == condition_type), ""
    )
