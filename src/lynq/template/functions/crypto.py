"""Private keys, and AES-256 in CBC mode.

The modules of cryptography take 8 MiB of memory: they are imported by the first template that calls
one of these functions.
"""

import base64
import secrets
from typing import TYPE_CHECKING, Final

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.encoding import decode_base64
from lynq.template.functions.signature import Needs, function
from lynq.template.values import byte_len, from_bytes, to_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

_KEY_BYTES: Final = 32
_BLOCK_BYTES: Final = 16


@function("genPrivateKey", "func(string) string", needs=Needs.ENTROPY | Needs.SLOW)
def gen_private_key(kind: str) -> str:
    """Generate a key: rsa (also for an empty kind), ecdsa, ed25519 or dsa."""
    from lynq.template.private_keys import generate_key, write_key  # noqa: PLC0415 - see above

    key = generate_key(kind)
    return write_key(key) if key else f"Unknown type {kind}"


def _cipher(password: str, vector: bytes) -> "Cipher[modes.CBC]":
    from cryptography.hazmat.primitives.ciphers import (  # noqa: PLC0415 - see above
        Cipher,
        algorithms,
        modes,
    )

    key = to_bytes(password)[:_KEY_BYTES].ljust(_KEY_BYTES, b"\0")
    return Cipher(algorithms.AES(key), modes.CBC(vector))


def _padded(data: bytes) -> bytes:
    from cryptography.hazmat.primitives.padding import PKCS7  # noqa: PLC0415 - see above

    padder = PKCS7(_BLOCK_BYTES * 8).padder()
    return padder.update(data) + padder.finalize()


@function("encryptAES", "func(string, string) (string, error)", needs=Needs.ENTROPY | Needs.LIMITS)
def encrypt_aes(context: Context, password: str, text: str) -> str:
    """Encrypt a text; an empty text stays empty."""
    if not text:
        return ""
    context.limits.check_text((byte_len(text) + 2 * _BLOCK_BYTES) // 3 * 4 + 4)
    vector = secrets.token_bytes(_BLOCK_BYTES)
    encryptor = _cipher(password, vector).encryptor()
    encrypted = encryptor.update(_padded(to_bytes(text))) + encryptor.finalize()
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
