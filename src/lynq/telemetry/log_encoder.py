"""Encodes log records like zap, as JSON or for a console, and masks secrets in their values.

Values are limited in length, number and depth, and converted to what JSON supports.
"""

import json
import math
import re
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final, Literal, TypeAlias

from lynq.api.text import one_line

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"

MASK: Final = "***"
MAX_LENGTH: Final = 2000
"""Characters of one value; the rest is truncated."""
_MASK_MARGIN: Final = 1000
_MAX_ITEMS: Final = 50
_MAX_DEPTH: Final = 5

_SECRET_KEY: Final = re.compile(
    r"passw(or)?d|pwd|token|secret|authorization|cookie|credential|bearer|private_?key|api_?key|dsn",
    re.IGNORECASE,
)
# Keys that refer to a secret contain none: secretName, password_ref, tokens_total.
_NOT_SECRET_KEY: Final = re.compile(
    r"(name|namespace|ref|kind|version|count|total|bytes|type)s?$", re.IGNORECASE
)
_SECRETS_IN_TEXT: Final = (
    # user:password@host in a URL
    (re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"), rf"\g<1>{MASK}"),
    (re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}"), rf"\g<1>{MASK}"),
)
_SECRET_FIELDS: Final = ("data", "stringData")


def mask_field(key: str, value: object) -> Plain:
    """Return the loggable value of a field; masked if its key suggests a secret."""
    return MASK if is_secret(key) and value not in (None, "") else to_plain(value)


def is_secret(key: str) -> bool:
    """Return whether the key suggests a secret."""
    return bool(_SECRET_KEY.search(key)) and not _NOT_SECRET_KEY.search(key)


def to_plain(value: object, depth: int = 0) -> Plain:
    """Return a value that JSON supports, truncated where it is too long or too deep."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping | list | tuple | set | frozenset) and depth >= _MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    # A named tuple, such as an ObjectKey, has its own text.
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_fields"):
        return _items(value, depth)
    return to_text(str(value))


def to_text(value: str, max_length: int = MAX_LENGTH) -> str:
    """Return a text with masked passwords, truncated where it is too long."""
    # Truncated twice: the patterns must not search a megabyte, but must match a password across
    # the second limit as a whole.
    text = value[: max_length + _MASK_MARGIN]
    for pattern, replacement in _SECRETS_IN_TEXT:
        text = pattern.sub(replacement, text)
    return str(text) if len(text) <= max_length else f"{text[:max_length]}…"


def _mapping(value: Mapping[object, object], depth: int) -> dict[str, Plain]:
    masked = _SECRET_FIELDS if value.get("kind") == "Secret" else ()
    return {
        str(key): MASK if str(key) in masked or is_secret(str(key)) else to_plain(item, depth + 1)
        for key, item in islice(value.items(), _MAX_ITEMS)
    }


def _items(value: Iterable[object], depth: int) -> list[Plain]:
    return [to_plain(item, depth + 1) for item in islice(value, _MAX_ITEMS)]


Encoding = Literal["json", "console"]
TimeEncoding = Literal["epoch", "millis", "nano", "nanos", "iso8601", "rfc3339", "rfc3339nano"]
"""`nano` (controller-runtime) and `nanos` (zap) are equivalent."""

_MAX_FRAMES: Final = 12
_BILLION: Final = 1_000_000_000
_RESERVED_KEYS: Final = ("level", "ts", "logger", "msg", "stacktrace")


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log record."""

    level: str
    """zap's name: debug, info, warn, error."""
    logger: str
    message: str
    context: Mapping[str, object]
    error: BaseException | None = None
    with_stack: bool = True
    """Whether the stack trace of the error is included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEncoder:
    """Encodes log records as lines."""

    encoding: Encoding
    time_encoding: TimeEncoding
    foreign_error_messages: bool
    """Whether messages of exceptions of other packages are included. They can quote a value, also
    one of a Secret; the messages of lynq's own exceptions never do."""
    clock: Callable[[], int] = time.time_ns

    def encode(self, record: LogRecord) -> str:
        """Return the record as one line, without the line feed."""
        fields = self._fields(record)
        timestamp = format_time(self.clock(), self.time_encoding)
        message = to_text(record.message)
        if self.encoding == "json":
            head: dict[str, Plain] = {"level": record.level, "ts": timestamp}
            if record.logger:
                head["logger"] = record.logger
            return json.dumps(head | {"msg": message} | fields, separators=(",", ":"))
        columns = [
            str(timestamp),
            record.level.upper(),
            record.logger,
            one_line(message, MAX_LENGTH),
        ]
        if fields:
            # With spaces, like zap's console encoder.
            columns.append(json.dumps(fields))
        return "\t".join(column for column in columns if column)

    def _fields(self, record: LogRecord) -> dict[str, Plain]:
        # A field with a reserved key would be in the line twice.
        fields = {
            f"{key}_" if key in _RESERVED_KEYS else key: mask_field(key, value)
            for key, value in record.context.items()
        }
        if record.error is not None:
            fields.setdefault("error", self._error_text(record.error))
            if record.with_stack:
                fields["stacktrace"] = _stack_trace(record.error)
        return fields

    def _error_text(self, error: BaseException) -> str:
        is_ours = type(error).__module__.partition(".")[0] == "lynq"
        if is_ours or self.foreign_error_messages:
            return to_text(f"{type(error).__name__}: {error}")
        return type(error).__name__


def format_time(nanoseconds: int, encoding: TimeEncoding) -> float | int | str:
    """Return a timestamp like zap's encoder of this name."""
    match encoding:
        case "epoch":
            return nanoseconds / _BILLION
        case "millis":
            return nanoseconds / 1_000_000
        case "nano" | "nanos":
            return nanoseconds
    seconds, rest = divmod(nanoseconds, _BILLION)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    match encoding:
        case "iso8601":
            return f"{whole}.{rest // 1_000_000:03}Z"
        case "rfc3339":
            return f"{whole}Z"
    fraction = f".{rest:09}".rstrip("0").rstrip(".")
    return f"{whole}{fraction}Z"


def _stack_trace(error: BaseException) -> str:
    """Return functions, files and lines of an exception, without source and values."""
    frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
    return "\n".join(f"{frame.name}\n\t{frame.filename}:{frame.lineno}" for frame in frames)
