"""Tells the API server whom to trust: the caBundle in our two webhook configurations."""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

import structlog

from lynq.kube import Client, Patch, Resource
from lynq.kube.errors import NotFound

_GROUP: Final = "admissionregistration.k8s.io"
_CERT_MANAGER: Final = "cert-manager.io/inject-ca-from"
_MANAGER: Final = "lynq-webhooks"

CONFIGURATIONS: Final = {
    f"{kind}-webhook-configuration": Resource(
        _GROUP,
        "v1",
        f"{kind.capitalize()}WebhookConfiguration",
        f"{kind}webhookconfigurations",
        namespaced=False,
    )
    for kind in ("mutating", "validating")
}
"""What the configurations are called behind their prefix, and where they are."""

_log = structlog.get_logger(__name__)


class CABundleInjector:
    """Keeps the bundle in the configurations that lead to one Service."""

    def __init__(self, client: Client, prefix: str, namespace: str, service: str) -> None:
        self._client = client
        self._prefix = prefix
        self._service = (namespace, service)

    async def inject(self, bundle: bytes) -> None:
        """Put the bundle where it is missing; raises KubeError."""
        text = base64.b64encode(bundle).decode()
        for name, resource in CONFIGURATIONS.items():
            await self._inject_into(resource, f"{self._prefix}{name}", text)

    async def _inject_into(self, resource: Resource, name: str, bundle: str) -> None:
        try:
            found = await self._client.get(resource, name)
        except NotFound:
            # Whoever installed us does without.
            return
        annotations = found.get("metadata", {}).get("annotations") or {}
        if _CERT_MANAGER in annotations:
            return
        if patch := list(self._changes(found, bundle)):
            await self._client.patch(resource, name, patch, kind=Patch.JSON, manager=_MANAGER)
            _log.info("caBundle written", configuration=name)

    def _changes(self, configuration: Mapping[str, Any], bundle: str) -> Iterator[dict[str, Any]]:
        for position, webhook in enumerate(configuration.get("webhooks") or ()):
            client = webhook.get("clientConfig", {})
            if client.get("caBundle") == bundle or not self._is_ours(client):
                continue
            path = f"/webhooks/{position}"
            # If the list has changed since, the patch fails, and the next look sees it anew.
            yield {"op": "test", "path": f"{path}/name", "value": webhook["name"]}
            yield {"op": "add", "path": f"{path}/clientConfig/caBundle", "value": bundle}

    def _is_ours(self, client: Mapping[str, Any]) -> bool:
        service = client.get("service")
        if service is None:
            # By address: an operator that runs outside of the cluster.
            return True
        return (service.get("namespace"), service.get("name")) == self._service
