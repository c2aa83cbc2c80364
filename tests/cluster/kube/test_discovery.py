import asyncio
from contextlib import suppress

import pytest

from custom_kind import served_custom_kind
from lynq.kube import Client, Discovery, PartialObject, Request, Resource, Response, Send, errors
from lynq.kube.discovery import Served, read_served
from waiting import eventually

API_SERVICES = Resource(
    "apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False
)


async def test_built_in_kinds_and_their_scopes(client: Client) -> None:
    discovery = Discovery(client)
    deployment = await discovery.resource("apps/v1", "Deployment")
    assert deployment == Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
    node = await discovery.resource("v1", "Node")
    assert node == Resource("", "v1", "Node", "nodes", namespaced=False)
    ingress = await discovery.resource("networking.k8s.io/v1", "Ingress")
    assert ingress.plural == "ingresses"


def _resources(served: Served) -> set[Resource]:
    return {resource for resources in served.values() for resource in resources or ()}


async def test_unaggregated_discovery_returns_the_same_resources(client: Client) -> None:
    async def older(request: Request, send: Send) -> Response:
        return await send(
            Request("get", "GET", request.path, headers={"Accept": "application/json"})
        )

    async def say_the_same() -> bool:
        new = await read_served(client)
        old = await read_served(client.intercepted(older))
        assert _resources(old) == _resources(new)
        return True

    # A kind that another test deletes is removed from one earlier than from the other.
    await eventually(say_the_same, within=30, every=0.2)


async def test_kind_is_discovered_after_its_crd_is_installed(
    client: Client, namespace: str
) -> None:
    group = f"{namespace}.example.com"
    discovery = Discovery(client, min_refresh_interval=0.05)
    with pytest.raises(errors.UnknownKind, match="is the CRD installed"):
        await discovery.resource(f"{group}/v1", "Gadget")
    async with served_custom_kind(client, group) as expected:
        resource = await once_known(discovery, group)
        assert resource == expected
        gadget = {"metadata": {"name": "a", "namespace": namespace}}
        await client.apply(resource, gadget, manager="lynq", into=PartialObject)
        assert len(await client.list(resource, namespace, into=PartialObject)) == 1
        with pytest.raises(errors.UnknownKind, match="its group has Gadget"):
            await discovery.resource(f"{group}/v1", "Gizmo")


async def once_known(discovery: Discovery, group: str) -> Resource:
    """Look the kind up until the discovery documents contain the CRD."""
    async with asyncio.timeout(30):
        while True:
            with suppress(errors.UnknownKind):
                return await discovery.resource(f"{group}/v1", "Gadget")
            await asyncio.sleep(0.05)


async def test_broken_extension_server_hides_no_other_kind(client: Client, namespace: str) -> None:
    group = f"{namespace}.broken.example.com"
    service = {
        "metadata": {"name": f"v1.{group}"},
        "spec": {
            "group": group,
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": "nobody", "namespace": namespace},
        },
    }
    await client.create(API_SERVICES, service)
    try:
        discovery = Discovery(client)
        await discovery.resource("apps/v1", "Deployment")
        with pytest.raises(errors.UnknownKind, match="Anything"):
            await discovery.resource(f"{group}/v1", "Anything")
    finally:
        await client.delete(API_SERVICES, f"v1.{group}")
