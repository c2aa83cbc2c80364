"""The shipped webhook configurations, with the URLs of servers in the test process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from lynq.api import HubSpec, LynqForm, LynqHub, LynqNode
from lynq.api.denied_hosts import NONE_DENIED, DeniedHosts
from lynq.api.installation_key import InstallationKey, KeyState
from lynq.api.metadata import ObjectKey
from lynq.core.object_limits import NO_LIMITS, ObjectLimits
from lynq.kube import Client, Resource
from lynq.kube.errors import ApiError
from lynq.telemetry import Address
from lynq.webhooks import WebhookServer
from lynq.webhooks.authorization import Authorize, authorize_secrets
from lynq.webhooks.certificates.ca import Lifetimes
from lynq.webhooks.certificates.rotation import RotatedCertificates, WebhookService
from lynq.webhooks.certificates.secret import CONFIGURATIONS
from lynq.webhooks.configurations import WebhookPaths
from lynq.webhooks.paths import secret_part
from waiting import eventually

MANIFESTS = Path(__file__).parents[3] / "deploy/kustomize/webhook/manifests.yaml"
GROUP, VERSION = "operator.lynq.sh", "v1"
HUBS, FORMS, NODES = (
    Resource(GROUP, VERSION, kind.definition.kind, kind.definition.plural, namespaced=True)
    for kind in (LynqHub, LynqForm, LynqNode)
)
MUTATING, VALIDATING = CONFIGURATIONS.values()
Object = dict[str, Any]
KEY = InstallationKey(b"k" * 32)


@dataclass
class Clock:
    """A clock that tests can shift."""

    shift: timedelta = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.shift


@dataclass
class Caches:
    """A view of the cluster that tests define."""

    spec: HubSpec | None = None
    nodes: Sequence[LynqNode] = field(default_factory=list)
    denied_hosts: DeniedHosts = NONE_DENIED
    limits: ObjectLimits = NO_LIMITS

    def covers(self, namespace: str) -> bool:
        return bool(namespace)

    def hub(self, key: ObjectKey) -> HubSpec | None:
        return self.spec if key.name == "shop" else None

    def nodes_of_hub(self, key: ObjectKey) -> Sequence[LynqNode]:
        return self.nodes if key.name == "shop" else []

    def nodes_of_form(self, key: ObjectKey) -> Sequence[LynqNode]:
        return self.nodes if key.name == "web" else []


@dataclass
class Admission:
    """One namespace whose objects are reviewed by webhooks."""

    client: Client
    namespace: str
    clock: Clock = field(default_factory=Clock)
    caches: Caches = field(default_factory=Caches)
    check_interval: float = 0.2

    @property
    def service(self) -> WebhookService:
        return WebhookService(self.namespace, "hooks", f"{self.namespace}-")

    @asynccontextmanager
    async def replica(
        self,
        client: Client | None = None,
        *,
        lifetimes: Lifetimes | None = None,
        authorize: Authorize | None = None,
        key: Callable[[], KeyState] = lambda: KEY,
    ) -> AsyncIterator[WebhookServer]:
        """Run one server until the block ends; all replicas have one key."""
        certificates = RotatedCertificates(
            client or self.client,
            self.service,
            lifetimes=lifetimes,
            check_interval=self.check_interval,
            clock=self.clock,
        )
        authorize = authorize or partial(authorize_secrets, self.client)
        address = Address("127.0.0.1", 0)
        client = client or self.client
        async with WebhookServer(
            address,
            certificates,
            self.caches,
            authorize,
            key=key,
            paths=WebhookPaths(client, self.service, lambda: secret_part(key())),
        ) as server:
            async with asyncio.timeout(20):
                await server.listening()
            yield server

    @asynccontextmanager
    async def configured(self, server: WebhookServer) -> AsyncIterator[None]:
        """Install the shipped webhook configurations with the URL of this server."""
        manifests = [
            self._with_url(manifest, server)
            for manifest in yaml.safe_load_all(MANIFESTS.read_text())
        ]
        for resource, manifest in zip((MUTATING, VALIDATING), manifests, strict=True):
            await self.client.create(resource, manifest)
        try:
            await eventually(self._is_effective, within=20)
            yield
        finally:
            for resource, manifest in zip((MUTATING, VALIDATING), manifests, strict=True):
                await self.client.delete(resource, manifest["metadata"]["name"])

    def _with_url(self, manifest: Object, server: WebhookServer) -> Object:
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(server.address.host, "127.0.0.1")
        manifest["metadata"]["name"] = f"{self.namespace}-{manifest['metadata']['name']}"
        for webhook in manifest["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://{host}:{server.address.port}{path}"}
            selector = {"kubernetes.io/metadata.name": self.namespace}
            webhook["namespaceSelector"] = {"matchLabels": selector}
        return manifest

    async def _is_effective(self) -> bool:
        """Return whether the webhooks deny invalid objects."""
        for resource, invalid in ((HUBS, hub("probe", uid="")), (FORMS, form("probe", name=BAD))):
            if "spec." not in await self.denial(resource, invalid):
                return False
        return True

    async def denial(self, resource: Resource, obj: Object) -> str:
        """Return why an object is denied; "" if it is allowed."""
        try:
            await self.client.create(resource, self.in_namespace(obj), dry_run=True)
        except ApiError as error:
            return error.status.message
        return ""

    async def bundles(self) -> set[str]:
        """Return the different caBundles in both configurations."""
        configurations = [
            await self.client.get(resource, f"{self.namespace}-{name}")
            for name, resource in CONFIGURATIONS.items()
        ]
        return {
            webhook["clientConfig"].get("caBundle", "")
            for configuration in configurations
            for webhook in configuration["webhooks"]
        }

    def in_namespace(self, obj: Object) -> Object:
        return {**obj, "metadata": {**obj["metadata"], "namespace": self.namespace}}


BAD = "{{ .uid | nope }}"


def hub(name: str = "shop", *, uid: str = "id", **spec: Any) -> Object:
    server = {"host": "db", "username": "u", "database": "d", "table": "t"}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "LynqHub",
        "metadata": {"name": name},
        "spec": {
            "source": {"type": "mysql", "mysql": server},
            "valueMappings": {"uid": uid, "activate": "on"},
            **spec,
        },
    }


def form(form_name: str = "web", *, name: str = "{{ .uid }}", **resource: Any) -> Object:
    body = {"apiVersion": "v1", "kind": "ConfigMap"}
    config_map = {"id": "a", "nameTemplate": name, "spec": body, **resource}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "LynqForm",
        "metadata": {"name": form_name},
        "spec": {"hubId": "shop", "configMaps": [config_map]},
    }
