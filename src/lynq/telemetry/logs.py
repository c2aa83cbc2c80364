"""Configures logging: records of structlog and the standard library become lines on stderr.

Both use the same encoder, so that records of libraries are masked and truncated too. Context that a
controller binds with `structlog.contextvars` (hub, form, node, reconcile_id) is in every line of
its reconcile, including those of libraries. Repeated messages are sampled like in zap.

A simulation logs deletions that never happen: `muted` drops the lines of its tasks only.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, get_args

import structlog
from structlog.contextvars import get_contextvars, merge_contextvars

from lynq.telemetry.log_encoder import Encoding, LogEncoder, LogRecord, TimeEncoding

_SAMPLE_FIRST: Final = 100
_SAMPLE_THEREAFTER: Final = 100


class Sampler:
    """Accepts the first hundred equal messages of a second, and every hundredth after them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = -1
        # Cleared every second, which bounds it by the messages of a second.
        self._counts: dict[tuple[str, str], int] = {}

    def accepts(self, level: str, message: str) -> bool:
        """Return whether this message is logged."""
        second = int(self._clock())
        if second != self._second:
            self._second = second
            self._counts = {}
        count = self._counts[level, message] = self._counts.get((level, message), 0) + 1
        return count <= _SAMPLE_FIRST or (count - _SAMPLE_FIRST) % _SAMPLE_THEREAFTER == 0


StacktraceLevel = Literal["info", "warn", "error", "panic"]
ENCODINGS: Final[tuple[str, ...]] = get_args(Encoding)
TIME_ENCODINGS: Final[tuple[str, ...]] = get_args(TimeEncoding)
STACKTRACE_LEVELS: Final[tuple[str, ...]] = get_args(StacktraceLevel)

# controller-runtime's names; levels above error end a Go process, and are never logged here.
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "panic": logging.CRITICAL,
}


def configure(
    *,
    encoding: Encoding,
    level: str,
    development: bool,
    time_encoding: TimeEncoding = "epoch",
    stacktrace_level: StacktraceLevel = "error",
) -> None:
    """Log records from `level` on to stderr: debug, info, warn, error or panic.

    In development, repeated messages are not sampled, and messages of all exceptions are included,
    which can contain values.
    """
    threshold = _LEVELS[level]
    encoder = LogEncoder(
        encoding=encoding, time_encoding=time_encoding, foreign_error_messages=development
    )
    sampler = None if development else Sampler()
    sink = _Sink(encoder, sampler, _LEVELS[stacktrace_level])
    structlog.configure(
        processors=[merge_contextvars, sink.process],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=_NamedLogger,
    )
    logging.captureWarnings(capture=True)
    root = logging.getLogger()
    root.handlers = [_Handler(sink)]
    root.setLevel(threshold)


_is_muted: ContextVar[bool] = ContextVar("is_muted", default=False)


@contextmanager
def muted() -> Iterator[None]:
    """Drop the lines of this task, and of the tasks and threads that it starts in the block."""
    processors = structlog.get_config()["processors"]
    # In place, as `structlog.testing.capture_logs` does: loggers that exist use the same list.
    if _drop_muted not in processors:
        processors.insert(0, _drop_muted)
    token = _is_muted.set(True)
    try:
        yield
    finally:
        _is_muted.reset(token)


def _drop_muted(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    if _is_muted.get():
        raise structlog.DropEvent
    return event


class _NamedLogger:
    """The logger that structlog wraps: only a name, because the processor writes the line."""

    def __init__(self, name: str = "") -> None:
        self.name = name


class _Sink:
    """Writes the records of structlog and the standard library."""

    def __init__(self, encoder: LogEncoder, sampler: Sampler | None, stacktrace_level: int) -> None:
        self._encoder = encoder
        self._sampler = sampler
        self._stacktrace_level = stacktrace_level

    def process(
        self, logger: _NamedLogger, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Write an event of structlog; its last processor."""
        number = logging.getLevelNamesMapping().get(method.upper(), logging.ERROR)
        message = str(event.pop("event", ""))
        error = _exception(event.pop("exc_info", None))
        self.write(number, logger.name, message, event, error)
        raise structlog.DropEvent

    def write(
        self,
        number: int,
        logger: str,
        message: str,
        context: MutableMapping[str, Any],
        error: BaseException | None,
    ) -> None:
        """Write one line, unless the sampler drops it."""
        level = _level_name(number)
        if self._sampler and not self._sampler.accepts(level, message):
            return
        with_stack = number >= self._stacktrace_level
        line = self._encoder.encode(LogRecord(level, logger, message, context, error, with_stack))
        try:
            # One write, because other threads write too.
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            # stderr is closed; the failure cannot be logged.
            return


class _Handler(logging.Handler):
    """Passes records of the standard library to the sink."""

    def __init__(self, sink: _Sink) -> None:
        super().__init__()
        self._sink = sink

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; never raises, as the standard library requires."""
        try:
            context = get_contextvars()
            error = record.exc_info[1] if record.exc_info else None
            self._sink.write(record.levelno, record.name, record.getMessage(), context, error)
        except Exception as error:  # noqa: BLE001 - a bad format string must not stop the caller
            self._sink.write(logging.ERROR, record.name, "log record not formatted", {}, error)


def _exception(exc_info: object) -> BaseException | None:
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        return next((item for item in exc_info if isinstance(item, BaseException)), None)
    return sys.exc_info()[1] if exc_info else None


def _level_name(number: int) -> str:
    if number >= logging.ERROR:
        return "error"
    names = ((logging.WARNING, "warn"), (logging.INFO, "info"))
    return next((name for threshold, name in names if number >= threshold), "debug")
