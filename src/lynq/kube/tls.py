"""The TLS context of a cluster: whom we trust and which certificate we show."""

import ssl
import tempfile
from pathlib import Path

from lynq.kube.config import ClusterConfig
from lynq.kube.credentials import ClientCertificate
from lynq.kube.errors import ConfigError


def tls_context(
    config: ClusterConfig, certificate: ClientCertificate | None = None
) -> ssl.SSLContext:
    """Return the context for connections that show this certificate."""
    context = _trust(config)
    if certificate is not None:
        _show(context, certificate, config)
    return context


def _trust(config: ClusterConfig) -> ssl.SSLContext:
    authority = config.certificate_authority
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    except (ssl.SSLError, ValueError):
        raise ConfigError(
            f"{config.source}: the certificate authority is not a PEM certificate"
        ) from None
    # Cluster authorities are often made without the extensions that OpenSSL's strict mode, on by
    # default from Python 3.13, asks for. Go's verifier, which they were made for, does not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _show(context: ssl.SSLContext, shown: ClientCertificate, config: ClusterConfig) -> None:
    # OpenSSL reads a chain only from a file: ours lives, readable by us alone, for this call.
    with tempfile.TemporaryDirectory(prefix="lynq-") as folder:
        chain = Path(folder, "chain.pem")
        chain.touch(mode=0o600)
        chain.write_bytes(shown.certificate.rstrip() + b"\n" + shown.key)
        try:
            # An encrypted key would otherwise ask for its password on the terminal.
            context.load_cert_chain(chain, password=lambda: b"")
        except ssl.SSLError:
            raise ConfigError(
                f"{config.source}: the client certificate and its key are not PEM, do not belong"
                " together, or the key is encrypted"
            ) from None
