"""Random strings, numbers and passwords, from the render's seeded randomness.

The algorithms are part of the contract: a change would change passwords that are in use.
"""

import base64
import hashlib
import hmac
import string
import uuid
from typing import Final

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import Needs, function
from lynq.template.values import to_bytes, to_output, wrap_int64

_ALPHA: Final = string.ascii_letters
_NUMERIC: Final = string.digits
_ASCII: Final = "".join(map(chr, range(0x20, 0x7F)))
_BYTES: Final = 256


def _draw(context: Context, count: int, alphabet: str) -> str:
    """Draw characters uniformly; a negative count draws none."""
    if count <= 0:
        return ""
    context.limits.check_text(count)
    # Bytes beyond the last whole multiple of the alphabet's size would favor its beginning.
    fair = _BYTES // len(alphabet) * len(alphabet)
    table = bytes(ord(alphabet[byte % len(alphabet)]) for byte in range(_BYTES))
    unfair = bytes(range(fair, _BYTES))
    drawn = bytearray()
    while len(drawn) < count:
        drawn += context.random.bytes(count - len(drawn)).translate(table, unfair)
    return drawn.decode()


@function("randAlphaNum", "func(int) string", needs=Needs.RANDOM)
def rand_alpha_num(context: Context, count: int) -> str:
    """Draw letters and digits."""
    return _draw(context, count, _ALPHA + _NUMERIC)


@function("randAlpha", "func(int) string", needs=Needs.RANDOM)
def rand_alpha(context: Context, count: int) -> str:
    """Draw letters."""
    return _draw(context, count, _ALPHA)


@function("randNumeric", "func(int) string", needs=Needs.RANDOM)
def rand_numeric(context: Context, count: int) -> str:
    """Draw digits."""
    return _draw(context, count, _NUMERIC)


@function("randAscii", "func(int) string", needs=Needs.RANDOM)
def rand_ascii(context: Context, count: int) -> str:
    """Draw printable ASCII."""
    return _draw(context, count, _ASCII)


@function("randBytes", "func(int) (string, error)", needs=Needs.RANDOM)
def rand_bytes(context: Context, count: int) -> str:
    """Draw bytes, and encode them in base64."""
    if count < 0:
        raise FunctionError("runtime error: makeslice: len out of range")
    context.limits.check_text((count + 2) // 3 * 4)
    return base64.b64encode(context.random.bytes(count)).decode()


@function("randInt", "func(int, int) int", needs=Needs.RANDOM)
def rand_int(context: Context, first: int, end: int) -> int:
    """Draw an integer from `first` up to, but not including, `end`."""
    size = wrap_int64(end - first)
    if size <= 0:
        raise FunctionError("invalid argument to Intn")
    return first + context.random.below(size)


@function("shuffle", "func(string) string", needs=Needs.RANDOM)
def shuffle(context: Context, text: str) -> str:
    """Shuffle the characters of a text."""
    characters = list(to_output(text))
    context.limits.check_items(len(characters))
    for last in range(len(characters) - 1, 0, -1):
        other = context.random.below(last + 1)
        characters[last], characters[other] = characters[other], characters[last]
    return "".join(characters)


@function("uuidv4", "func() string", needs=Needs.RANDOM)
def uuidv4(context: Context) -> str:
    """Generate a version 4 UUID."""
    return str(uuid.UUID(bytes=context.random.bytes(16), version=4))


_ENTROPY: Final = Needs.ENTROPY | Needs.SLOW
_COST: Final = 10
_MOST_BYTES: Final = 72
_SEED: Final = b"com.lyndir.masterpassword"
_SCRYPT_MEMORY: Final = 64 * 1024 * 1024
# The templates and alphabets of the Master Password algorithm.
_TEMPLATES: Final = {
    "maximum": ("anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"),
    "long": (
        *("CvcvnoCvcvCvcv", "CvcvCvcvnoCvcv", "CvcvCvcvCvcvno", "CvccnoCvcvCvcv"),
        *("CvccCvcvnoCvcv", "CvccCvcvCvcvno", "CvcvnoCvccCvcv", "CvcvCvccnoCvcv"),
        *("CvcvCvccCvcvno", "CvcvnoCvcvCvcc", "CvcvCvcvnoCvcc", "CvcvCvcvCvccno"),
        *("CvccnoCvccCvcv", "CvccCvccnoCvcv", "CvccCvccCvcvno", "CvcvnoCvccCvcc"),
        *("CvcvCvccnoCvcc", "CvcvCvccCvccno", "CvccnoCvcvCvcc", "CvccCvcvnoCvcc"),
        "CvccCvcvCvccno",
    ),
    "medium": ("CvcnoCvc", "CvcCvcno"),
    "short": ("Cvcn",),
    "basic": ("aaanaaan", "aannaaan", "aaannaaa"),
    "pin": ("nnnn",),
}
_VOWELS: Final = "AEIOU"
_CONSONANTS: Final = "BCDFGHJKLMNPQRSTVWXYZ"
_LETTERS: Final = _VOWELS + _VOWELS.lower() + _CONSONANTS + _CONSONANTS.lower()
_DIGITS: Final = "0123456789"
_CHARACTERS: Final = {
    "C": _CONSONANTS,
    "v": _VOWELS.lower(),
    "c": _CONSONANTS.lower(),
    "a": _LETTERS,
    "n": _DIGITS,
    "o": "@&%?,=[]_:-+*$#!'^~;()/.",
    "x": _LETTERS + _DIGITS + "!@#$%^&*()",
}


@function("bcrypt", "func(string) string", needs=_ENTROPY)
def bcrypt(password: str) -> str:
    """Hash a password; on failure the result is the error text, as in sprig."""
    import bcrypt as library  # noqa: PLC0415 - few templates need its memory

    data = to_bytes(password)
    if len(data) > _MOST_BYTES:
        reason = f"bcrypt: password length exceeds {_MOST_BYTES} bytes"
        return f"failed to encrypt string with bcrypt: {reason}"
    salt = library.gensalt(_COST, prefix=b"2a")
    return library.hashpw(data, salt).decode()


@function("htpasswd", "func(string, string) string", needs=_ENTROPY)
def htpasswd(user: str, password: str) -> str:
    """Format a line of an htpasswd file."""
    if ":" in user:
        return f"invalid username: {user}"
    return f"{user}:{bcrypt(password)}"


@function("derivePassword", "func(uint32, string, string, string, string) string", needs=Needs.SLOW)
def derive_password(counter: int, kind: str, password: str, user: str, site: str) -> str:
    """Derive a site's password deterministically from the arguments."""
    templates = _TEMPLATES.get(kind)
    if templates is None:
        return f"cannot find password template {kind}"
    salt = _SEED + _with_length(user)
    key = hashlib.scrypt(
        to_bytes(password), salt=salt, n=32768, r=8, p=2, maxmem=_SCRYPT_MEMORY, dklen=64
    )
    message = _SEED + _with_length(site) + counter.to_bytes(4, "big")
    first, *rest = hmac.digest(key, message, "sha256")
    template = templates[first % len(templates)]
    alphabets = (_CHARACTERS[character] for character in template)
    return "".join(
        alphabet[byte % len(alphabet)] for alphabet, byte in zip(alphabets, rest, strict=False)
    )


def _with_length(text: str) -> bytes:
    data = to_bytes(text)
    return len(data).to_bytes(4, "big") + data
