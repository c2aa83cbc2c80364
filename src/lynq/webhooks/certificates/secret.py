"""The Secret that replicas share their certificates by: read, and written only by who is first."""

from typing import Final

import msgspec
from cryptography import x509

from lynq.api import Metadata
from lynq.kube import Client
from lynq.kube.errors import NotFound
from lynq.kube.resource import SECRETS
from lynq.webhooks.certificates.ca import KeyPair
from lynq.webhooks.certificates.keeping import CertificateState

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
