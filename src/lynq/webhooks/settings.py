"""The settings of the webhooks, and the server that is created from them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from prometheus_client import CollectorRegistry

from lynq.api.installation_key import KeyState
from lynq.kube import Client
from lynq.telemetry import Address
from lynq.tls.context import CertificateFiles, ClientCA
from lynq.webhooks.authorization import authorize_secrets
from lynq.webhooks.certificates.rotation import (
    Certificates,
    FileCertificates,
    RotatedCertificates,
    WebhookService,
)
from lynq.webhooks.cluster_view import ClusterView
from lynq.webhooks.configurations import WebhookPaths
from lynq.webhooks.paths import secret_part
from lynq.webhooks.server import WebhookServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """The settings of the admission webhooks; each is a flag of `lynq run`."""

    port: int = 9443
    """Port on all interfaces; 0: any free port."""
    certificate: CertificateFiles | None = None
    """Certificate files; None: a self-signed CA, whose bundle the operator injects."""
    service: str = "lynq-webhook-service"
    """Name of the Service of the webhooks."""
    namespace: str = "default"
    """Namespace of the Service and of the Secret with the certificates."""
    secret: str = "webhook-server-cert"  # noqa: S105 - a name
    """Name of the Secret with self-signed certificates."""
    configuration_prefix: str = "lynq-"
    """Prefix of the names of the two webhook configurations."""
    client_ca: ClientCA | None = None
    """The CA of the certificate that every client must have; None: clients need none."""

    def serve(
        self,
        client: Client,
        view: ClusterView,
        registry: CollectorRegistry,
        key: Callable[[], KeyState],
    ) -> WebhookServer:
        """Return the server, to be entered with `async with`.

        The secret part of its paths is derived from `key`; no answer depends on it.

        The client must not be fenced: every replica serves the webhooks, and so needs the
        certificates and creates access reviews.
        """
        address = Address("", self.port)
        prefix = self.configuration_prefix
        service = WebhookService(self.namespace, self.service, prefix, self.secret)
        return WebhookServer(
            address,
            self._certificates(client, service),
            view,
            partial(authorize_secrets, client),
            key=key,
            paths=WebhookPaths(client, service, lambda: secret_part(key())),
            verifies_clients=self.client_ca is not None,
            registry=registry,
        )

    def _certificates(self, client: Client, service: WebhookService) -> Certificates:
        if self.certificate:
            return FileCertificates(replace(self.certificate, client_ca=self.client_ca))
        return RotatedCertificates(client, service, client_ca=self.client_ca)
