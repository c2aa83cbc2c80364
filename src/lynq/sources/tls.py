"""The SSL context of a connection to a database: trusted CA and client certificate."""

import ssl

from lynq.api import TlsMode
from lynq.sources.errors import InvalidSettings
from lynq.sources.settings import TLS
from lynq.tls.context import CertificateError, client_context, load_key_pair

_VERIFYING = frozenset((TlsMode.VERIFY_CA, TlsMode.VERIFY_FULL))


def tls_context(tls: TLS) -> ssl.SSLContext | None:
    """Return the context for these settings; None if nothing is encrypted."""
    if tls.mode is TlsMode.DISABLE:
        return None
    try:
        context = client_context(tls.ca or None)
    except CertificateError:
        raise InvalidSettings("not a PEM certificate", field="tls.caRef") from None
    context.check_hostname = tls.mode is TlsMode.VERIFY_FULL
    context.verify_mode = ssl.CERT_REQUIRED if tls.mode in _VERIFYING else ssl.CERT_NONE
    if bool(tls.certificate) != bool(tls.key):
        raise InvalidSettings("certificate and key belong together", field="tls.keyRef")
    if tls.certificate and tls.key:
        try:
            load_key_pair(context, tls.certificate.encode(), tls.key.encode())
        except CertificateError as error:
            raise InvalidSettings(str(error), field="tls.keyRef") from None
    return context
