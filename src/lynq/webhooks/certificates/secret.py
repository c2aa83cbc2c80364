"""The Secret that replicas share their certificates by: read, and written only by who is first.

Tells the API server whom to trust: the caBundle in our two webhook configurations.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import structlog
from cryptography import x509

from lynq.api import Metadata
from lynq.kube import Client, Patch, Resource
from lynq.kube.errors import NotFound
from lynq.kube.resource import SECRETS
from lynq.webhooks.certificates.ca import CertificateState, KeyPair

_TYPE: Final = "kubernetes.io/tls"


class _TlsSecret(msgspec.Struct, frozen=True, rename="camel"):
    metadata: Metadata
    data: dict[str, bytes] = {}
    type: str = _TYPE


class StoredState(msgspec.Struct, frozen=True):
    """What was found in the Secret."""

    kept: CertificateState | None = None
    """None: nothing, or nothing that can be used."""
    version: str = ""
    """The Secret's resourceVersion; "" if there is none."""


class SharedSecret:
    """One Secret, by namespace and name."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    async def read(self) -> StoredState:
        """Return what is in it now; raises KubeError."""
        try:
            found = await self._client.get(SECRETS, self._name, self._namespace, into=_TlsSecret)
        except NotFound:
            return StoredState()
        return StoredState(_state_of(found.data), found.metadata.resource_version)

    async def write(self, kept: CertificateState, version: str) -> None:
        """Put this in place of what was read; raises Conflict or AlreadyExists if not first."""
        metadata = Metadata(name=self._name, namespace=self._namespace, resource_version=version)
        secret = _TlsSecret(metadata, _data(kept))
        if version:
            await self._client.replace(SECRETS, secret)
        else:
            await self._client.create(SECRETS, secret)


def _data(kept: CertificateState) -> dict[str, bytes]:
    data = {
        "ca.crt": kept.bundle,
        "ca.key": kept.authority.key_pem,
        "tls.crt": kept.serving.certificate_pem,
        "tls.key": kept.serving.key_pem,
    }
    if kept.upcoming:
        data["next-ca.crt"] = kept.upcoming.certificate_pem
        data["next-ca.key"] = kept.upcoming.key_pem
    return data


def _state_of(data: dict[str, bytes]) -> CertificateState | None:
    """Return what is in the Secret; what makes no sense is as good as nothing."""
    try:
        upcoming = None
        if "next-ca.key" in data:
            upcoming = KeyPair.read(data["next-ca.crt"], data["next-ca.key"])
        authority = KeyPair.read(data["ca.crt"], data["ca.key"])
        present = {authority.certificate, *([upcoming.certificate] if upcoming else [])}
        trusted = x509.load_pem_x509_certificates(data["ca.crt"])
        return CertificateState(
            authority,
            KeyPair.read(data["tls.crt"], data["tls.key"]),
            upcoming,
            tuple(each for each in trusted if each not in present),
        )
    except (KeyError, ValueError, TypeError):
        return None


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
