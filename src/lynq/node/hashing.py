"""The hash of a wanted object, by which an unchanged one is known without a write.

It is the Go operator's, digit for digit: SHA-256 over what its json.Marshal writes, the two stamps
left out, the first 8 bytes in hexadecimal.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring
from typing import Any, Final

from lynq.api.names import ANNOTATION_APPLIED_HASH, ANNOTATION_APPLY_START_TIME
from lynq.template.formatting import format_float

_STAMPS: Final = frozenset({ANNOTATION_APPLIED_HASH, ANNOTATION_APPLY_START_TIME})
_DIGITS: Final = 16
_LARGE, _SMALL = 1e21, 1e-6
_ESCAPED: Final = str.maketrans(
    {char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
    | {chr(code): "\\ufffd" for code in range(0xD800, 0xE000)}
)


def applied_hash(obj: Mapping[str, Any]) -> str:
    """Return the hash of an object as it is wanted; the stamps do not count."""
    return hashlib.sha256(go_json(_unstamped(obj)).encode()).hexdigest()[:_DIGITS]


def go_json(value: object) -> str:
    """Return the value as Go's json.Marshal writes it: sorted keys, no spaces, HTML escaped."""
    return "".join(_pieces(value))


def _unstamped(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping) or "annotations" not in metadata:
        return obj
    annotations = metadata["annotations"]
    if not isinstance(annotations, Mapping):
        return obj
    kept = {key: value for key, value in annotations.items() if key not in _STAMPS}
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**obj, "metadata": {**rest, "annotations": kept} if kept else rest}


def _pieces(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _items("{}", ((f"{_text(key)}:", value[key]) for key in sorted(value)))
    elif isinstance(value, list | tuple):
        yield from _items("[]", (("", item) for item in value))
    else:
        yield _scalar(value)


def _items(brackets: str, items: Iterator[tuple[str, object]]) -> Iterator[str]:
    yield brackets[0]
    for number, (key, item) in enumerate(items):
        yield f",{key}" if number else key
        yield from _pieces(item)
    yield brackets[1]


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    raise TypeError(f"JSON has no {type(value).__name__}")


def _text(text: str) -> str:
    return encode_basestring(text).translate(_ESCAPED)


def _float(number: float) -> str:
    """Return Go's shortest form; its exponent has one digit where one is enough."""
    if not math.isfinite(number):
        raise ValueError("JSON has no infinity and no NaN")
    if number == 0 or _SMALL <= abs(number) < _LARGE:
        return format_float(number, "f")
    return format_float(number, "e").replace("e-0", "e-")
