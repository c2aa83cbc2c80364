"""SSL contexts of clients and servers, from PEM in memory or from files that are reloaded.

OpenSSL loads a certificate chain only from a path. PEM that is in memory is passed to it as an
anonymous file (memfd): a private key is never written to disk, and a container's file system is
often read-only.
"""

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

if TYPE_CHECKING:
    from lynq.tls.certificates import KeyPair

_SELF_SIGNED_LIFETIME: Final = timedelta(days=3650)

_log = structlog.get_logger(__name__)


class CertificateError(OSError):
    """A certificate or its private key cannot be used."""


class _NamedServerContext(ssl.SSLContext):
    """A client context that verifies one server name, whatever address is connected to."""

    server_name = ""

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002 - the signature of the base class
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        name = self.server_name or server_hostname
        return super().wrap_bio(incoming, outgoing, server_side, name, session)


def client_context(ca: str | None, *, server_name: str = "") -> ssl.SSLContext:
    """Return a client context that trusts a CA in PEM; None trusts the system's CAs.

    With `server_name`, the certificate must be valid for that name also if an event loop connects
    to an address. Raises CertificateError.
    """
    context = _NamedServerContext(ssl.PROTOCOL_TLS_CLIENT)
    context.server_name = server_name
    try:
        if ca is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(cadata=ca)
    except (ssl.SSLError, ValueError):
        raise CertificateError("the CA is not a PEM certificate") from None
    # Private CAs often lack the extensions that OpenSSL's strict mode, the default since
    # Python 3.13, requires. Go's verifier and the clients of databases do not require them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def loopback_client_context() -> ssl.SSLContext:
    """Return a client context for a forwarded port of this machine: no certificate has its name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def load_key_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a PEM certificate chain and its private key into a context; raises CertificateError."""
    with _anonymous_file(certificate.rstrip() + b"\n" + key) as path:
        try:
            # Without a password, OpenSSL would prompt for one on the terminal.
            context.load_cert_chain(path, password=lambda: b"")
        except OSError:  # ssl.SSLError is an OSError
            raise CertificateError(
                "the certificate and its key are not PEM, do not match, or the key is encrypted"
            ) from None


@dataclass(frozen=True, slots=True)
class ClientCA:
    """The PEM file of the CAs whose certificates clients of a server must have."""

    path: Path

    def version(self) -> tuple[int, int]:
        """Return a value that changes when the file is replaced; raises OSError."""
        stat = self.path.stat()
        return stat.st_mtime_ns, stat.st_ino

    def demand(self, context: ssl.SSLContext) -> None:
        """Let a server context demand a certificate of these CAs; raises CertificateError."""
        try:
            context.load_verify_locations(cafile=self.path)
        except OSError as error:  # ssl.SSLError is an OSError
            reason = error.strerror or type(error).__name__
            raise CertificateError(f"client CA {self.path}: {reason}") from error
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.verify_mode = ssl.CERT_REQUIRED


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The PEM files of a server's certificate and private key."""

    certificate: Path
    key: Path
    client_ca: ClientCA | None = None
    """None: clients need no certificate."""

    def context(self) -> ssl.SSLContext:
        """Return a server context with the current content; raises CertificateError."""
        context = _empty_server_context()
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # ssl.SSLError is an OSError
            reason = error.strerror or type(error).__name__
            raise CertificateError(
                f"certificate {self.certificate} with key {self.key}: {reason}"
            ) from error
        if self.client_ca:
            self.client_ca.demand(context)
        return context

    def version(self) -> tuple[int, ...]:
        """Return a value that changes when one of the files is replaced."""
        clients = (self.client_ca.path,) if self.client_ca else ()
        stats = [path.stat() for path in (self.certificate, self.key, *clients)]
        return tuple(number for stat in stats for number in (stat.st_mtime_ns, stat.st_ino))


class _FileReloader:
    """Checks the files at every handshake: no background task, and never a stale certificate."""

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._version = files.version()
        self._context = files.context()

    def current(self) -> ssl.SSLContext:
        """Return the context of the newest usable files."""
        try:
            version = self._files.version()
            if version != self._version:
                # Assigned before the read: a change during it is found at the next handshake.
                self._version = version
                self._context = self._files.context()
                _log.info("certificate reloaded", path=str(self._files.certificate))
        except OSError as error:
            # The replacement is incomplete, or the files are gone.
            _log.warning("certificate not reloaded, keeping the previous one", error=str(error))
        return self._context


def server_context_from_files(files: CertificateFiles) -> ssl.SSLContext:
    """Return a server context that reloads the files when they change; raises CertificateError."""
    context = files.context()
    _delegate(context, _FileReloader(files).current)
    return context


def server_context_from_pair(pair: "KeyPair", client_ca: ClientCA | None = None) -> ssl.SSLContext:
    """Return a server context with a certificate that is only in memory."""
    context = _empty_server_context()
    load_key_pair(context, pair.certificate_pem, pair.key_pem)
    if client_ca:
        client_ca.demand(context)
    return context


def self_signed_server_context() -> ssl.SSLContext:
    """Return a server context with a certificate that is created for this process."""
    # Imported lazily: a process that creates no certificate saves 8 MiB of memory.
    from lynq.tls.certificates import Validity, create_self_signed  # noqa: PLC0415

    now = datetime.now(UTC)
    validity = Validity(now, now + _SELF_SIGNED_LIFETIME)
    return server_context_from_pair(create_self_signed("lynq", ("localhost",), validity))


def dynamic_server_context(
    current: Callable[[], ssl.SSLContext], client_ca: ClientCA | None = None
) -> ssl.SSLContext:
    """Return a server context that uses the context returned by `current` at each handshake."""
    context = _empty_server_context()
    if client_ca:
        # Whether a certificate is demanded is decided before the other context is selected.
        client_ca.demand(context)
    _delegate(context, current)
    return context


def _delegate(context: ssl.SSLContext, current: Callable[[], ssl.SSLContext]) -> None:
    def select(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = current()

    # Called at every handshake, also if the client sends no server name.
    context.sni_callback = select


def _empty_server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextmanager
def _anonymous_file(content: bytes) -> Iterator[str]:
    """Yield a path to content that OpenSSL can open."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("lynq-tls"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    # Outside of Linux, on the machine of a developer: a private file that lives for this call.
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
