"""The certificate of a server: out of files that may change under way, or made for this process."""

import datetime as dt
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LIFETIME: Final = dt.timedelta(days=3650)
_PEM: Final = serialization.Encoding.PEM

_log = structlog.get_logger(__name__)


class CertificateError(OSError):
    """A certificate or its key cannot be used."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """A server's certificate and key, in PEM; read again when they change."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return a context that shows this certificate; raises CertificateError."""
        context = _context()
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # ssl.SSLError is one
            why = error.strerror or type(error).__name__
            raise CertificateError(
                f"certificate {self.certificate} with key {self.key}: {why}"
            ) from error
        return context

    def version(self) -> tuple[int, ...]:
        """Return something that differs once one of the files was replaced."""
        stats = [path.stat() for path in (self.certificate, self.key)]
        return tuple(number for each in stats for number in (each.st_mtime_ns, each.st_ino))


class _Renewing:
    """Looks at every handshake whether the files were replaced: no task, and never too late."""

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._version = files.version()
        self._current = files.context()

    def hook(self, connection: ssl.SSLObject, _name: str | None, _front: ssl.SSLContext) -> None:
        """Show the newest certificate to the client that is about to be answered."""
        try:
            version = self._files.version()
            if version != self._version:
                # Taken before reading: what changes meanwhile is read at the next handshake.
                self._version = version
                self._current = self._files.context()
                _log.info("certificate read again", path=str(self._files.certificate))
        except OSError as error:
            # Half a replacement, or none left: the old one is better than no answer.
            _log.warning("certificate not read again, the old one stays", error=str(error))
        connection.context = self._current


def server_context(files: CertificateFiles | None) -> ssl.SSLContext:
    """Return the context of a server with these files, or with a certificate signed by itself.

    Raises CertificateError.
    """
    if files is None:
        return pem_context(_made())
    context = files.context()
    context.sni_callback = _Renewing(files).hook
    return context


def changing_context(current: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """Return the context of a server that shows each client what `current` returns then."""

    def show(connection: ssl.SSLObject, _name: str | None, _front: ssl.SSLContext) -> None:
        connection.context = current()

    context = _context()
    context.sni_callback = show
    return context


def pem_context(chain: bytes) -> ssl.SSLContext:
    """Return a context that shows a certificate which, with its key, is in memory only.

    Raises CertificateError.
    """
    context = _context()
    try:
        with _readable(chain) as path:
            context.load_cert_chain(path)
    except OSError as error:  # ssl.SSLError is one
        raise CertificateError(f"certificate: {type(error).__name__}") from error
    return context


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _made() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lynq")])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    # An hour back: the client's clock may be behind ours.
    builder = builder.not_valid_before(now - dt.timedelta(hours=1)).not_valid_after(now + _LIFETIME)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    private = key.private_bytes(
        _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(_PEM) + private


@contextmanager
def _readable(content: bytes) -> Iterator[str]:
    """Yield a path for OpenSSL, which reads keys from files only."""
    if hasattr(os, "memfd_create"):
        # In memory: a container's file system is often read-only, and a key belongs on no disk.
        with os.fdopen(os.memfd_create("certificate"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
