"""Keeps the secret part of the paths in the operator's own webhook configurations.

The manifests have the static paths. `kubectl apply`, Helm and Argo CD put them back, so both
configurations are watched, and the secret part is restored at once. A path with a secret part is
not found in a pod of an older version, so **one rule** decides: the secret part is written while
all pods behind the Service have the label `lynq.sh/webhook-path: secret`, and at least one of them
is not terminating. A pod without the label counts from its creation until it is gone, so neither a
rolling update nor `kubectl rollout undo` sends an admission to a pod that does not answer it. In
all other cases, also when the pods are not known, the static path is right: every version answers
it, this one by the object alone.

Every replica does this by itself. Each write tests what it replaces, so several replicas write the
same once. The replica that ends counts itself as gone: the last one puts the static path back, for
a version that cannot.

The operator gives up the ownership of the fields that it has written, as managedFields records it.
A server-side apply of the manifests then meets no conflict.
"""

import asyncio
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import structlog
from msgspec import field

from lynq.api import Metadata
from lynq.api.names import LABEL_WEBHOOK_PATH
from lynq.api.wire import Wire
from lynq.kube import Backoff, Client, Informer, InformerPhase, PartialObject, Patch
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.resource import PODS, SERVICES
from lynq.webhooks.certificates.rotation import WebhookService
from lynq.webhooks.certificates.secret import CONFIGURATIONS
from lynq.webhooks.paths import with_secret_part

_MANAGER: Final = "lynq-webhook-path"
_INTERVAL: Final = 1.0
"""Seconds after which the key, and the health of the watches, is looked at again."""
_PAUSE: Final = 0.5
"""Seconds after a write: another tool may put the static path back again and again."""
_RELEASE_SECONDS: Final = 2.0
"""Time limit of the last write: the kubelet waits 10 s for the whole process."""
_RETRY: Final = Backoff(base=1.0, cap=60.0, jitter=0.2)
_WATCH_RETRY: Final = Backoff(base=0.4, cap=60.0, jitter=1.0)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ServingPod:
    """A pod that may be behind the Service of the webhooks."""

    name: str
    labels: dict[str, str]
    is_terminating: bool

    @property
    def serves_secret_path(self) -> bool:
        """Whether its version answers paths with a secret part."""
        return self.labels.get(LABEL_WEBHOOK_PATH) == "secret"


def may_use_secret_path(pods: Iterable[ServingPod], ending: str = "") -> bool:
    """Return whether the pods behind the Service answer a path with a secret part.

    The pod `ending` counts as gone.
    """
    pods = [pod for pod in pods if pod.name != ending]
    goes_on = any(not pod.is_terminating for pod in pods)
    return goes_on and all(pod.serves_secret_path for pod in pods)


class _ServiceReference(Wire, frozen=True):
    namespace: str = ""
    name: str = ""
    path: str = ""


class _ClientConfig(Wire, frozen=True):
    service: _ServiceReference | None = None
    url: str = ""


class _Webhook(Wire, frozen=True):
    name: str = ""
    client_config: _ClientConfig = _ClientConfig()


class _Configuration(Wire, frozen=True):
    metadata: Metadata
    webhooks: tuple[_Webhook, ...] = ()


class _ServiceSpec(Wire, frozen=True):
    selector: dict[str, str] = field(default_factory=dict)


class _Service(Wire, frozen=True):
    metadata: Metadata
    spec: _ServiceSpec = _ServiceSpec()


@dataclass(frozen=True, slots=True)
class _Live:
    """What is kept of a configuration."""

    name: str
    webhooks: tuple[_Webhook, ...]
    own_entries: tuple[int, ...]
    """The indexes of our entries in managedFields."""


