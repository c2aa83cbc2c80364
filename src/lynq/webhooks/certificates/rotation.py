"""Certificates that we make ourselves, so that nobody has to install anything for them.

Every replica looks once a minute: whoever finds something due makes it, the first to write it into
the Secret wins, and all others take what is there. In one look the order is Secret, caBundle,
server, so that nobody shows what is not trusted yet.

A certificate that somebody else keeps: files that are read again when they change.

What the webhook server asks of its certificates.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from lynq.kube import Client
from lynq.kube.errors import AlreadyExists, Conflict, KubeError
from lynq.telemetry import CertificateFiles
from lynq.telemetry.certificates import changing_context, pem_context, server_context
from lynq.webhooks.certificates.ca import CertificateState, Lifetimes, renew
from lynq.webhooks.certificates.secret import CABundleInjector, SharedSecret

CHECK_INTERVAL: Final = 60.0
"""Seconds between two looks."""
_RETRY: Final = 2.0
"""Seconds to the next look while there is no certificate at all."""
_TRIES: Final = 5
"""How often a look begins again because another replica was faster."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

_log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class WebhookService:
    """Where the webhooks are reached, and what leads there."""

    namespace: str
    service: str
    prefix: str
    """What the names of the webhook configurations begin with."""
    secret: str = "webhook-server-cert"  # noqa: S105 - a name
    """The Secret with the certificates; cert-manager calls it the same."""

    @property
    def names(self) -> tuple[str, ...]:
        """What a certificate has to be for; the API server asks for the first."""
        host = f"{self.service}.{self.namespace}"
        return (f"{host}.svc", f"{host}.svc.cluster.local", host, self.service, *_LOOPBACK)


class RotatedCertificates:
    """Makes, shares, renews and shows certificates."""

    def __init__(
        self,
        client: Client,
        place: WebhookService,
        *,
        lifetimes: Lifetimes | None = None,
        look_every: float = CHECK_INTERVAL,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._secret = SharedSecret(client, place.namespace, place.secret)
        self._injector = CABundleInjector(client, place.prefix, place.namespace, place.service)
        self._names = place.names
        self._lifetimes = lifetimes or Lifetimes()
        self._look_every = look_every
        self._now = now
        self._kept: CertificateState | None = None
        self._shown: ssl.SSLContext | None = None
        self._has_one = asyncio.Event()
        self._told = ""
        self.problem = "there is no certificate yet"

    async def context(self) -> ssl.SSLContext:
        """Wait for the first certificate; the context follows all later ones."""
        await self._has_one.wait()
        return changing_context(self._current)

    async def run(self) -> None:
        """Look again and again."""
        while True:
            try:
                await self.look()
            except KubeError as error:
                self._tell(str(error))
            else:
                self._told = ""
            await asyncio.sleep(self._look_every if self._kept else _RETRY)

    async def look(self) -> None:
        """Do what is due; raises KubeError."""
        kept = await self._agreed()
        # A server without the right bundle in the configurations is still better than none: it
        # may be that somebody else writes them.
        try:
            await self._injector.inject(kept.bundle)
        finally:
            self._show(kept)

    async def _agreed(self) -> CertificateState:
        """Return what all replicas keep; raises KubeError."""
        for _ in range(_TRIES):
            stored = await self._secret.read()
            # A Secret that was lost is made anew from what we remember: still trusted, still shown.
            present = stored.kept or self._kept
            kept = renew(present, self._names, self._lifetimes, self._now())
            if kept is stored.kept:
                return kept
            try:
                await self._secret.write(kept, stored.version)
            except (Conflict, AlreadyExists):
                continue
            _log.info("certificates written", until=kept.serving.end.isoformat())
            return kept
        raise RotationConflictError("the Secret with the certificates changes all the time")

    def _show(self, kept: CertificateState) -> None:
        if self._kept is None or kept.chain != self._kept.chain:
            self._shown = pem_context(kept.chain)
        self._kept = kept
        self.problem = ""
        self._has_one.set()

    def _current(self) -> ssl.SSLContext:
        if self._shown is None:
            raise RuntimeError("asked for before there is one")
        return self._shown

    def _tell(self, problem: str) -> None:
        if problem != self._told:
            # Once: a right that is missing stays missing for as long as nobody reads this.
            _log.warning("certificates not looked after", error=problem)
            self._told = problem
        if self._kept is None:
            self.problem = f"there is no certificate yet: {problem}"


class RotationConflictError(KubeError):
    """Replicas could not agree on what is in the Secret."""


@dataclass(frozen=True, slots=True)
class FileCertificates:
    """The certificate in two files; whose authority is trusted is for others to say."""

    files: CertificateFiles
    problem: str = ""

    async def run(self) -> None:
        """Do nothing: files are looked at with every handshake."""

    async def context(self) -> ssl.SSLContext:
        """Return what shows the files; raises CertificateError if they cannot be used."""
        return server_context(self.files)


class Certificates(Protocol):
    """Has a certificate, sooner or later, and keeps it fresh."""

    @property
    def problem(self) -> str:
        """Why there is none yet; "" if there is."""

    async def run(self) -> None:
        """Do what it takes, until cancelled."""

    async def context(self) -> ssl.SSLContext:
        """Wait for the first certificate; the context follows all later ones."""
