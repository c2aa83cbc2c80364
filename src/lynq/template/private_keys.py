"""Private keys in the PEM forms that Go uses, and the certificates beside them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa

from lynq.template.certificates import PrivateKey
from lynq.template.errors import FunctionError
from lynq.template.functions.encoding import decode_base64
from lynq.template.values import from_bytes, to_bytes

_EXPONENT: Final = 65537
_DSA_BITS: Final = 2048
_RSA_BITS: Final = 4096
_SUFFIX: Final = " PRIVATE KEY"
_MOST_BYTES: Final = 128 * 1024
"""Bytes of a text in which a block is found; a block is much smaller."""
_BEGIN: Final = b"-----BEGIN "
_DASHES: Final = b"-----"
_HEADERS: Final = re.compile(rb"(?:[^\r\n:-]*+:[^\n]*+\n)*+")
_LINE_END: Final = re.compile(rb"[ \t]*+\r?+(?:\n|\Z)")
_SPACES: Final = re.compile(rb"[ \t]+")
_FORMS: Final = {
    "RSA": rsa.RSAPrivateKey,
    "EC": ec.EllipticCurvePrivateKey,
    "DSA": dsa.DSAPrivateKey,
}


@dataclass(frozen=True, slots=True)
class Block:
    """A PEM block: its type and its bytes."""

    kind: str
    data: bytes


def read_block(text: str) -> Block | None:
    """Find the first valid PEM block; text before it is ignored."""
    for kind, body in _blocks(to_bytes(text)[:_MOST_BYTES]):
        try:
            data = decode_base64(_SPACES.sub(b"", body))
        except FunctionError:
            continue
        return Block(from_bytes(kind), data)
    return None


def _blocks(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield type and body of each block, in one pass: a block ends before the next one begins."""
    before, *sections = text.split(_BEGIN)
    for section in sections:
        is_line = not before or before.endswith(b"\n")
        before = section
        line, newline, rest = section.partition(b"\n")
        line = line.removesuffix(b"\r").rstrip(b" \t")
        if not (is_line and newline and line.endswith(_DASHES) and b"\r" not in line):
            continue
        kind = line.removesuffix(_DASHES)
        headers = _HEADERS.match(rest)
        body = rest[headers.end() :] if headers else rest
        end = _end(body, b"-----END " + line)
        if end >= 0:
            yield kind, body[:end]


def _end(body: bytes, mark: bytes) -> int:
    """Return the position of the first mark at the end of a line; -1 if there is none."""
    at = body.find(mark)
    while at >= 0 and not _LINE_END.match(body, at + len(mark)):
        at = body.find(mark, at + len(mark))
    return at


def make_rsa_key(bits: int) -> rsa.RSAPrivateKey:
    """Generate an RSA key."""
    return rsa.generate_private_key(_EXPONENT, bits)


def generate_key(kind: str) -> PrivateKey | None:
    """Generate a key: rsa (also for an empty kind), ecdsa, ed25519 or dsa; None for other kinds."""
    if kind in ("", "rsa"):
        return make_rsa_key(_RSA_BITS)
    if kind == "ecdsa":
        return ec.generate_private_key(ec.SECP256R1())
    if kind == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return dsa.generate_private_key(_DSA_BITS) if kind == "dsa" else None


def write_key(key: PrivateKey) -> str:
    """Encode a key as PEM: PKCS#8 for Ed25519, the traditional format for the other kinds."""
    modern = isinstance(key, ed25519.Ed25519PrivateKey)
    form = (
        serialization.PrivateFormat.PKCS8
        if modern
        else serialization.PrivateFormat.TraditionalOpenSSL
    )
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return pem.decode()


def read_key(text: str) -> PrivateKey:
    """Parse a key from PEM."""
    block = read_block(text)
    if block is None:
        raise FunctionError("no PEM data in input")
    if block.kind == _SUFFIX.strip():
        return _load(block.data, "decoding PEM as PKCS#8")
    if not block.kind.endswith(_SUFFIX):
        raise FunctionError(f"no private key data in PEM block of type {block.kind}")
    form = block.kind.removesuffix(_SUFFIX)
    if form not in _FORMS:
        raise FunctionError(f"invalid private key type {block.kind}")
    key = _load(block.data, f"parsing {form} private key from PEM")
    if not isinstance(key, _FORMS[form]):
        raise FunctionError(f"parsing {form} private key from PEM: it is a key of another form")
    return key


def _load(data: bytes, step: str) -> PrivateKey:
    try:
        key = serialization.load_der_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # Go's error includes the offset at which its ASN.1 parser failed; ours cannot.
        raise FunctionError(f"{step}: asn1: structure error") from None
    if not isinstance(key, PrivateKey):
        raise FunctionError(f"{step}: x509: unknown algorithm of a private key")
    return key


def read_certificate(text: str, variable: str) -> x509.Certificate:
    """Parse a certificate from PEM; the error names Go's variable."""
    block = read_block(text)
    if block is None:
        raise FunctionError("unable to decode certificate")
    try:
        return x509.load_der_x509_certificate(block.data)
    except ValueError:
        reason = f"{variable}.Bytes: x509: malformed certificate"
        raise FunctionError(f"error parsing certificate: {reason}") from None
