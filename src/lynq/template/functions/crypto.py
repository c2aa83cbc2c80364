"""Private keys in the PEM forms that Go uses, and AES-256 in CBC mode."""

import base64
import re
import secrets
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

from lynq.template.certificates import PrivateKey
from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.encoding import decode_base64
from lynq.template.functions.signature import Needs, function
from lynq.template.values import byte_len, from_bytes, to_bytes

_EXPONENT: Final = 65537
_DSA_BITS: Final = 2048
_RSA_BITS: Final = 4096
_SUFFIX: Final = " PRIVATE KEY"
_PEM: Final = re.compile(
    rb"(?:\A|(?<=\n))-----BEGIN ([^\r\n]*)-----[ \t]*\r?\n"
    rb"((?:[^\r\n:-]*:[^\n]*\n)*)"
    rb"((?:(?!-----BEGIN ).)*?)-----END \1-----[ \t]*\r?(?=\n|\Z)",
    re.DOTALL,
)
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
    for match in _PEM.finditer(to_bytes(text)):
        try:
            data = decode_base64(_SPACES.sub(b"", match[3]))
        except FunctionError:
            continue
        return Block(from_bytes(match[1]), data)
    return None


def make_rsa_key(bits: int) -> rsa.RSAPrivateKey:
    """Generate an RSA key."""
    return rsa.generate_private_key(_EXPONENT, bits)


@function("genPrivateKey", "func(string) string", needs=Needs.ENTROPY | Needs.SLOW)
def gen_private_key(kind: str) -> str:
    """Generate a key: rsa (also for an empty kind), ecdsa, ed25519 or dsa."""
    key: PrivateKey
    if kind in ("", "rsa"):
        key = make_rsa_key(_RSA_BITS)
    elif kind == "ecdsa":
        key = ec.generate_private_key(ec.SECP256R1())
    elif kind == "ed25519":
        key = ed25519.Ed25519PrivateKey.generate()
    elif kind == "dsa":
        key = dsa.generate_private_key(_DSA_BITS)
    else:
        return f"Unknown type {kind}"
    return write_key(key)


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


_KEY_BYTES: Final = 32
_BLOCK_BYTES: Final = 16


def _cipher(password: str, vector: bytes) -> Cipher[modes.CBC]:
    key = to_bytes(password)[:_KEY_BYTES].ljust(_KEY_BYTES, b"\0")
    return Cipher(algorithms.AES(key), modes.CBC(vector))


@function("encryptAES", "func(string, string) (string, error)", needs=Needs.ENTROPY | Needs.LIMITS)
def encrypt_aes(context: Context, password: str, text: str) -> str:
    """Encrypt a text; an empty text stays empty."""
    if not text:
        return ""
    context.limits.check_text((byte_len(text) + 2 * _BLOCK_BYTES) // 3 * 4 + 4)
    padder = PKCS7(_BLOCK_BYTES * 8).padder()
    padded = padder.update(to_bytes(text)) + padder.finalize()
    vector = secrets.token_bytes(_BLOCK_BYTES)
    encryptor = _cipher(password, vector).encryptor()
    encrypted = encryptor.update(padded) + encryptor.finalize()
    return base64.b64encode(vector + encrypted).decode()


@function("decryptAES", "func(string, string) (string, error)")
def decrypt_aes(password: str, encoded: str) -> str:
    """Decrypt a text; where sprig panics, the error is the panic's."""
    if not encoded:
        return ""
    data = decode_base64(to_bytes(encoded))
    if len(data) < _BLOCK_BYTES:
        room = byte_len(encoded) // 4 * 3
        reason = f"slice bounds out of range [:{_BLOCK_BYTES}] with capacity {room}"
        raise FunctionError(f"runtime error: {reason}")
    vector, encrypted = data[:_BLOCK_BYTES], data[_BLOCK_BYTES:]
    if len(encrypted) % _BLOCK_BYTES:
        raise FunctionError("crypto/cipher: input not full blocks")
    if not encrypted:
        raise FunctionError("runtime error: index out of range [-1]")
    decryptor = _cipher(password, vector).decryptor()
    return from_bytes(_without_padding(decryptor.update(encrypted) + decryptor.finalize()))


def _without_padding(padded: bytes) -> bytes:
    """Remove the padding, unchecked: a wrong password results in garbage or an error."""
    end = len(padded) - padded[-1]
    if end < 0:
        raise FunctionError(f"runtime error: slice bounds out of range [:{end}]")
    return padded[:end]
