"""Installs a CRD for tests that need a custom kind of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from lynq.kube import Client, Resource
from lynq.kube.crd_install import install_crd
from lynq.kube.resource import CUSTOM_RESOURCE_DEFINITIONS


@asynccontextmanager
async def served_custom_kind(client: Client, group: str) -> AsyncIterator[Resource]:
    """Serve the kind Gadget of a group while the block runs."""
    await install_crd(client, _definition(group))
    try:
        yield Resource(group, "v1", "Gadget", "gadgets", namespaced=True)
    finally:
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"gadgets.{group}")


def _definition(group: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version],
        },
    }
