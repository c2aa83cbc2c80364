"""The settings of the webhooks, and the server that is created from them."""

from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry

from lynq.kube import Client
from lynq.telemetry import Address
from lynq.tls.context import CertificateFiles
from lynq.webhooks.authorization import authorize_secrets
from lynq.webhooks.certificates.rotation import (
    Certificates,
    FileCertificates,
    RotatedCertificates,
    WebhookService,
)
from lynq.webhooks.cluster_view import ClusterView
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

    def serve(
        self, client: Client, view: ClusterView, registry: CollectorRegistry
    ) -> WebhookServer:
        """Return the server, to be entered with `async with`.

        The client must not be fenced: every replica serves the webhooks, and so needs the
        certificates and creates access reviews.
        """
        address = Address("", self.port)
        return WebhookServer(
            address,
            self._certificates(client),
            view,
            partial(authorize_secrets, client),
            registry=registry,
        )

    def _certificates(self, client: Client) -> Certificates:
        if self.certificate:
            return FileCertificates(self.certificate)
        prefix = self.configuration_prefix
        return RotatedCertificates(
            client, WebhookService(self.namespace, self.service, prefix, self.secret)
        )
