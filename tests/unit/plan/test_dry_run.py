"""The interceptor of a plan: what reaches the API server, and what later requests see."""

import json
from typing import Any

import pytest

from lynq.kube import Patch, Request, Response
from lynq.kube.errors import Details, NotFound, Status, from_status
from lynq.plan.dry_run import DryRun

PATH = "/api/v1/namespaces/shop/configmaps/acme"
NODE = "/apis/operator.lynq.sh/v1/namespaces/shop/lynqnodes/acme-web"
MERGE = {"Content-Type": Patch.MERGE.value}


class Server:
    """An API server that has some objects and records the writes that it gets."""

    def __init__(self, **objects: dict[str, Any]) -> None:
        self.objects = {path.replace("_", "/"): obj for path, obj in objects.items()}
        self.requests: list[Request] = []

    def unfenced(self) -> "Server":
        return self

    async def raw(self, path: str, **_: Any) -> bytes:
        if path not in self.objects:
            status = Status(code=404, reason="NotFound", details=Details(name="x"))
            error = from_status(status, verb="get", path=path)
            assert isinstance(error, NotFound)
            raise error
        return json.dumps(self.objects[path]).encode()

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        if request.method == "DELETE":
            return Response(200, body=b'{"kind": "Status"}')
        stored = self.objects.get(request.path, {})
        body = json.loads(request.body or b"{}")
        metadata = {**stored.get("metadata", {}), **body.get("metadata", {})}
        return Response(200, body=json.dumps({**stored, **body, "metadata": metadata}).encode())


def obj(version: str = "5", **fields: Any) -> dict[str, Any]:
    metadata = {"name": "acme", "uid": "u", "resourceVersion": version} | fields.pop("metadata", {})
    return {"kind": "ConfigMap", "metadata": metadata, **fields}


def server(path: str = PATH, **stored: Any) -> tuple[Server, DryRun]:
    api = Server()
    api.objects[path] = obj(**stored)
    return api, DryRun(api)  # type: ignore[arg-type]  # reads only


def write(body: Any, path: str = PATH, method: str = "PATCH", **headers: str) -> Request:
    return Request("write", method, path, headers=headers, body=json.dumps(body).encode())


async def read(dry_run: DryRun, api: Server, path: str = PATH) -> dict[str, Any]:
    response = await dry_run(Request("get", "GET", path), api.send)
    result: dict[str, Any] = json.loads(response.body)
    return result | {"code": response.status}


async def test_write_is_sent_as_a_strict_dry_run_and_read_afterwards() -> None:
    api, dry_run = server(data={"a": "1"})
    await dry_run(write({"data": {"a": "2"}}), api.send)
    assert api.requests[0].query == {"dryRun": "All", "fieldValidation": "Strict"}
    assert (await read(dry_run, api))["data"] == {"a": "2"}
    (recorded,) = dry_run.recorded()
    assert recorded.before is not None
    assert recorded.before["data"] == {"a": "1"}


async def test_second_patch_builds_on_the_first() -> None:
    api, dry_run = server(data={"a": "1"})
    await dry_run(write({"data": {"b": "2"}}, **MERGE), api.send)
    await dry_run(write({"data": {"c": "3"}}, **MERGE), api.send)
    (recorded,) = dry_run.recorded()
    assert recorded.before == obj(data={"a": "1"})
    assert (await read(dry_run, api))["data"] == {"b": "2", "c": "3"}
    assert len(api.requests) == 1


async def test_version_of_a_dry_run_is_never_sent() -> None:
    api, dry_run = server()
    await dry_run(write({"data": {}}), api.send)
    version = (await read(dry_run, api))["metadata"]["resourceVersion"]
    await dry_run(write(obj(version, data={"a": "1"}), method="PUT"), api.send)
    sent = json.loads(api.requests[-1].body or b"")
    assert sent["metadata"]["resourceVersion"] == "5"


async def test_write_of_an_outdated_version_is_a_conflict() -> None:
    api, dry_run = server()
    await dry_run(write({"data": {}}), api.send)
    response = await dry_run(write(obj("5"), method="PUT"), api.send)
    assert response.status == 409


async def test_deleted_object_is_not_found_and_can_be_created_again() -> None:
    api, dry_run = server()
    await dry_run(write({}, method="DELETE"), api.send)
    assert json.loads(api.requests[0].body or b"")["dryRun"] == ["All"]
    assert (await read(dry_run, api))["code"] == 404
    await dry_run(write({"metadata": {"name": "acme"}, "data": {"a": "1"}}), api.send)
    created = await read(dry_run, api)
    assert created["metadata"]["uid"] != "u"
    assert len(api.requests) == 1


async def test_node_is_deleted_when_its_finalizer_is_removed() -> None:
    finalizers = {"finalizers": ["lynqnode.operator.lynq.sh/finalizer"]}
    api, dry_run = server(NODE, metadata=finalizers)
    await dry_run(write({}, NODE, "DELETE"), api.send)
    assert "deletionTimestamp" in (await read(dry_run, api, NODE))["metadata"]
    await dry_run(write({"metadata": {"finalizers": None}}, NODE, **MERGE), api.send)
    assert (await read(dry_run, api, NODE))["code"] == 404


async def test_status_is_merged_here_and_is_no_change() -> None:
    api, dry_run = server(NODE, spec={"a": 1})
    await dry_run(write({"status": {"ready": 1}}, f"{NODE}/status", **MERGE), api.send)
    assert api.requests == []
    assert (await read(dry_run, api, NODE))["status"] == {"ready": 1}
    assert list(dry_run.recorded()) == []


async def test_object_in_a_created_namespace_is_answered_here() -> None:
    api, dry_run = server()
    await dry_run(write({"metadata": {"name": "room"}}, "/api/v1/namespaces", "POST"), api.send)

    async def no_namespace(_: Request) -> Response:
        return Response(404, body=b"{}")

    body = {"kind": "Secret", "metadata": {"name": "a", "namespace": "room"}}
    response = await dry_run(write(body, "/api/v1/namespaces/room/secrets/a"), no_namespace)
    assert response.status == 200
    other = {"kind": "Secret", "metadata": {"name": "a", "namespace": "other"}}
    response = await dry_run(write(other, "/api/v1/namespaces/other/secrets/a"), no_namespace)
    assert response.status == 404


async def test_rejected_write_is_not_recorded() -> None:
    _, dry_run = server()

    async def reject(_: Request) -> Response:
        return Response(422, body=b"{}")

    assert (await dry_run(write({"data": {}}), reject)).status == 422
    assert list(dry_run.recorded()) == []


@pytest.mark.parametrize("path", ["/apis/authorization.k8s.io/v1/subjectaccessreviews"])
async def test_reviews_are_sent_as_they_are(path: str) -> None:
    api, dry_run = server()
    request = write({"spec": {}}, path, "POST")
    await dry_run(request, api.send)
    assert api.requests == [request]


async def test_held_writes_are_marked() -> None:
    api, dry_run = server()
    dry_run.is_held = True
    await dry_run(write({}, method="DELETE"), api.send)
    assert [recorded.is_held for recorded in dry_run.recorded()] == [True]
