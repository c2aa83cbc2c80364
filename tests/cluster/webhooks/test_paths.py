"""The secret part of the webhooks' paths with a real API server, which calls them by a Service.

The Service has the type ExternalName: nothing routes cluster IPs here, and the API server resolves
the name to a port of the test.
"""

import asyncio
import base64
import json
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web

from background_tasks import run_in_background
from cluster.webhooks.admission import (
    BAD,
    FORMS,
    HUBS,
    KEY,
    MANIFESTS,
    MUTATING,
    VALIDATING,
    Admission,
    form,
    hub,
)
from cluster.webhooks.test_secret_access import hub_with_secrets
from lynq.api.installation_key import NO_KEY, KeyState
from lynq.api.names import LABEL_WEBHOOK_PATH
from lynq.kube import Request, Response, Send
from lynq.kube.errors import ApiError, NotFound
from lynq.kube.resource import PODS, SECRETS, SERVICES
from lynq.telemetry import Address
from lynq.tls.certificates import KeyPair
from lynq.tls.context import server_context_from_pair
from lynq.webhooks import WebhookServer
from lynq.webhooks.authorization import authorize_secrets
from lynq.webhooks.certificates.rotation import RotatedCertificates
from lynq.webhooks.configurations import WebhookPaths
from lynq.webhooks.paths import STATIC_PATHS, secret_part
from waiting import eventually, stays

SELECTOR = {"app": "lynq"}
NEW = {**SELECTOR, LABEL_WEBHOOK_PATH: "secret"}
OLD = SELECTOR
Object = dict[str, Any]


