"""The floor: a bare loader that sends only the writes that the work needs, 50 at a time.

It runs as a process of its own, so that its CPU can be compared with the operator's. The writes of
a tenant with R resources are: create the node, R applies, one status write. A form change is one
patch of the node, one apply and one status write; a removal is the deletion of the node and its
objects, and the patch that releases the node. The result is one line of JSON.
"""

import argparse
import asyncio
import json
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from bench.shapes import SHAPES, Entry, Shape
from lynq.kube import load_config
from lynq.kube.session import ssl_context_for

IN_FLIGHT = 50
_GROUP = "/apis/operator.lynq.sh/v1"
_JSON = {"Content-Type": "application/json"}
_APPLY = {"Content-Type": "application/apply-patch+yaml"}
_MERGE = {"Content-Type": "application/merge-patch+json"}


class Loader:
    """Sends the writes of tenants."""

    def __init__(
        self, session: aiohttp.ClientSession, server: str, namespace: str, hub: str
    ) -> None:
        self._session = session
        self._server = server
        self._namespace = namespace
        self._hub = hub
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._available: dict[str, asyncio.Event] = {}
        self.requests = 0

    async def provision(self, shape: Shape, uid: str, revision: str) -> None:
        """Create a node, its objects and its status."""
        body = shape.node(self._namespace, uid, revision, self._hub)
        node = await self._send("POST", _GROUP, "lynqnodes", body=body, headers=_JSON)
        owner = node["metadata"]["uid"]
        if shape.waits_for:
            for entry in shape.entries:
                await self._apply(entry, uid, revision, owner)
                if entry.id == shape.waits_for:
                    await self._available.setdefault(f"{uid}-{entry.id}", asyncio.Event()).wait()
        else:
            applies = (self._apply(entry, uid, revision, owner) for entry in shape.entries)
            await asyncio.gather(*applies)
        await self._write_status(shape, uid, revision)

    async def change(self, shape: Shape, uid: str, revision: str) -> None:
        """Write a changed node, its first object and its status."""
        body = shape.node(self._namespace, uid, revision, self._hub)
        patch = {"metadata": {"annotations": body["metadata"]["annotations"]}, "spec": body["spec"]}
        node = await self._node("PATCH", uid, patch, _MERGE)
        await self._apply(shape.entries[0], uid, revision, node["metadata"]["uid"])
        await self._write_status(shape, uid, revision)

    async def remove(self, shape: Shape, uid: str, _revision: str) -> None:
        """Delete a node and its objects, and release the node; do nothing if there is none."""
        if await self._node("DELETE", uid) is None:
            return
        deletions = [
            self._send("DELETE", entry.path, entry.plural, f"{uid}-{entry.id}")
            for entry in shape.entries
        ]
        await asyncio.gather(*deletions)
        await self._node("PATCH", uid, {"metadata": {"finalizers": None}}, _MERGE)

    async def watch_deployments(self) -> None:
        """Note which Deployments are available."""
        url = f"{self._server}/apis/apps/v1/namespaces/{self._namespace}/deployments?watch=true"
        async with self._session.get(url) as response:
            async for line in response.content:
                obj = json.loads(line)["object"]
                if obj.get("status", {}).get("availableReplicas"):
                    self._available.setdefault(obj["metadata"]["name"], asyncio.Event()).set()

    async def _apply(self, entry: Entry, uid: str, revision: str, owner: str) -> None:
        obj = entry.object(self._namespace, uid, revision, owner)
        name = f"{obj['metadata']['name']}?fieldManager=lynq-operator&force=true"
        await self._send("PATCH", entry.path, entry.plural, name, body=obj, headers=_APPLY)

    async def _write_status(self, shape: Shape, uid: str, revision: str) -> None:
        patch = {"status": shape.status(self._namespace, uid, revision)}
        await self._node("PATCH", f"{uid}-web/status", patch, _MERGE)

    async def _node(
        self, method: str, name: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Any:
        name = name if "/" in name else f"{name}-web"
        return await self._send(method, _GROUP, "lynqnodes", name, body=body, headers=headers)

    async def _send(
        self,
        method: str,
        group: str,
        plural: str,
        name: str = "",
        *,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        path = f"{group}/namespaces/{self._namespace}/{plural}" + (f"/{name}" if name else "")
        data = None if body is None else json.dumps(body).encode()
        async with (
            self._slots,
            self._session.request(
                method, self._server + path, data=data, headers=headers
            ) as response,
        ):
            self.requests += 1
            text = await response.read()
        if response.status == 404 and method == "DELETE":
            return None
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {text[:500]!r}")
        return json.loads(text)


async def load(arguments: argparse.Namespace) -> dict[str, float]:
    """Send the writes of all tenants; return seconds, CPU seconds and the number of requests."""
    config = load_config(kubeconfig=arguments.kubeconfig)
    credential = await config.credentials.current()
    connector = aiohttp.TCPConnector(ssl=ssl_context_for(config, credential.certificate), limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        server = config.server.rstrip("/")
        loader = Loader(session, server, arguments.namespace, arguments.hub)
        shape = SHAPES[arguments.shape]
        work = getattr(loader, arguments.work)
        watch = asyncio.create_task(loader.watch_deployments()) if shape.waits_for else None
        uids = [f"t{number:05}" for number in range(arguments.rows)]
        start, cpu = time.monotonic(), _cpu()
        await asyncio.gather(*(work(shape, uid, arguments.revision) for uid in uids))
        result = {"seconds": time.monotonic() - start, "cpu": _cpu() - cpu}
        if watch:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch
        return result | {"requests": loader.requests}


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=["provision", "change", "remove"])
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--hub", required=True, help="the uid of the hub that owns the nodes")
    parser.add_argument("--shape", choices=sorted(SHAPES), required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--revision", default="1")
    print(json.dumps(uvloop.run(load(parser.parse_args()))))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
