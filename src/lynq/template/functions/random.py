"""Random texts and numbers, drawn from the render's chance: the same seed gives the same ones.

How they are drawn is part of the contract: a change here would change passwords that are in use.
"""

import base64
import string
import uuid
from typing import Final

from lynq.template.context import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import Needs, function
from lynq.template.values import to_output, wrap_int64

_ALPHA: Final = string.ascii_letters
_NUMERIC: Final = string.digits
_ASCII: Final = "".join(map(chr, range(0x20, 0x7F)))
_BYTES: Final = 256


def _draw(context: Context, count: int, alphabet: str) -> str:
    """Draw characters, each equally likely; a negative count draws none."""
    if count <= 0:
        return ""
    context.limits.check_text(count)
    # Bytes beyond the last whole multiple of the alphabet's size would favour its beginning.
    fair = _BYTES // len(alphabet) * len(alphabet)
    table = bytes(ord(alphabet[byte % len(alphabet)]) for byte in range(_BYTES))
    unfair = bytes(range(fair, _BYTES))
    drawn = bytearray()
    while len(drawn) < count:
        drawn += context.chance.bytes(count - len(drawn)).translate(table, unfair)
    return drawn.decode()


@function("randAlphaNum", "func(int) string", needs=Needs.CHANCE)
def rand_alpha_num(context: Context, count: int) -> str:
    """Draw letters and digits."""
    return _draw(context, count, _ALPHA + _NUMERIC)


@function("randAlpha", "func(int) string", needs=Needs.CHANCE)
def rand_alpha(context: Context, count: int) -> str:
    """Draw letters."""
    return _draw(context, count, _ALPHA)


@function("randNumeric", "func(int) string", needs=Needs.CHANCE)
def rand_numeric(context: Context, count: int) -> str:
    """Draw digits."""
    return _draw(context, count, _NUMERIC)


@function("randAscii", "func(int) string", needs=Needs.CHANCE)
def rand_ascii(context: Context, count: int) -> str:
    """Draw printable ASCII."""
    return _draw(context, count, _ASCII)


@function("randBytes", "func(int) (string, error)", needs=Needs.CHANCE)
def rand_bytes(context: Context, count: int) -> str:
    """Draw bytes, and give them in base64."""
    if count < 0:
        raise FunctionError("runtime error: makeslice: len out of range")
    context.limits.check_text((count + 2) // 3 * 4)
    return base64.b64encode(context.chance.bytes(count)).decode()


@function("randInt", "func(int, int) int", needs=Needs.CHANCE)
def rand_int(context: Context, first: int, end: int) -> int:
    """Draw a number from the first to just below the end."""
    size = wrap_int64(end - first)
    if size <= 0:
        raise FunctionError("invalid argument to Intn")
    return first + context.chance.below(size)


@function("shuffle", "func(string) string", needs=Needs.CHANCE)
def shuffle(context: Context, text: str) -> str:
    """Put the characters of a text in another order."""
    characters = list(to_output(text))
    context.limits.check_items(len(characters))
    for last in range(len(characters) - 1, 0, -1):
        other = context.chance.below(last + 1)
        characters[last], characters[other] = characters[other], characters[last]
    return "".join(characters)


@function("uuidv4", "func() string", needs=Needs.CHANCE)
def uuidv4(context: Context) -> str:
    """Draw a UUID of version 4."""
    return str(uuid.UUID(bytes=context.chance.bytes(16), version=4))
