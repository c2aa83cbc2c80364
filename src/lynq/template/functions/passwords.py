"""Passwords: hashed for a server, or derived from a master password."""

import hashlib
import hmac
from typing import Final

import bcrypt as bcrypt_library

from lynq.template.functions.signature import Needs, function
from lynq.template.values import to_bytes

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
    """Hash a password; what cannot be hashed gives a sentence that says so, as sprig's does."""
    data = to_bytes(password)
    if len(data) > _MOST_BYTES:
        reason = f"bcrypt: password length exceeds {_MOST_BYTES} bytes"
        return f"failed to encrypt string with bcrypt: {reason}"
    salt = bcrypt_library.gensalt(_COST, prefix=b"2a")
    return bcrypt_library.hashpw(data, salt).decode()


@function("htpasswd", "func(string, string) string", needs=_ENTROPY)
def htpasswd(user: str, password: str) -> str:
    """Write a line of an htpasswd file."""
    if ":" in user:
        return f"invalid username: {user}"
    return f"{user}:{bcrypt(password)}"


@function("derivePassword", "func(uint32, string, string, string, string) string", needs=Needs.SLOW)
def derive_password(counter: int, kind: str, password: str, user: str, site: str) -> str:
    """Derive a site's password, always the same for the same arguments."""
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
