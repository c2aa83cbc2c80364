"""Creates LynqNodes as a hub would, and observes their objects and events."""

import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from lynq.kube import Resource
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, EVENTS, NAMESPACES
from operated.environment import NODES, Environment, Object
from operated.running_operator import get_node
from waiting import eventually

NODE = "acme-web"
"""The node of most tests; its row is "acme"."""


async def create_node(
    env: Environment,
    *config_maps: Object,
    name: str = NODE,
    annotations: dict[str, str] | None = None,
    plan: str = "pro",
    **lists: list[Object],
) -> Object:
    """Create a node with these entries."""
    values = {"lynq.sh/extra": json.dumps({"plan": plan})} | (annotations or {})
    metadata = {"name": name, "namespace": env.namespace, "annotations": values}
    spec = {"uid": "acme", "templateRef": "web", "configMaps": list(config_maps), **lists}
    return await env.client.create(NODES, {"metadata": metadata, "spec": spec})


async def update_node(
    env: Environment, *config_maps: Object, name: str = NODE, **lists: list[Object]
) -> None:
    """Replace the entries of a node."""
    await env.patch(NODES, name, {"spec": {"configMaps": list(config_maps), **lists}})


async def annotate(env: Environment, name: str = NODE, **annotations: str | None) -> None:
    """Set lynq.sh annotations of a node; `_` in a name stands for a dash."""
    values = {f"lynq.sh/{key.replace('_', '-')}": text for key, text in annotations.items()}
    await env.patch(NODES, name, {"metadata": {"annotations": values}})


def entry(resource_id: str, text: str = "{{ .plan }}", **parts: Any) -> Object:
    """Return an entry for a ConfigMap named after its id."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": text}}
    return {"id": resource_id, "nameTemplate": resource_id, "spec": manifest} | parts


def manifest_entry(resource_id: str, manifest: Object, **parts: Any) -> Object:
    """Return an entry for an object of any kind, named after its id."""
    return {"id": resource_id, "nameTemplate": resource_id, "spec": manifest} | parts


async def exists(env: Environment, name: str, resource: Resource = CONFIG_MAPS) -> bool:
    try:
        await env.get(resource, name)
    except NotFound:
        return False
    return True


async def wait_for_object(
    env: Environment,
    name: str,
    predicate: Callable[[Object], object],
    resource: Resource = CONFIG_MAPS,
    *,
    namespace: str = "",
    within: float = 15.0,
) -> Object:
    """Wait until an object exists and satisfies a predicate; return it."""

    async def matches() -> Object:
        try:
            target = (namespace or env.namespace) if resource.namespaced else None
            obj = await env.client.get(resource, name, target)
        except NotFound:
            raise AssertionError(f"{resource.kind} {name} does not exist") from None
        assert predicate(obj), obj
        return obj

    return await eventually(matches, within=within, every=0.05)


def has_plan(text: str) -> Callable[[Object], bool]:
    return lambda obj: obj.get("data", {}).get("plan") == text


def labels(obj: Object) -> dict[str, str]:
    values: dict[str, str] = obj["metadata"].get("labels", {})
    return values


def annotations(obj: Object) -> dict[str, str]:
    values: dict[str, str] = obj["metadata"].get("annotations", {})
    return values


def owner_uids(obj: Object) -> list[str]:
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences", [])]


async def edit(
    env: Environment,
    name: str,
    patch: Object,
    *,
    manager: str = "kubectl-edit",
    resource: Any = CONFIG_MAPS,
) -> Object:
    """Patch an object as another field manager."""
    return await env.client.patch(resource, name, patch, env.namespace, manager=manager)


async def event_count(env: Environment, reason: str, about: str = "") -> int:
    """Return the number of events with a reason, of any object or of one."""
    events = await env.client.list(EVENTS, env.namespace)
    return sum(
        int(event.get("series", {}).get("count") or event.get("count") or 1)
        for event in events.items
        if event["reason"] == reason and about in ("", event["involvedObject"]["name"])
    )


async def wait_for_event(
    env: Environment, reason: str, *, about: str = "", containing: str = ""
) -> str:
    """Wait until an event was emitted; return its type and message."""

    async def emitted() -> str:
        events = await env.client.list(EVENTS, env.namespace)
        for event in events.items:
            fits = about in ("", event["involvedObject"]["name"]) and containing in event["message"]
            if event["reason"] == reason and fits:
                return f"{event['type']}: {event['message']}"
        raise AssertionError([(event["reason"], event["message"]) for event in events.items])

    return await eventually(emitted, every=0.05)


def write_verbs(env: Environment, name: str) -> list[str]:
    """Return the verbs of all recorded writes of an object."""
    return [
        request.verb
        for request in env.requests.sent
        if request.verb != "get" and request.path.endswith(f"/{name}")
    ]


async def delete_node(env: Environment, name: str = NODE) -> None:
    await env.client.delete(NODES, name, env.namespace)


async def resource_statuses(env: Environment, name: str = NODE) -> dict[str, Object]:
    """Return the resource entries of a node status by id."""
    listed = (await get_node(env, name)).get("status", {}).get("resources", [])
    return {resource["id"]: resource for resource in listed}


@asynccontextmanager
async def extra_namespace(env: Environment) -> AsyncIterator[str]:
    """Create another namespace while the block runs."""
    name = f"extra-{uuid.uuid4().hex[:10]}"
    await env.client.create(NAMESPACES, {"metadata": {"name": name}})
    try:
        yield name
    finally:
        await env.client.delete(NAMESPACES, name)
