"""Provides the certificate of the webhook server: rotated by the operator itself, or from files.

Every replica decides once a minute whether to check: a renewal is due, or the Secret or a webhook
configuration has changed. All three are watched by name, so that an idle replica sends no request;
without the right to watch them, every minute has a check. A replica that renews writes the result
to the Secret; the first write wins, and the other replicas use its content. One check proceeds in
the order Secret, caBundle, server: no replica serves a certificate that is not trusted yet.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from lynq.kube import Backoff, Client, Informer, PartialObject, Resource
from lynq.kube.errors import AlreadyExists, Conflict, KubeError
from lynq.kube.resource import SECRETS
from lynq.tls.context import (
    CertificateFiles,
    ClientCA,
    dynamic_server_context,
    server_context_from_files,
    server_context_from_pair,
)
from lynq.webhooks.certificates.ca import CertificateState, Lifetimes, renew
from lynq.webhooks.certificates.secret import CONFIGURATIONS, CABundleInjector, SharedSecret

CHECK_INTERVAL: Final = 60.0
"""Seconds between two checks, if there is a reason for one."""
_WATCH_RETRY: Final = Backoff(base=0.4, cap=300.0, jitter=1.0)
"""Delay between two attempts to watch an object."""
_FIRST_CERTIFICATE_RETRY: Final = 2.0
"""Seconds to the next check while there is no certificate."""
_ATTEMPTS: Final = 5
"""Attempts of one check to write the Secret against concurrent writes."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

_log = structlog.get_logger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Certificates(Protocol):
    """Provides the certificate of a server and keeps it valid."""

    @property
    def problem(self) -> str:
        """Why there is no certificate yet; "" if there is one."""

    async def run(self) -> None:
        """Keep the certificate valid, until cancelled."""

    async def context(self) -> ssl.SSLContext:
        """Wait for the first certificate; the context always uses the latest one."""


