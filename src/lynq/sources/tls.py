"""The TLS context of a connection: whom we trust, and which certificate we show."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from lynq.api import TlsMode
from lynq.sources.errors import InvalidSettings
from lynq.sources.settings import TLS

_VERIFYING = frozenset((TlsMode.VERIFY_CA, TlsMode.VERIFY_FULL))


def tls_context(tls: TLS) -> ssl.SSLContext | None:
    """Return the context for these settings; None where nothing is encrypted."""
    if tls.mode is TlsMode.DISABLE:
        return None
    context = _trusting(tls)
    if bool(tls.certificate) != bool(tls.key):
        raise InvalidSettings("certificate and key belong together", field="tls.keyRef")
    if tls.certificate and tls.key:
        _show(context, tls.certificate, tls.key)
    return context


def _trusting(tls: TLS) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=tls.ca or None)
    except (ssl.SSLError, ValueError):
        raise InvalidSettings("this is no PEM certificate", field="tls.caRef") from None
    # Private authorities are often made without the extensions that OpenSSL's strict mode, on by
    # default from Python 3.13, asks for; the servers' own clients do not ask for them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = tls.mode is TlsMode.VERIFY_FULL
    context.verify_mode = ssl.CERT_REQUIRED if tls.mode in _VERIFYING else ssl.CERT_NONE
    return context


def _show(context: ssl.SSLContext, certificate: str, key: str) -> None:
    with _file_in_memory(f"{certificate.rstrip()}\n{key}".encode()) as path:
        try:
            # An encrypted key would otherwise ask for its password on the terminal.
            context.load_cert_chain(path, password=lambda: b"")
        except ssl.SSLError:
            raise InvalidSettings(
                "certificate and key are no PEM, do not belong together, or the key is encrypted",
                field="tls.keyRef",
            ) from None


@contextmanager
def _file_in_memory(content: bytes) -> Iterator[str]:
    """Yield the path of a file that is on no disk: OpenSSL reads chains only from files."""
    descriptor = os.memfd_create("lynq-tls")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