_Configurations: TypeAlias = Informer[_Configuration, _Live]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The wanted secret parts: "" for the static path, None to leave the path as it is."""

    behind_service: str | None
    by_url: str | None


class WebhookPaths:
    """Writes the secret part into the two webhook configurations of one Service."""

    def __init__(
        self, client: Client, service: WebhookService, secret_part: Callable[[], str]
    ) -> None:
        """Write what `secret_part` returns; "" while it is not known."""
        self._client = client
        self._service = service
        self._secret_part = secret_part
        self._own_pod = socket.gethostname()
        self._configurations = [
            Informer(
                client,
                resource,
                into=_Configuration,
                project=_live,
                fields=f"metadata.name={service.prefix}{name}",
                backoff=_WATCH_RETRY,
            )
            for name, resource in CONFIGURATIONS.items()
        ]
        self._selectors = Informer(
            client,
            SERVICES,
            into=_Service,
            project=lambda found: found.spec.selector,
            namespace=service.namespace,
            fields=f"metadata.name={service.service}",
            backoff=_WATCH_RETRY,
        )
        self._pods = Informer(
            client,
            PODS,
            into=PartialObject,
            project=_serving_pod,
            namespace=service.namespace,
            # An evicted pod stays in the list, and serves nothing.
            fields="status.phase!=Succeeded,status.phase!=Failed",
            backoff=_WATCH_RETRY,
        )
        self._changed = asyncio.Event()
        self._writing = asyncio.Lock()
        self._is_ending = False
        self._failures = 0
        self._logged = ""

    async def run(self) -> None:
        """Write after every change, until cancelled."""
        async with asyncio.TaskGroup() as group:
            informers: tuple[Informer[Any, Any], ...] = (
                *self._configurations,
                self._selectors,
                self._pods,
            )
            for informer in informers:
                informer.on_change(lambda _: self._changed.set())
                group.create_task(informer.run())
            while True:
                self._changed.clear()
                await asyncio.sleep(await self._try_write())
                with suppress(TimeoutError):
                    async with asyncio.timeout(_INTERVAL):
                        await self._changed.wait()

    async def release(self) -> None:
        """Put the static path back, unless another pod serves the path with the secret part."""
        self._is_ending = True
        try:
            # The lock: a write that is under way ends before.
            async with asyncio.timeout(_RELEASE_SECONDS), self._writing:
                await self._write(_Parts(self._behind_service(self._own_pod), ""))
        except (KubeError, TimeoutError) as error:
            reason = str(error) or f"no answer within {_RELEASE_SECONDS:g} s"
            _log.warning("webhook path not put back", error=reason)

    async def _try_write(self) -> float:
        """Write what differs; return for how many seconds to pause."""
        try:
            async with self._writing:
                if self._is_ending:
                    return _PAUSE
                secret = self._secret_part() or None
                has_written = await self._write(_Parts(self._behind_service(), secret))
        except KubeError as error:
            self._failures += 1
            self._log_once("webhook path not written", str(error))
            return _RETRY.delay(self._failures - 1)
        self._failures = 0
        return _PAUSE if has_written else 0

    def _behind_service(self, ending: str = "") -> str | None:
        if not any(map(self._refers_to_service, self._configurations)):
            return None
        if self._pods.health.phase is InformerPhase.FORBIDDEN:
            self._log_once("webhook path stays static", self._pods.health.problem)
            return ""
        if not (self._pods.is_current and self._selectors.is_current):
            return "" if ending else None
        pods = list(self._serving_pods())
        if may_use_secret_path(pods, ending):
            self._logged = ""
            return self._secret_part() or None
        older = [pod.name for pod in pods if not pod.serves_secret_path]
        if older and not ending:
            text = f"pods without the label {LABEL_WEBHOOK_PATH}: {', '.join(sorted(older)[:3])}"
            self._log_once("webhook path stays static", text)
        return ""

    def _refers_to_service(self, informer: _Configurations) -> bool:
        return any(
            webhook.client_config.service
            for live in informer.store.values()
            for webhook in live.webhooks
        )

    def _serving_pods(self) -> Iterator[ServingPod]:
        selectors = [selector for selector in self._selectors.store.values() if selector]
        for pod in self._pods.store.values():
            if any(selector.items() <= pod.labels.items() for selector in selectors):
                yield pod

    async def _write(self, parts: _Parts) -> bool:
        """Patch the configurations that differ; return whether one did."""
        has_written = False
        for informer in self._configurations:
            for live in informer.store.values():
                # Deleted since it was read: there is nothing to write.
                with suppress(NotFound):
                    has_written |= await self._write_one(informer, live, parts)
        return has_written

    async def _write_one(self, informer: _Configurations, live: _Live, parts: _Parts) -> bool:
        patch = list(self._path_patch(live.webhooks, parts))
        if patch:
            live = await self._patch(informer, live.name, patch)
            _log.info("webhook path written", configuration=live.name)
        if live.own_entries:
            await self._patch(informer, live.name, _disown_patch(live.own_entries))
        return bool(patch or live.own_entries)

    async def _patch(
        self, informer: _Configurations, name: str, patch: list[dict[str, Any]]
    ) -> _Live:
        written = await self._client.patch(
            informer.resource, name, patch, kind=Patch.JSON, manager=_MANAGER, into=_Configuration
        )
        informer.absorb(written)
        return _live(written)

    def _path_patch(self, webhooks: Sequence[_Webhook], parts: _Parts) -> Iterator[dict[str, Any]]:
        for index, webhook in enumerate(webhooks):
            wanted = self._wanted(webhook.client_config, parts)
            if wanted is None or wanted[1] == wanted[2]:
                continue
            name, before, after = wanted
            path = f"/webhooks/{index}/clientConfig/{name}"
            # Fails if the list changed since it was read; the next attempt has read it again.
            yield {"op": "test", "path": f"/webhooks/{index}/name", "value": webhook.name}
            yield {"op": "test", "path": path, "value": before}
            yield {"op": "replace", "path": path, "value": after}

    def _wanted(self, client_config: _ClientConfig, parts: _Parts) -> tuple[str, str, str] | None:
        """Return field, value and wanted value of our own clientConfig."""
        service = client_config.service
        if service is None:
            # Configured by URL: the operator runs outside of the cluster, and has no other pods.
            if parts.by_url is None:
                return None
            url = urlsplit(client_config.url)
            path = with_secret_part(url.path, parts.by_url)
            return "url", client_config.url, urlunsplit(url._replace(path=path))
        is_ours = (service.namespace, service.name) == self._service.reference
        if not is_ours or parts.behind_service is None:
            return None
        return "service/path", service.path, with_secret_part(service.path, parts.behind_service)

    def _log_once(self, message: str, reason: str) -> None:
        if reason != self._logged:
            # Logged once: a missing right would repeat the line every second.
            _log.warning(message, reason=reason)
            self._logged = reason


def _live(configuration: _Configuration) -> _Live:
    entries = tuple(
        index
        for index, entry in enumerate(configuration.metadata.managed_fields)
        if (entry.manager, entry.operation) == (_MANAGER, "Update")
    )
    return _Live(configuration.metadata.name, configuration.webhooks, entries)


def _serving_pod(pod: PartialObject) -> ServingPod:
    metadata = pod.metadata
    return ServingPod(metadata.name, dict(metadata.labels), metadata.deletion_timestamp is not None)


def _disown_patch(entries: Iterable[int]) -> list[dict[str, Any]]:
    operations: list[dict[str, Any]] = []
    for index in sorted(entries, reverse=True):
        path = f"/metadata/managedFields/{index}"
        operations += [
            {"op": "test", "path": f"{path}/manager", "value": _MANAGER},
            {"op": "remove", "path": path},
        ]
    return operations
