"""Keys and certificates: an authority of our own, and what it signs. Time is an argument.

What is kept of certificates, and what has to become of it at a given time. Pure.

An authority signs for years, and must never be replaced in one step: the API server would refuse
what it does not trust yet. So a successor is made first and only trusted; it signs once the overlap
has passed, and the old one stays trusted until its end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_BACK: Final = timedelta(hours=1)
"""How far back certificates are valid: the client's clock may be behind ours."""
_PEM: Final = serialization.Encoding.PEM


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def read(cls, certificate: bytes, key: bytes) -> "KeyPair":
        """Read both from PEM; raises ValueError if they are none, or no pair."""
        read = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, password=None)
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise ValueError("not one of our keys")  # noqa: TRY004 - a value from outside
        if private.public_key() != read.public_key():
            raise ValueError("the key belongs to another certificate")
        return cls(read, private)

    @property
    def made(self) -> datetime:
        """When it was made."""
        return self.certificate.not_valid_before_utc + _BACK

    @property
    def end(self) -> datetime:
        """When it stops being valid."""
        return self.certificate.not_valid_after_utc

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as text."""
        return self.certificate.public_bytes(_PEM)

    @property
    def key_pem(self) -> bytes:
        """The key as text."""
        form, encryption = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return self.key.private_bytes(_PEM, form, encryption)


def make_ca(now: datetime, end: datetime) -> KeyPair:
    """Return a new authority, trusted by nobody yet."""
    key = ec.generate_private_key(ec.SECP256R1())
    # Each has a name of its own: of two authorities in one bundle, a client picks by name.
    serial = x509.random_serial_number()
    name = _named(f"lynq-webhooks-{serial:x}"[:40])
    builder = _builder(name, name, key, now, end).serial_number(serial)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return KeyPair(builder.add_extension(_SIGNS, critical=True).sign(key, hashes.SHA256()), key)


def sign(authority: KeyPair, names: Iterable[str], now: datetime, end: datetime) -> KeyPair:
    """Return a certificate for a server with these names, the first of which is its own."""
    known = list(names)
    key = ec.generate_private_key(ec.SECP256R1())
    # The common name has room for 64 characters, and nobody reads it.
    builder = _builder(_named(known[0][:64]), authority.certificate.subject, key, now, end)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.add_extension(
        x509.SubjectAlternativeName([_alternative(each) for each in known]), critical=False
    )
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    builder = builder.add_extension(usage, critical=False)
    return KeyPair(builder.sign(authority.key, hashes.SHA256()), key)


def names_in(certificate: x509.Certificate) -> set[str]:
    """Return the names and addresses that a server's certificate is for."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return set()
    return {str(each.value) for each in found.value}


def has_signed(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    """Return whether a certificate was signed by this authority."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    end: datetime,
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
    builder = builder.public_key(key.public_key())
    return builder.not_valid_before(now - _BACK).not_valid_after(end)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


_SIGNS: Final = x509.KeyUsage(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """How long things are valid."""

    authority: timedelta = timedelta(days=3650)
    serving: timedelta = timedelta(days=90)
    """Renewed after two thirds of it."""
    overlap: timedelta = timedelta(days=1)
    """How long a new authority is trusted before it signs."""


@dataclass(frozen=True, slots=True)
class CertificateState:
    """All that replicas share."""

    authority: KeyPair
    """The one that signs."""
    serving: KeyPair
    """What the server shows."""
    upcoming: KeyPair | None = None
    """The authority that will sign next."""
    retired: tuple[x509.Certificate, ...] = ()
    """Authorities that have signed before."""

    @property
    def bundle(self) -> bytes:
        """All authorities to trust, the one that signs first."""
        upcoming = (self.upcoming.certificate,) if self.upcoming else ()
        trusted = (self.authority.certificate, *upcoming, *self.retired)
        return b"".join(each.public_bytes(Encoding.PEM) for each in trusted)

    @property
    def chain(self) -> bytes:
        """What the server needs: its certificate and key."""
        return self.serving.certificate_pem + self.serving.key_pem


def renew(
    kept: CertificateState | None, names: Iterable[str], lifetimes: Lifetimes, now: datetime
) -> CertificateState:
    """Return what should be kept from now on; the same object if nothing is due."""
    wanted = tuple(names)
    if kept is None or kept.authority.end <= now:
        return _made_anew(wanted, lifetimes, now)
    kept = _with_successor(kept, lifetimes, now)
    kept = _succeeded(kept, lifetimes, now)
    kept = _signed(kept, wanted, lifetimes, now)
    return _without_expired(kept, now)


def _made_anew(names: tuple[str, ...], lifetimes: Lifetimes, now: datetime) -> CertificateState:
    authority = make_ca(now, now + lifetimes.authority)
    return CertificateState(authority, _sign(authority, names, lifetimes, now))


def _with_successor(
    kept: CertificateState, lifetimes: Lifetimes, now: datetime
) -> CertificateState:
    """Make a successor while a whole life of a certificate, and the overlap, are still ahead."""
    if kept.upcoming or kept.authority.end - now > lifetimes.serving + lifetimes.overlap:
        return kept
    return replace(kept, upcoming=make_ca(now, now + lifetimes.authority))


def _succeeded(kept: CertificateState, lifetimes: Lifetimes, now: datetime) -> CertificateState:
    if kept.upcoming is None or now < kept.upcoming.made + lifetimes.overlap:
        return kept
    retired = (kept.authority.certificate, *kept.retired)
    return CertificateState(kept.upcoming, kept.serving, retired=retired)


def _signed(
    kept: CertificateState, names: tuple[str, ...], lifetimes: Lifetimes, now: datetime
) -> CertificateState:
    serving = kept.serving
    due = serving.made + (serving.end - serving.made) * 2 / 3
    if (
        now < due
        and names_in(serving.certificate) == set(names)
        and has_signed(kept.authority.certificate, serving.certificate)
    ):
        return kept
    return replace(kept, serving=_sign(kept.authority, names, lifetimes, now))


def _sign(
    authority: KeyPair, names: tuple[str, ...], lifetimes: Lifetimes, now: datetime
) -> KeyPair:
    return sign(authority, names, now, min(now + lifetimes.serving, authority.end))


def _without_expired(kept: CertificateState, now: datetime) -> CertificateState:
    valid = tuple(each for each in kept.retired if each.not_valid_after_utc > now)
    return kept if valid == kept.retired else replace(kept, retired=valid)
