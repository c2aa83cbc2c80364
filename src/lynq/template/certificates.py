"""Issues X.509 certificates, with what sprig puts into them and what Go's x509 adds."""

import datetime as dt
import hashlib
import secrets
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lynq.template.certificate_requests import Request
from lynq.template.errors import FunctionError
from lynq.template.gofmt.quoting import quote
from lynq.template.values import wrap_int64

PrivateKey: TypeAlias = (
    rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | dsa.DSAPrivateKey | ed25519.Ed25519PrivateKey
)
Signer: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DAY_NANOS: Final = 24 * 3600 * 1_000_000_000
_SECOND_NANOS: Final = 1_000_000_000
_SERIAL_BITS: Final = 128
_IDENTIFIER_BYTES: Final = 20
_USAGES: Final = x509.ExtendedKeyUsage(
    [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
)


def issue(
    request: Request,
    key: PrivateKey,
    signer: PrivateKey,
    parent: x509.Certificate | None,
    now: int,
) -> str:
    """Issue a certificate in PEM, signed by a parent's key; without a parent it signs itself."""
    if isinstance(signer, dsa.DSAPrivateKey):
        raise _failure("x509: certificate private key does not implement crypto.Signer")
    if isinstance(key, dsa.DSAPrivateKey):
        raise _failure("x509: unsupported public key type: *dsa.PublicKey")
    subject = _subject(request.name)
    if parent is not None and parent.public_key() != signer.public_key():
        raise _failure("x509: provided PrivateKey doesn't match parent's PublicKey")
    start, end = _validity(request.days, now)
    # The constructor accepts what Go accepts; the builder's methods reject an end before the start.
    builder = x509.CertificateBuilder(
        issuer_name=parent.subject if parent is not None else subject,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=secrets.randbits(_SERIAL_BITS) or 1,
        not_valid_before=start,
        not_valid_after=end,
        extensions=_extensions(request, key, subject, parent),
    )
    try:
        certificate = builder.sign(signer, _digest(signer))
    except ValueError as problem:
        raise _failure(f"x509: {problem}") from None
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _failure(message: str) -> FunctionError:
    return FunctionError(f"error creating certificate: {message}")


def _subject(name: str) -> x509.Name:
    if any("\udc80" <= char <= "\udcff" for char in name):
        raise _failure("asn1: string not valid UTF-8")
    if not name:
        return x509.Name([])
    # Without validation: Go allows common names over the 64 characters of X.520.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name, _validate=False)])


def _validity(days: int, now: int) -> tuple[dt.datetime, dt.datetime]:
    """Return start and end; like a Go duration, the days overflow at 292 years."""
    start = _EPOCH + dt.timedelta(seconds=now // _SECOND_NANOS)
    seconds = wrap_int64(days * _DAY_NANOS) // _SECOND_NANOS
    end = start + dt.timedelta(seconds=seconds)
    return start.replace(tzinfo=None), end.replace(tzinfo=None)


def _extensions(
    request: Request, key: Signer, subject: x509.Name, parent: x509.Certificate | None
) -> list[x509.Extension[x509.ExtensionType]]:
    """Return the extensions in Go's order."""
    extensions: list[tuple[x509.ExtensionType, bool]] = [
        (_key_usage(authority=request.authority), True),
        (_USAGES, False),
        (x509.BasicConstraints(ca=request.authority, path_length=None), True),
    ]
    if request.authority:
        extensions.append((_identifier(key), False))
    if parent is not None and parent.subject != subject:
        extensions += [(identifier, False) for identifier in _authority_identifier(parent)]
    if request.hosts or request.addresses:
        extensions.append((_alternative_names(request), not request.name))
    return [x509.Extension(value.oid, critical, value) for value, critical in extensions]


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _identifier(key: Signer) -> x509.SubjectKeyIdentifier:
    """Identify a key by the beginning of its SHA-256, as Go does (RFC 7093, method 1)."""
    bits = _public_bits(key)
    return x509.SubjectKeyIdentifier(hashlib.sha256(bits).digest()[:_IDENTIFIER_BYTES])


def _public_bits(key: Signer) -> bytes:
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        return public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.PKCS1)
    if isinstance(public, ec.EllipticCurvePublicKey):
        return public.public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
    return public.public_bytes_raw()


def _authority_identifier(parent: x509.Certificate) -> list[x509.AuthorityKeyIdentifier]:
    try:
        identifier = parent.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    return [x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)]


def _alternative_names(request: Request) -> x509.SubjectAlternativeName:
    for host in request.hosts:
        if not host.isascii():
            raise _failure(f"x509: {quote(host)} cannot be encoded as an IA5String")
    return x509.SubjectAlternativeName(
        [
            *(x509.DNSName(host) for host in request.hosts),
            *(x509.IPAddress(address) for address in request.addresses),
        ]
    )


def _digest(signer: Signer) -> hashes.SHA256 | hashes.SHA384 | hashes.SHA512 | None:
    if isinstance(signer, ed25519.Ed25519PrivateKey):
        return None
    if isinstance(signer, ec.EllipticCurvePrivateKey):
        if isinstance(signer.curve, ec.SECP384R1):
            return hashes.SHA384()
        if isinstance(signer.curve, ec.SECP521R1):
            return hashes.SHA512()
    return hashes.SHA256()
