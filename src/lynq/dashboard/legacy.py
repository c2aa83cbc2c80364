"""The endpoints of the Go operator's dashboard, /api/v1, with login and without Secret data.

Their JSON is that of the objects themselves. Where the Go dashboard read with its own rights, the
rights of the viewer count here.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from lynq.api import LynqHub
from lynq.api.names import LABEL_HUB
from lynq.core.explain.columns import columns_by_variable
from lynq.dashboard import query
from lynq.dashboard.guards import RequestRefused
from lynq.dashboard.projection import FORMS, HUBS, NODES, Projection
from lynq.dashboard.viewers import Viewer
from lynq.dashboard.views.objects import masked_live
from lynq.inspection.evidence import event_time
from lynq.kube import Discovery, Resource
from lynq.kube.errors import Forbidden, KubeError, NotFound
from lynq.kube.resource import EVENTS

_MAX_OBJECTS: Final = 1000
"""Objects of one list."""
_KINDS: Final = {"hubs": (HUBS, "Hub"), "forms": (FORMS, "Form"), "nodes": (NODES, "Node")}
_STATUS: Final = {
    "Ready": "ready",
    "Failed": "failed",
    "Conflicted": "failed",
    "Skipped": "skipped",
}

Object = dict[str, Any]
View = Callable[[web.Request, Viewer], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class LegacyApi:
    """The handlers of /api/v1."""

    projection: Projection
    discovery: Discovery

    def views(self) -> dict[str, View]:
        """Return the views by their path."""
        return {
            "/{kind:hubs|forms|nodes}": self._list,
            "/{kind:hubs|forms|nodes}/{name}": self._get,
            "/hubs/{name}/nodes": self._hub_nodes,
            "/forms/{name}/details": self._form_details,
            "/nodes/{name}/resources": self._node_resources,
            "/nodes/{name}/events": self._events,
            "/events": self._events,
            "/resources": self._resource,
            "/topology": self._topology,
            "/contexts": _contexts,
        }

    async def _list(self, request: web.Request, viewer: Viewer) -> object:
        kind = request.match_info["kind"]
        return {"items": await self._objects(viewer, kind, query.text(request, "namespace"))}

    async def _get(self, request: web.Request, viewer: Viewer) -> object:
        kind, name = request.match_info["kind"], request.match_info["name"]
        return await self._found(viewer, kind, name, query.text(request, "namespace"))

    async def _hub_nodes(self, request: web.Request, viewer: Viewer) -> object:
        name, namespace = request.match_info["name"], query.text(request, "namespace")
        if not name.replace("-", "").replace(".", "").isalnum():
            raise RequestRefused(400, "The name of the hub is not valid.")
        labels = f"{LABEL_HUB}={name}"
        return {"items": await self._objects(viewer, "nodes", namespace, labels)}

    async def _form_details(self, request: web.Request, viewer: Viewer) -> object:
        namespace = query.text(request, "namespace")
        form = await self._found(viewer, "forms", request.match_info["name"], namespace)
        variables: list[str] = []
        try:
            hub = await viewer.client.get(
                HUBS, form["spec"]["hubId"], form["metadata"]["namespace"], into=LynqHub
            )
            variables = list(columns_by_variable(hub.spec))
        except (NotFound, Forbidden):
            pass
        return {"form": form, "variables": variables}

    async def _node_resources(self, request: web.Request, viewer: Viewer) -> object:
        namespace = query.text(request, "namespace")
        node = await self._found(viewer, "nodes", request.match_info["name"], namespace)
        entries = (node.get("status") or {}).get("resources") or []
        return {"resources": [await self._child(viewer, entry) for entry in entries]}

    async def _child(self, viewer: Viewer, entry: Object) -> Object:
        try:
            resource = await self.discovery.resource(entry.get("apiVersion", ""), entry["kind"])
            live = await viewer.client.get(resource, entry["name"], entry.get("namespace") or None)
        except KubeError as error:
            place = {key: entry.get(key, "") for key in ("id", "kind", "name", "namespace")}
            return {**place, "error": str(error)}
        return {**masked_live(live, self.projection), "_id": entry["id"]}

    async def _resource(self, request: web.Request, viewer: Viewer) -> object:
        kind, name = query.text(request, "kind"), query.text(request, "name")
        api_version = query.text(request, "apiVersion")
        resource = await self._kind(api_version, kind)
        live = await viewer.client.get(resource, name, query.text(request, "namespace") or None)
        return masked_live(live, self.projection)

    async def _kind(self, api_version: str, kind: str) -> Resource:
        versions = [api_version] if api_version else [*_VERSIONS]
        for version in versions:
            try:
                return await self.discovery.resource(version, kind)
            except KubeError:
                continue
        raise RequestRefused(404, f'The kind "{kind}" is not served: name its apiVersion, too.')

    async def _events(self, request: web.Request, viewer: Viewer) -> object:
        name = request.match_info.get("name") or query.text(request, "name")
        if not name or "," in name or "=" in name:
            raise RequestRefused(400, "The parameter name is missing, or not a name.")
        namespace = query.text(request, "namespace")
        if not namespace:
            node = await self._found(viewer, "nodes", name, "")
            namespace = node["metadata"]["namespace"]
        listed = await viewer.client.list(EVENTS, namespace, fields=f"involvedObject.name={name}")
        return {"items": sorted(listed.items, key=event_time, reverse=True)[:_MAX_OBJECTS]}

    async def _topology(self, request: web.Request, viewer: Viewer) -> object:
        namespace = query.text(request, "namespace")
        shapes: dict[str, Object] = {}
        for kind in ("hubs", "forms", "nodes"):
            for obj in await self._objects(viewer, kind, namespace):
                shape = _shape(kind.removesuffix("s"), obj)
                shapes[shape["id"]] = shape
                parent = shapes.get(_parent(kind, obj))
                if parent:
                    parent["children"].append(shape["id"])
                for child in _children(obj) if kind == "nodes" else ():
                    shapes[child["id"]] = child
                    shape["children"].append(child["id"])
        edges = [
            {"source": shape["id"], "target": child}
            for shape in shapes.values()
            for child in shape["children"]
        ]
        return {"nodes": list(shapes.values()), "edges": edges}

    async def _found(self, viewer: Viewer, kind: str, name: str, namespace: str) -> Object:
        """Return an object by name; without a namespace, the first that the viewer may read."""
        resource, title = _KINDS[kind]
        namespaces = [namespace] if namespace else sorted(self.projection.namespaces(title))
        scope = await viewer.rights.scope(title, namespaces)
        for each in namespaces:
            if scope.has(each):
                try:
                    live = await viewer.client.get(resource, name, each)
                except NotFound:
                    continue
                return masked_live(live, self.projection)
        raise RequestRefused(404, f'There is no {resource.kind} "{name}" that you may read.')

    async def _objects(
        self, viewer: Viewer, kind: str, namespace: str, labels: str | None = None
    ) -> list[Object]:
        resource, title = _KINDS[kind]
        known = [namespace] if namespace else sorted(self.projection.namespaces(title))
        scope = await viewer.rights.scope(title, known)
        places: list[str | None] = [name for name in known if scope.has(name)]
        if not namespace and scope.namespaces is None:
            places = [None]
        objects: list[Object] = []
        for place in places:
            async for page in viewer.client.pages(resource, place, labels=labels):
                objects += [masked_live(item, self.projection) for item in page.items]
                if len(objects) >= _MAX_OBJECTS:
                    return objects[:_MAX_OBJECTS]
        return objects


_VERSIONS: Final = (
    "v1",
    "apps/v1",
    "batch/v1",
    "networking.k8s.io/v1",
    "autoscaling/v2",
    "policy/v1",
    "operator.lynq.sh/v1",
)
"""Where a kind without apiVersion is looked up."""


async def _contexts(_request: web.Request, _viewer: Viewer) -> object:
    raise RequestRefused(400, "The dashboard serves one cluster: start it with another --context.")


def _shape(kind: str, obj: Object) -> Object:
    metadata, status = obj["metadata"], obj.get("status") or {}
    conditions: list[Object] = status.get("conditions") or []
    ready: Object = next((each for each in conditions if each["type"] == "Ready"), {})
    counts = {
        "desired": status.get("desired")
        or status.get("totalNodes")
        or status.get("desiredResources")
        or 0,
        "ready": status.get("ready")
        or status.get("readyNodes")
        or status.get("readyResources")
        or 0,
        "failed": status.get("failed") or status.get("failedResources") or 0,
    }
    is_ready = ready.get("status") == "True" or (
        kind == "form" and counts["ready"] == counts["desired"]
    )
    state = "ready" if is_ready else "failed" if counts["failed"] else "pending"
    return {
        "id": f"{kind}-{metadata['namespace']}-{metadata['name']}",
        "type": kind,
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "status": state,
        "children": [],
        "metrics": counts,
        "metadata": {},
    }


def _parent(kind: str, obj: Object) -> str:
    namespace, spec = obj["metadata"]["namespace"], obj.get("spec") or {}
    if kind == "forms":
        return f"hub-{namespace}-{spec.get('hubId', '')}"
    return f"form-{namespace}-{spec.get('templateRef', '')}" if kind == "nodes" else ""


def _children(node: Object) -> Iterator[Object]:
    metadata = node["metadata"]
    for entry in (node.get("status") or {}).get("resources") or ():
        yield {
            "id": f"resource-{metadata['namespace']}-{metadata['name']}-{entry['id']}",
            "type": "resource",
            "name": entry["name"],
            "namespace": entry.get("namespace", ""),
            "status": _STATUS.get(entry["state"], "pending"),
            "children": [],
            "metadata": {"kind": entry["kind"], "id": entry["id"]},
        }
