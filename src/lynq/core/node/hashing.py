"""The hash of a wanted object, by which an unchanged one is known without a write.

It is the Go operator's, digit for digit: SHA-256 over what its json.Marshal writes, the two stamps
left out, the first 8 bytes in hexadecimal.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, Final

from lynq.api.names import ANNOTATION_APPLIED_HASH, ANNOTATION_APPLY_START_TIME
from lynq.template.formatting.gojson import go_escaped, go_number

_STAMPS: Final = frozenset({ANNOTATION_APPLIED_HASH, ANNOTATION_APPLY_START_TIME})
_DIGITS: Final = 16


def applied_hash(obj: Mapping[str, Any]) -> str:
    """Return the hash of an object as it is wanted; the stamps do not count."""
    return hashlib.sha256(go_json(_unstamped(obj)).encode()).hexdigest()[:_DIGITS]


def go_json(value: object) -> str:
    """Return the value as Go's json.Marshal writes it: sorted keys, no spaces, HTML escaped."""
    out: list[str] = []
    _write(value, out)
    return go_escaped("".join(out))


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


def _write(value: object, out: list[str]) -> None:
    if isinstance(value, str):
        out.append(encode_basestring(value))
    elif isinstance(value, dict):
        _write_object(value, out)
    elif isinstance(value, list | tuple):
        _write_list(value, out)
    else:
        out.append(_scalar(value))


def _write_object(value: dict[str, Any], out: list[str]) -> None:
    separator = "{"
    for key in sorted(value):
        out += (separator, encode_basestring(key), ":")
        _write(value[key], out)
        separator = ","
    out.append("}" if value else "{}")


def _write_list(value: Sequence[object], out: list[str]) -> None:
    separator = "["
    for item in value:
        out.append(separator)
        _write(item, out)
        separator = ","
    out.append("]" if value else "[]")


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    raise TypeError(f"JSON has no {type(value).__name__}")


def _float(number: float) -> str:
    if not math.isfinite(number):
        raise ValueError("JSON has no infinity and no NaN")
    return go_number(number)
