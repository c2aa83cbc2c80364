"""One event of the log as one line, as zap writes it: JSON, or columns for people.

Makes values fit for a log: no secrets, nothing endless, nothing that JSON does not know.
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
LONGEST: Final = 2000
"""Characters of one value; the rest is cut off."""
_MARGIN: Final = 1000
_ITEMS: Final = 50
_DEPTH: Final = 5

_SECRET: Final = re.compile(
    r"passw(or)?d|pwd|token|secret|authorization|cookie|credential|bearer|private_?key|api_?key|dsn",
    re.IGNORECASE,
)
# What names a secret thing is not secret: secretName, password_ref, tokens_total.
_HARMLESS: Final = re.compile(
    r"(name|namespace|ref|kind|version|count|total|bytes|type)s?$", re.IGNORECASE
)
_IN_TEXT: Final = (
    # user:password@host, in whatever URL
    (re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"), rf"\g<1>{MASK}"),
    (re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}"), rf"\g<1>{MASK}"),
)
_PARTS_OF_A_SECRET: Final = ("data", "stringData")


def mask_fields(key: str, value: object) -> Plain:
    """Return what may be logged of a value under its key."""
    return MASK if is_secret(key) and value not in (None, "") else to_plain(value)


def is_secret(key: str) -> bool:
    """Return whether the key smells of a secret."""
    return bool(_SECRET.search(key)) and not _HARMLESS.search(key)


def to_plain(value: object, depth: int = 0) -> Plain:
    """Return a value as JSON knows it, cut where it is too long or too deep."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping | list | tuple | set | frozenset) and depth >= _DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    # A tuple with names, such as the key of an object, has a way of its own to be written.
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_fields"):
        return _items(value, depth)
    return to_text(str(value))


def to_text(value: str, longest: int = LONGEST) -> str:
    """Return a text without the passwords in it, cut where it is too long."""
    # Cut twice: the patterns need not run over a megabyte, but must see the whole of a password
    # that the second cut goes through.
    kept = value[: longest + _MARGIN]
    for pattern, replacement in _IN_TEXT:
        kept = pattern.sub(replacement, kept)
    return str(kept) if len(kept) <= longest else f"{kept[:longest]}…"


def _mapping(value: Mapping[object, object], depth: int) -> dict[str, Plain]:
    hidden = _PARTS_OF_A_SECRET if value.get("kind") == "Secret" else ()
    return {
        str(key): MASK if str(key) in hidden or is_secret(str(key)) else to_plain(each, depth + 1)
        for key, each in islice(value.items(), _ITEMS)
    }


def _items(value: Iterable[object], depth: int) -> list[Plain]:
    return [to_plain(each, depth + 1) for each in islice(value, _ITEMS)]


Encoding = Literal["json", "console"]
TimeEncoding = Literal["epoch", "millis", "nano", "nanos", "iso8601", "rfc3339", "rfc3339nano"]
"""Of the two that mean the same, controller-runtime's help says `nano`, and zap itself `nanos`."""

_FRAMES: Final = 12
_BILLION: Final = 1_000_000_000
_OWN: Final = ("level", "ts", "logger", "msg", "stacktrace")


@dataclass(frozen=True, slots=True)
class LogRecord:
    """What somebody has to say."""

    level: str
    """As zap spells it: debug, info, warn, error."""
    logger: str
    message: str
    context: Mapping[str, object]
    error: BaseException | None = None
    with_stack: bool = True
    """Whether the places that the error came through are to be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEncoder:
    """Turns events into lines."""

    encoding: Encoding
    time_encoding: TimeEncoding
    says_foreign_errors: bool
    """Whether exceptions of others may speak. What they say can quote the value that was wrong,
    and that may have come out of a Secret; our own exceptions take care."""
    clock: Callable[[], int] = time.time_ns

    def line(self, event: LogRecord) -> str:
        """Return the event without a line feed in it."""
        fields = self._fields(event)
        moment = format_time(self.clock(), self.time_encoding)
        message = to_text(event.message)
        if self.encoding == "json":
            head: dict[str, Plain] = {"level": event.level, "ts": moment}
            if event.logger:
                head["logger"] = event.logger
            return json.dumps(head | {"msg": message} | fields, separators=(",", ":"))
        columns = [str(moment), event.level.upper(), event.logger, one_line(message, LONGEST)]
        if fields:
            # With spaces, as zap's console has them.
            columns.append(json.dumps(fields))
        return "\t".join(column for column in columns if column)

    def _fields(self, event: LogRecord) -> dict[str, Plain]:
        # A field that is called like one of ours would be in the line twice.
        fields = {
            f"{key}_" if key in _OWN else key: mask_fields(key, value)
            for key, value in event.context.items()
        }
        if event.error is not None:
            fields.setdefault("error", self._words(event.error))
            if event.with_stack:
                fields["stacktrace"] = _places(event.error)
        return fields

    def _words(self, error: BaseException) -> str:
        is_ours = type(error).__module__.partition(".")[0] == "lynq"
        if is_ours or self.says_foreign_errors:
            return to_text(f"{type(error).__name__}: {error}")
        return type(error).__name__


def format_time(nanoseconds: int, encoding: TimeEncoding) -> float | int | str:
    """Return a moment as zap's encoder of that name writes it."""
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


def _places(error: BaseException) -> str:
    """Return where it was raised: functions, files and lines, neither source nor values."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return "\n".join(f"{each.name}\n\t{each.filename}:{each.lineno}" for each in frames)