@dataclass
class Installation:
    """The Service, the webhook configurations and the pods of one installation."""

    admission: Admission
    kubectl: Callable[..., str]
    folder: Path
    port: int = 0
    backends: list[Callable[[web.Request], Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    admitted: int = 0

    async def run_kubectl(self, *arguments: str) -> str:
        return await asyncio.to_thread(self.kubectl, *arguments)

    @property
    def names(self) -> dict[str, Any]:
        prefix = self.admission.service.prefix
        return {
            f"{prefix}{kind.kind.removesuffix('WebhookConfiguration').lower()}"
            "-webhook-configuration": kind
            for kind in (MUTATING, VALIDATING)
        }

    def manifests(self) -> Path:
        """Write the shipped configurations, with the Service of this installation."""
        admission, objects = self.admission, list(yaml.safe_load_all(MANIFESTS.read_text()))
        for obj in objects:
            obj["metadata"]["name"] = f"{admission.service.prefix}{obj['metadata']['name']}"
            for webhook in obj["webhooks"]:
                webhook["clientConfig"]["service"] |= {
                    "name": admission.service.service,
                    "namespace": admission.namespace,
                    "port": self.port,
                }
                selector = {"kubernetes.io/metadata.name": admission.namespace}
                webhook["namespaceSelector"] = {"matchLabels": selector}
        path = self.folder / "webhooks.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        return path

    async def create_service(self) -> None:
        service = {
            "metadata": {"name": self.admission.service.service},
            "spec": {
                "type": "ExternalName",
                "externalName": "localhost",
                "selector": SELECTOR,
                "ports": [{"port": self.port, "protocol": "TCP"}],
            },
        }
        await self.admission.client.create(SERVICES, self.admission.in_namespace(service))

    async def create_pod(self, name: str, labels: dict[str, str]) -> None:
        """Create a pod that terminates only when its finalizer is removed."""
        metadata = {"name": name, "labels": labels, "finalizers": ["lynq.sh/test"]}
        container = {"name": "manager", "image": "lynq"}
        # No node has the name, so the pod stays Pending: the rule must not wait for Running.
        spec = {"containers": [container], "nodeSelector": {"none": "none"}}
        pod = {"metadata": metadata, "spec": spec}
        await self.admission.client.create(PODS, self.admission.in_namespace(pod))

    async def terminate_pod(self, name: str) -> None:
        await self.admission.client.delete(PODS, name, self.admission.namespace)

    async def remove_pod(self, name: str) -> None:
        namespace, client = self.admission.namespace, self.admission.client
        await client.patch(PODS, name, {"metadata": {"finalizers": None}}, namespace)
        await self.terminate_if_left(name)

    async def terminate_if_left(self, name: str) -> None:
        try:
            await self.terminate_pod(name)
        except NotFound:
            return

    async def paths(self) -> set[str]:
        """Return the last parts of all paths: "" for a static path."""
        parts = set()
        for name, resource in self.names.items():
            stored = await self.admission.client.get(resource, name)
            for webhook in stored["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                static, _, part = path.rpartition("/")
                parts.add(part if static in STATIC_PATHS else "")
        return parts

    async def has_paths(self, *parts: str) -> bool:
        return await self.paths() == set(parts)

    async def admit_continuously(self) -> None:
        """Send a valid and an invalid form again and again until canceled."""
        client, number = self.admission.client, 0
        while True:
            number += 1
            obj = self.admission.in_namespace(form(f"form-{number}"))
            try:
                await client.create(FORMS, obj, dry_run=True)
            except ApiError as error:
                self.refused.append(error.status.message)
            else:
                self.admitted += 1
            await asyncio.sleep(0.01)

    async def more_admitted(self) -> None:
        count = self.admitted
        await eventually(lambda: self.admitted > count + 5)

    @asynccontextmanager
    async def replica(
        self,
        client: Any = None,
        key: Callable[[], KeyState] = lambda: KEY,
        pod: str = "",
    ) -> AsyncIterator[WebhookServer]:
        """Run a server, which stands for the pod of this name."""
        admission = self.admission
        client = client or admission.client
        certificates = RotatedCertificates(client, admission.service, check_interval=0.2)
        paths = WebhookPaths(client, admission.service, lambda: secret_part(key()))
        paths._own_pod = pod
        authorize = partial(authorize_secrets, admission.client)
        async with WebhookServer(
            Address("localhost", self.port if not self.port else 0),
            certificates,
            admission.caches,
            authorize,
            key=key,
            paths=paths,
        ) as server:
            async with asyncio.timeout(20):
                await server.listening()
            yield server

    async def is_trusted(self) -> bool:
        """Return whether the API server trusts the certificate."""
        return await self.admission.denial(FORMS, form("probe")) == ""

    async def denies(self) -> bool:
        return "spec." in await self.admission.denial(FORMS, form("probe", name=BAD))

    @asynccontextmanager
    async def configured(self, *arguments: str) -> AsyncIterator[None]:
        """Apply the configurations for the block."""
        path = str(self.manifests())
        try:
            output = await self.run_kubectl("apply", *arguments, "-f", path)
            assert output.count("webhook-configuration") == 2, output
            yield
        finally:
            await self.run_kubectl("delete", "-f", path)


@pytest.fixture
def installation(admission: Admission, kubectl: Callable[..., str], tmp_path: Path) -> Installation:
    return Installation(admission, kubectl, tmp_path)


def port_of(server: WebhookServer) -> int:
    return server.address.port


@pytest.mark.parametrize("apply", [(), ("--server-side",)])
async def test_applied_static_path_is_replaced_within_5_seconds_and_refuses_no_form(
    installation: Installation, apply: tuple[str, ...]
) -> None:
    await installation.create_pod("new", NEW)
    async with installation.replica() as server:
        installation.port = port_of(server)
        await installation.create_service()
        async with installation.configured(*apply):
            await eventually(partial(installation.has_paths, secret_part(KEY)))
            await eventually(installation.denies)
            async with run_in_background(installation.admit_continuously()):
                for _ in range(4):
                    await installation.more_admitted()
                    path = str(installation.folder / "webhooks.yaml")
                    started = time.monotonic()
                    output = await installation.run_kubectl("apply", *apply, "-f", path)
                    assert "onflict" not in output
                    assert output.count("webhook-configuration") == 2, output
                    await eventually(partial(installation.has_paths, secret_part(KEY)))
                    assert time.monotonic() - started < 5
                await installation.more_admitted()
            assert installation.refused == []
    await installation.remove_pod("new")


async def test_last_replica_puts_the_static_path_back(installation: Installation) -> None:
    await installation.create_pod("one", NEW)
    await installation.create_pod("two", NEW)
    async with installation.replica(pod="one") as server:
        installation.port = port_of(server)
        await installation.create_service()
        async with installation.configured():
            async with installation.replica(pod="two"):
                await eventually(partial(installation.has_paths, secret_part(KEY)))
            # The pod one goes on.
            assert await installation.paths() == {secret_part(KEY)}
            await installation.terminate_pod("two")
            await installation.remove_pod("two")
            await stays(partial(installation.has_paths, secret_part(KEY)), seconds=1)
            await server._paths.release()  # type: ignore[union-attr]
            assert await installation.paths() == {""}
            await stays(partial(installation.has_paths, ""), seconds=2)
    await installation.remove_pod("one")


async def test_static_path_stays_without_the_right_to_list_pods(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    async def without_rights(request: Request, send: Send) -> Response:
        if request.path.endswith("/pods"):
            headers = {**request.headers, "Impersonate-User": "nobody"}
            request = replace(request, headers=headers)
        return await send(request)

    await installation.create_pod("new", NEW)
    client = installation.admission.client.intercepted(without_rights)
    async with installation.replica(client) as server:
        installation.port = port_of(server)
        await installation.create_service()
        async with installation.configured():
            await eventually(installation.denies)
            await stays(partial(installation.has_paths, ""), seconds=2)
            text = await installation.admission.denial(HUBS, hub_with_secrets())
            assert "try again" in text
            assert await installation.admission.denial(HUBS, hub()) == ""
    log = capsys.readouterr().out
    assert "webhook path stays static" in log
    assert "grant the verb watch on pods" in log
    await installation.remove_pod("new")


async def test_hub_with_secrets_is_created_once_the_path_is_secret(
    installation: Installation,
) -> None:
    keys: list[KeyState] = [NO_KEY]
    await installation.create_pod("new", NEW)
    async with installation.replica(key=lambda: keys[0]) as server:
        installation.port = port_of(server)
        await installation.create_service()
        async with installation.configured():
            await eventually(installation.denies)
            text = await installation.admission.denial(HUBS, hub_with_secrets())
            assert "try again" in text
            path = installation.folder / "hub.yaml"
            path.write_text(yaml.safe_dump(installation.admission.in_namespace(hub_with_secrets())))
            applying = asyncio.create_task(installation.run_kubectl("apply", "-f", str(path)))
            await asyncio.sleep(1)
            assert not applying.done()
            keys[0] = KEY
            # kubectl has sent the request again by itself.
            assert await applying == "lynqhub.operator.lynq.sh/shop created\n"
    await installation.remove_pod("new")


@dataclass
class Balancer:
    """Stands for the Service: sends each request to one of the pods, as kube-proxy would."""

    installation: Installation
    server: WebhookServer
    session: aiohttp.ClientSession
    versions: list[str] = field(default_factory=list)
    requests: dict[str, int] = field(default_factory=lambda: {"old": 0, "new": 0})

    async def handle(self, request: web.Request) -> web.Response:
        version, body = random.choice(self.versions), await request.read()
        self.requests[version] += 1
        if version == "old":
            return await self._as_older_version(request.path, body)
        url = f"https://localhost:{port_of(self.server)}{request.path}"
        async with self.session.post(url, data=body, ssl=False) as response:
            return web.Response(status=response.status, body=await response.read())

    async def _as_older_version(self, path: str, body: bytes) -> web.Response:
        if path not in STATIC_PATHS:
            return web.Response(status=404)
        uid = json.loads(body)["request"]["uid"]
        response = {"uid": uid, "allowed": True}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return web.json_response({**review, "response": response})


@asynccontextmanager
async def balanced(installation: Installation, server: WebhookServer) -> AsyncIterator[Balancer]:
    admission = installation.admission
    stored = await admission.client.get(SECRETS, "webhook-server-cert", admission.namespace)
    certificate, key = (base64.b64decode(stored["data"][name]) for name in ("tls.crt", "tls.key"))
    tls = server_context_from_pair(KeyPair.from_pem(certificate, key))
    async with aiohttp.ClientSession() as session:
        balancer = Balancer(installation, server, session)
        app = web.Application(client_max_size=2**23)
        app.router.add_post("/{path:.*}", balancer.handle)
        # Without keep-alive each request is balanced... the handler chooses per request.
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "localhost", 0, ssl_context=tls).start()
        installation.port = runner.addresses[0][1]
        try:
            yield balancer
        finally:
            await runner.cleanup()


async def test_rolling_update_and_its_undo_refuse_no_form(installation: Installation) -> None:
    secret = secret_part(KEY)
    await installation.create_pod("old", OLD)
    async with (
        installation.replica(pod="new") as server,
        balanced(installation, server) as balancer,
    ):
        await installation.create_service()
        balancer.versions = ["old"]
        async with installation.configured():
            await eventually(partial(installation.is_trusted))
            async with run_in_background(installation.admit_continuously()):
                await installation.more_admitted()
                # The update: the new pod becomes ready beside the old one.
                await installation.create_pod("new", NEW)
                balancer.versions = ["old", "new"]
                await stays(partial(installation.has_paths, ""), seconds=2)
                # The old pod terminates, and still gets requests.
                await installation.terminate_pod("old")
                await stays(partial(installation.has_paths, ""), seconds=2)
                balancer.versions = ["new"]
                await installation.remove_pod("old")
                await eventually(partial(installation.has_paths, secret), within=5)
                await installation.more_admitted()
                # The undo: a pod of the old version is pending, and becomes ready.
                await installation.create_pod("undone", OLD)
                await eventually(partial(installation.has_paths, ""), within=5)
                await asyncio.sleep(1)
                balancer.versions = ["old", "new"]
                await installation.more_admitted()
                await installation.terminate_pod("new")
                balancer.versions = ["old"]
                await installation.remove_pod("new")
                await installation.more_admitted()
            assert installation.refused == []
            assert min(balancer.requests.values()) > 5
    await installation.remove_pod("undone")


async def test_path_is_written_where_cert_manager_writes_the_bundle(
    installation: Installation,
) -> None:
    await installation.create_pod("new", NEW)
    async with installation.replica() as server:
        installation.port = port_of(server)
        await installation.create_service()
        async with installation.configured():
            name, resource = next(iter(installation.names.items()))
            annotations = {"cert-manager.io/inject-ca-from": "ops/serving-cert"}
            patch = {"metadata": {"annotations": annotations}}
            await installation.admission.client.patch(resource, name, patch)
            path = str(installation.folder / "webhooks.yaml")
            await installation.run_kubectl("apply", "-f", path)
            await eventually(partial(installation.has_paths, secret_part(KEY)))
    await installation.remove_pod("new")


async def test_largest_objects_of_etcd_are_reviewed(installation: Installation) -> None:
    def large(letter: str) -> Object:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": letter * 1_400_000}}
        return installation.admission.in_namespace(form("large", spec=body))

    await installation.create_pod("new", NEW)
    async with installation.replica() as server:
        installation.port = port_of(server)
        await installation.create_service()
        async with installation.configured():
            await eventually(partial(installation.has_paths, secret_part(KEY)))
            await eventually(installation.denies)
            client, namespace = installation.admission.client, installation.admission.namespace
            stored = await client.create(FORMS, large("a"))
            version = {"metadata": stored["metadata"]}
            await client.replace(FORMS, large("b") | version)
            # A larger object is not stored: the limit is that of etcd.
            too_large = form("huge", labelsTemplate={"x": "y" * 1_600_000})
            with pytest.raises(ApiError) as raised:
                await client.create(FORMS, installation.admission.in_namespace(too_large))
            assert "webhook" not in raised.value.status.message, raised.value.status.message
            await client.delete(FORMS, "large", namespace)
    await installation.remove_pod("new")
