"""Stores the certificates in a Secret, and injects their CA bundle into webhook configurations.

The replicas share one Secret. A write is based on the resourceVersion that was read, so that of
several concurrent writes only the first succeeds.
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
from lynq.tls.certificates import KeyPair
from lynq.webhooks.certificates.ca import CertificateState

_TLS_TYPE: Final = "kubernetes.io/tls"
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
"""The webhook configurations by name, without the prefix."""

_log = structlog.get_logger(__name__)


class _TlsSecret(msgspec.Struct, frozen=True, rename="camel"):
    metadata: Metadata
    data: dict[str, bytes] = {}
    type: str = _TLS_TYPE


class StoredState(msgspec.Struct, frozen=True):
    """The content of the Secret."""

    state: CertificateState | None = None
    """None if there is no Secret, or its content is unusable."""
    version: str = ""
    """The resourceVersion; "" if there is no Secret."""


class SharedSecret:
    """The Secret that holds the certificates of all replicas."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    async def read(self) -> StoredState:
        """Return the current content; raises KubeError."""
        try:
            secret = await self._client.get(SECRETS, self._name, self._namespace, into=_TlsSecret)
        except NotFound:
            return StoredState()
        return StoredState(_decode(secret.data), secret.metadata.resource_version)

    async def write(self, state: CertificateState, version: str) -> None:
        """Replace the content that was read at this version, or create the Secret.

        Raises Conflict or AlreadyExists after a concurrent write, and other KubeErrors.
        """
        metadata = Metadata(name=self._name, namespace=self._namespace, resource_version=version)
        secret = _TlsSecret(metadata, _encode(state))
        if version:
            await self._client.replace(SECRETS, secret)
        else:
            await self._client.create(SECRETS, secret)


def _encode(state: CertificateState) -> dict[str, bytes]:
    data = {
        "ca.crt": state.bundle,
        "ca.key": state.ca.key_pem,
        "tls.crt": state.serving.certificate_pem,
        "tls.key": state.serving.key_pem,
    }
    if state.next_ca:
        data["next-ca.crt"] = state.next_ca.certificate_pem
        data["next-ca.key"] = state.next_ca.key_pem
    return data


def _decode(data: dict[str, bytes]) -> CertificateState | None:
    """Return the state in the Secret; None if it is incomplete or invalid."""
    try:
        next_ca = None
        if "next-ca.key" in data:
            next_ca = KeyPair.from_pem(data["next-ca.crt"], data["next-ca.key"])
        ca = KeyPair.from_pem(data["ca.crt"], data["ca.key"])
        not_retired = {ca.certificate, *([next_ca.certificate] if next_ca else [])}
        bundle = x509.load_pem_x509_certificates(data["ca.crt"])
        return CertificateState(
            ca,
            KeyPair.from_pem(data["tls.crt"], data["tls.key"]),
            next_ca,
            tuple(certificate for certificate in bundle if certificate not in not_retired),
        )
    except (KeyError, ValueError, TypeError):
        return None


class CABundleInjector:
    """Keeps the CA bundle in the webhook configurations that refer to one Service."""

    def __init__(self, client: Client, prefix: str, namespace: str, service: str) -> None:
        self._client = client
        self._prefix = prefix
        self._service = (namespace, service)

    async def inject(self, bundle: bytes) -> None:
        """Patch the configurations whose bundle differs; raises KubeError."""
        encoded = base64.b64encode(bundle).decode()
        for name, resource in CONFIGURATIONS.items():
            await self._inject_into(resource, f"{self._prefix}{name}", encoded)

    async def _inject_into(self, resource: Resource, name: str, bundle: str) -> None:
        try:
            configuration = await self._client.get(resource, name)
        except NotFound:
            # Webhooks are optional: this installation has no such configuration.
            return
        annotations = configuration.get("metadata", {}).get("annotations") or {}
        if _CERT_MANAGER in annotations:
            return
        if patch := list(self._operations(configuration, bundle)):
            await self._client.patch(resource, name, patch, kind=Patch.JSON, manager=_MANAGER)
            _log.info("caBundle written", configuration=name)

    def _operations(
        self, configuration: Mapping[str, Any], bundle: str
    ) -> Iterator[dict[str, Any]]:
        for index, webhook in enumerate(configuration.get("webhooks") or ()):
            client_config = webhook.get("clientConfig", {})
            if client_config.get("caBundle") == bundle or not self._is_ours(client_config):
                continue
            path = f"/webhooks/{index}"
            # Fails if the list changed since it was read; the next check retries.
            yield {"op": "test", "path": f"{path}/name", "value": webhook["name"]}
            yield {"op": "add", "path": f"{path}/clientConfig/caBundle", "value": bundle}

    def _is_ours(self, client_config: Mapping[str, Any]) -> bool:
        service = client_config.get("service")
        if service is None:
            # Configured by URL: the operator runs outside of the cluster.
            return True
        return (service.get("namespace"), service.get("name")) == self._service
