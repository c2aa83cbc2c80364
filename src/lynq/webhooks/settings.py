"""What the webhooks are told by flags, and how they are made from it."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from lynq.kube import Client
from lynq.telemetry import Address
from lynq.tls.context import CertificateFiles
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
    """The admission webhooks of one process."""

    port: int = 9443
    """On every interface; 0: any that is free."""
    certificate: CertificateFiles | None = None
    """None: we make one, and have the API server trust it."""
    service: str = "lynq-webhook-service"
    """The Service that leads here."""
    namespace: str = "default"
    """Of the Service, and of the Secret with the certificates."""
    secret: str = "webhook-server-cert"  # noqa: S105 - a name
    """Where certificates that we make are kept."""
    configuration_prefix: str = "lynq-"
    """What the names of the two webhook configurations begin with."""

    def serve(
        self, client: Client, view: ClusterView, registry: CollectorRegistry
    ) -> WebhookServer:
        """Return the server, to be entered with `async with`.

        The client is one without a fence: every replica is asked, so every replica needs the
        certificates.
        """
        address = Address("", self.port)
        return WebhookServer(address, self._certificates(client), view, registry=registry)

    def _certificates(self, client: Client) -> Certificates:
        if self.certificate:
            return FileCertificates(self.certificate)
        prefix = self.configuration_prefix
        return RotatedCertificates(
            client, WebhookService(self.namespace, self.service, prefix, self.secret)
        )
