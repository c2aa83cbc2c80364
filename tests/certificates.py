"""Certificates for tests: a CA and the certificates that it issues."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_PEM = serialization.Encoding.PEM
_CA_USAGE = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, in PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path) -> Path:
        """Write both to one file."""
        path = folder / "chain.pem"
        path.write_bytes(self.certificate + self.key)
        return path


class Authority:
    """A CA whose certificates are valid for an hour; independent of the code under test."""

    def __init__(self, name: str = "test-ca") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _common_name(name)
        basic = x509.BasicConstraints(ca=True, path_length=None)
        builder = _builder(self._name, self._name, self._key.public_key(), self._key)
        builder = builder.add_extension(basic, critical=True).add_extension(
            _CA_USAGE, critical=True
        )
        certificate = builder.sign(self._key, hashes.SHA256())
        self.certificate = certificate.public_bytes(_PEM)

    def sign(self, common_name: str, *names: str) -> Pair:
        """Issue a client certificate or, with names, a server certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_common_name(common_name), self._name, key.public_key(), self._key)
        if names:
            alternatives = x509.SubjectAlternativeName([_alternative_name(name) for name in names])
            builder = builder.add_extension(alternatives, critical=False)
        return Pair(
            builder.sign(self._key, hashes.SHA256()).public_bytes(_PEM),
            key.private_bytes(
                _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative_name(name: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    issuer_key: ec.EllipticCurvePrivateKey,
) -> x509.CertificateBuilder:
    """Return a certificate with the identifiers that Python requires since 3.13."""
    now = datetime.now(UTC)
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(issuer_id, critical=False)
    )
