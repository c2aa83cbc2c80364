"""Checksums: sprig's, in hexadecimal and, for Adler-32, in decimal."""

import hashlib
import zlib

from lynq.template.functions.signature import function
from lynq.template.values import to_bytes


@function("sha1sum", "func(string) string")
def sha1sum(text: str) -> str:
    """Give the SHA-1 of a text."""
    return hashlib.sha1(to_bytes(text), usedforsecurity=False).hexdigest()


@function("sha256sum", "func(string) string")
def sha256sum(text: str) -> str:
    """Give the SHA-256 of a text."""
    return hashlib.sha256(to_bytes(text)).hexdigest()


@function("sha512sum", "func(string) string")
def sha512sum(text: str) -> str:
    """Give the SHA-512 of a text."""
    return hashlib.sha512(to_bytes(text)).hexdigest()


@function("adler32sum", "func(string) string")
def adler32sum(text: str) -> str:
    """Give the Adler-32 of a text."""
    return str(zlib.adler32(to_bytes(text)))
