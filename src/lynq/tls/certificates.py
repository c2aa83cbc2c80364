"""Creates X.509 certificates: a CA, the certificates that it issues, and self-signed ones.

All keys are P-256. Time is an argument. Keys stay in memory unless the caller writes them. The
extensions are those that RFC 5280 requires: OpenSSL's strict mode, the default of Python since
3.13, refuses a chain without key identifiers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_BACKDATE: Final = timedelta(hours=1)
"""Certificates are valid from an hour ago: the peer's clock may be behind."""
_COMMON_NAME_LENGTH: Final = 64
_PEM: Final = serialization.Encoding.PEM


def _usage(*, is_ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_ca,
        crl_sign=is_ca,
        encipher_only=False,
        decipher_only=False,
    )


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def from_pem(cls, certificate: bytes, key: bytes) -> "KeyPair":
        """Parse both; raises ValueError if one is invalid or they do not match."""
        parsed = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, password=None)
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise ValueError("not an elliptic curve key")  # noqa: TRY004 - a value from outside
        if private.public_key() != parsed.public_key():
            raise ValueError("the key does not match the certificate")
        return cls(parsed, private)

    @property
    def issued_at(self) -> datetime:
        """When the certificate was created."""
        return self.certificate.not_valid_before_utc + _BACKDATE

    @property
    def expires_at(self) -> datetime:
        """When the certificate stops being valid."""
        return self.certificate.not_valid_after_utc

    @property
    def certificate_pem(self) -> bytes:
        """The certificate in PEM."""
        return self.certificate.public_bytes(_PEM)

    @property
    def key_pem(self) -> bytes:
        """The private key in PEM (PKCS #8)."""
        return self.key.private_bytes(
            _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


@dataclass(frozen=True, slots=True)
class Validity:
    """The time in which a certificate is valid."""

    start: datetime
    end: datetime


def create_ca(common_name: str, validity: Validity) -> KeyPair:
    """Create a CA that issues leaf certificates only."""
    key = _generate_key()
    name = _name(common_name)
    builder = _builder(name, name, key, validity)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _signed(builder, _usage(is_ca=True), key, key)


def create_self_signed(common_name: str, names: Sequence[str], validity: Validity) -> KeyPair:
    """Create a self-signed server certificate for DNS names and IP addresses."""
    key = _generate_key()
    name = _name(common_name)
    builder = _builder(name, name, key, validity)
    builder = builder.add_extension(_alternative_names(names), critical=False)
    return _signed(builder, _usage(is_ca=False), key, key)


def issue_server(
    ca: KeyPair, names: Sequence[str], validity: Validity, *, common_name: str = ""
) -> KeyPair:
    """Issue a server certificate for DNS names and IP addresses.

    The common name defaults to the first of the names.
    """
    key = _generate_key()
    subject = _name((common_name or names[0])[:_COMMON_NAME_LENGTH])
    builder = _builder(subject, ca.certificate.subject, key, validity)
    builder = builder.add_extension(_alternative_names(names), critical=False)
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    builder = builder.add_extension(usage, critical=False)
    return _signed(builder, _usage(is_ca=False), key, ca.key)


def issue_client(ca: KeyPair, user: str, group: str, validity: Validity) -> KeyPair:
    """Issue a client certificate; Kubernetes reads user and group from its subject."""
    key = _generate_key()
    builder = _builder(_name(user, group), ca.certificate.subject, key, validity)
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = builder.add_extension(usage, critical=False)
    return _signed(builder, _usage(is_ca=False), key, ca.key)


def server_names(certificate: x509.Certificate) -> set[str]:
    """Return the DNS names and IP addresses that a certificate is issued for."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return set()
    return {str(name.value) for name in extension.value}


def is_issued_by(ca: x509.Certificate, certificate: x509.Certificate) -> bool:
    """Return whether the CA signed the certificate."""
    try:
        certificate.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _generate_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    validity: Validity,
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    return builder.not_valid_before(validity.start - _BACKDATE).not_valid_after(validity.end)


def _signed(
    builder: x509.CertificateBuilder,
    usage: x509.KeyUsage,
    key: ec.EllipticCurvePrivateKey,
    issuer: ec.EllipticCurvePrivateKey,
) -> KeyPair:
    """Sign a certificate for `key` by the key of its issuer, with the identifiers of both."""
    subject_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())
    builder = builder.add_extension(usage, critical=True)
    builder = builder.add_extension(subject_id, critical=False)
    builder = builder.add_extension(issuer_id, critical=False)
    return KeyPair(builder.sign(issuer, hashes.SHA256()), key)


def _name(common_name: str, organization: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _alternative_names(names: Sequence[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_alternative_name(name) for name in names])


def _alternative_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