@dataclass(frozen=True, slots=True)
class WebhookService:
    """The Service of the webhooks, and the objects that refer to it."""

    namespace: str
    service: str
    prefix: str
    """The prefix of the names of the webhook configurations."""
    secret: str = "webhook-server-cert"  # noqa: S105 - a name
    """The Secret with the certificates; cert-manager's default has the same name."""

    @property
    def reference(self) -> tuple[str, str]:
        """Namespace and name, as a clientConfig refers to the Service."""
        return self.namespace, self.service

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the certificate is issued for; the API server verifies the first."""
        host = f"{self.service}.{self.namespace}"
        return (f"{host}.svc", f"{host}.svc.cluster.local", host, self.service, *_LOOPBACK)


class RotatedCertificates:
    """Creates, shares and renews certificates of its own CA."""

    def __init__(
        self,
        client: Client,
        service: WebhookService,
        *,
        client_ca: ClientCA | None = None,
        lifetimes: Lifetimes | None = None,
        check_interval: float = CHECK_INTERVAL,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._secret = SharedSecret(client, service.namespace, service.secret)
        self._injector = CABundleInjector(
            client, service.prefix, service.namespace, service.service
        )
        self._client_ca = client_ca
        self._names = service.names
        self._lifetimes = lifetimes or Lifetimes()
        self._check_interval = check_interval
        self._clock = clock
        self._watches = [
            _watch(client, SECRETS, service.secret, service.namespace),
            *(
                _watch(client, resource, f"{service.prefix}{name}")
                for name, resource in CONFIGURATIONS.items()
            ),
        ]
        self._must_check = True
        self._state: CertificateState | None = None
        self._context: ssl.SSLContext | None = None
        self._client_ca_version: tuple[int, int] | None = None
        self._has_certificate = asyncio.Event()
        self._logged_error = ""
        self.problem = "there is no certificate yet"

    async def context(self) -> ssl.SSLContext:
        """Wait for the first certificate; the context always uses the latest one."""
        await self._has_certificate.wait()
        return dynamic_server_context(self._current_context, self._client_ca)

    async def run(self) -> None:
        """Check when there is a reason, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for watch in self._watches:
                watch.on_change(lambda _: self._request_check())
                group.create_task(watch.run())
            while True:
                if self._is_check_due():
                    await self._try_check()
                has_certificate = self._state is not None
                await asyncio.sleep(
                    self._check_interval if has_certificate else _FIRST_CERTIFICATE_RETRY
                )

    def _request_check(self) -> None:
        # The next check waits for its time: another tool may write the same bundle again and again.
        self._must_check = True

    def _is_check_due(self) -> bool:
        if self._must_check or self._state is None:
            return True
        if not all(watch.is_current for watch in self._watches):
            return True
        return renew(self._state, self._names, self._lifetimes, self._clock()) is not self._state

    async def _try_check(self) -> None:
        self._must_check = False
        try:
            await self.check()
        except KubeError as error:
            self._must_check = True
            self._report(str(error))
        else:
            self._logged_error = ""

    async def check(self) -> None:
        """Renew what is due, and use the certificate that all replicas share; raises KubeError."""
        state = await self._shared_state()
        # Without the bundle in the configurations the server still starts: the bundle may be
        # managed by another tool.
        try:
            await self._injector.inject(state.bundle)
        finally:
            self._use(state)

    async def _shared_state(self) -> CertificateState:
        for _ in range(_ATTEMPTS):
            stored = await self._secret.read()
            # A deleted Secret is re-created from memory: those certificates are already trusted.
            state = renew(stored.state or self._state, self._names, self._lifetimes, self._clock())
            if state is stored.state:
                return state
            try:
                await self._secret.write(state, stored.version)
            except (Conflict, AlreadyExists):
                continue
            _log.info("certificates written", until=state.serving.expires_at.isoformat())
            return state
        raise RotationConflictError(
            "the Secret with the certificates changed during every attempt to write it; retrying"
        )

    def _use(self, state: CertificateState) -> None:
        if self._state is None or state.serving.certificate != self._state.serving.certificate:
            self._context = self._new_context(state)
        self._state = state
        self.problem = ""
        self._has_certificate.set()

    def _new_context(self, state: CertificateState) -> ssl.SSLContext:
        if self._client_ca:
            self._client_ca_version = self._client_ca.version()
        return server_context_from_pair(state.serving, self._client_ca)

    def _current_context(self) -> ssl.SSLContext:
        if self._context is None or self._state is None:
            raise RuntimeError("the first certificate must be awaited")
        try:
            if self._client_ca and self._client_ca.version() != self._client_ca_version:
                self._context = self._new_context(self._state)
        except OSError as error:
            # The replacement is incomplete, or the file is gone.
            _log.warning("client CA not reloaded, keeping the previous one", error=str(error))
        return self._context

    def _report(self, error: str) -> None:
        if error != self._logged_error:
            # Logged once: a missing permission would repeat the line at every check.
            _log.warning("certificates not renewed", error=error)
            self._logged_error = error
        if self._state is None:
            self.problem = f"there is no certificate yet: {error}"


def _watch(
    client: Client, resource: Resource, name: str, namespace: str | None = None
) -> Informer[PartialObject, str]:
    """Return the watch of one object; nothing but its version is kept."""
    return Informer(
        client,
        resource,
        into=PartialObject,
        project=lambda obj: obj.metadata.resource_version,
        namespace=namespace,
        fields=f"metadata.name={name}",
        backoff=_WATCH_RETRY,
    )


class RotationConflictError(KubeError):
    """Concurrent writes of other replicas to the Secret won every time."""


@dataclass(frozen=True, slots=True)
class FileCertificates:
    """A certificate in two files; its CA is managed outside of the operator."""

    files: CertificateFiles
    problem: str = ""

    async def run(self) -> None:
        """Do nothing: the files are checked at every handshake."""

    async def context(self) -> ssl.SSLContext:
        """Return a context that reloads the files; raises CertificateError."""
        return server_context_from_files(self.files)
