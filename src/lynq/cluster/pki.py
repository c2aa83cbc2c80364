"""Makes the keys and certificates of a local cluster."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=3650)
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, slots=True)
class CertificateAuthority:
    """A certificate authority in memory; its key is written nowhere."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls) -> "CertificateAuthority":
        """Make a new self-signed authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = name_of("lynq-local-cluster")
        builder = _builder(name, name, key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        return cls(key, builder.sign(key, hashes.SHA256()))

    def sign(self, subject: x509.Name, usage: x509.ObjectIdentifier) -> "CertifiedKey":
        """Return a key and a certificate for a server on loopback or for a client."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self.certificate.subject, key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if usage == ExtendedKeyUsageOID.SERVER_AUTH:
            builder = builder.add_extension(_loopback_names(), critical=False)
        return CertifiedKey(_private_pem(key), _pem(builder.sign(self.key, hashes.SHA256())))


@dataclass(frozen=True, slots=True)
class CertifiedKey:
    """A private key and its certificate, in PEM."""

    key: bytes
    certificate: bytes


def write_pki(directory: Path) -> None:
    """Write all files of a cluster's PKI: ca, apiserver, admin, service-account."""
    directory.mkdir(parents=True)
    directory.chmod(0o700)
    authority = CertificateAuthority.make()
    (directory / "ca.crt").write_bytes(_pem(authority.certificate))
    apiserver = authority.sign(name_of("kube-apiserver"), ExtendedKeyUsageOID.SERVER_AUTH)
    # Members of system:masters pass every authorizer: the admin of a cluster on loopback.
    admin = authority.sign(name_of("admin", "system:masters"), ExtendedKeyUsageOID.CLIENT_AUTH)
    for name, pair in (("apiserver", apiserver), ("admin", admin)):
        (directory / f"{name}.key").write_bytes(pair.key)
        (directory / f"{name}.crt").write_bytes(pair.certificate)
    account = ec.generate_private_key(ec.SECP256R1())
    (directory / "service-account.key").write_bytes(_private_pem(account))


def name_of(common: str, organization: str | None = None) -> x509.Name:
    """Return a subject: a user, and the group it is in."""
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    # An hour back: the clock may have been set since.
    builder = builder.not_valid_before(now - dt.timedelta(hours=1))
    return builder.not_valid_after(now + LIFETIME)


def _loopback_names() -> x509.SubjectAlternativeName:
    addresses = (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"))
    return x509.SubjectAlternativeName(
        [
            *(x509.DNSName(name) for name in SERVER_NAMES),
            *(x509.IPAddress(address) for address in addresses),
        ]
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        # The API server reads service account keys in the traditional form only.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
