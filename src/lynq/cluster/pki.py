"""Writes the keys and certificates of a local cluster."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lynq.tls.certificates import Validity, create_ca, issue_client, issue_server

_LIFETIME: Final = timedelta(days=3650)
_API_SERVER_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "127.0.0.1",
    "::1",
)


def write_pki(directory: Path) -> None:
    """Write ca.crt, key and certificate of apiserver and admin, and service-account.key.

    The key of the CA is not written: no further certificates are issued.
    """
    directory.mkdir(parents=True)
    directory.chmod(0o700)
    now = datetime.now(UTC)
    validity = Validity(now, now + _LIFETIME)
    ca = create_ca("lynq-local-cluster", validity)
    (directory / "ca.crt").write_bytes(ca.certificate_pem)
    api_server = issue_server(ca, _API_SERVER_NAMES, validity, common_name="kube-apiserver")
    # Members of system:masters pass every authorizer: the admin of a cluster on loopback.
    admin = issue_client(ca, "admin", "system:masters", validity)
    for name, pair in (("apiserver", api_server), ("admin", admin)):
        (directory / f"{name}.key").write_bytes(pair.key_pem)
        (directory / f"{name}.crt").write_bytes(pair.certificate_pem)
    (directory / "service-account.key").write_bytes(_service_account_key())


def _service_account_key() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        # The API server reads service account keys only in this format.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
