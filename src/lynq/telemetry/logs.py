"""Sets the log up: every event of structlog and of the standard library becomes one line.

Both go through the same `Writer`, so that a line of aiohttp is masked and cut like one of ours.
What controllers bind with `structlog.contextvars` (hub, form, node, reconcile_id) is in every
line of the pass, those of libraries included.

Keeps a message that repeats itself from filling the log, by the rule of zap's sampler.
"""

import logging
import sys
import time
from collections.abc import Callable, MutableMapping
from typing import Any, Final, Literal, get_args

import structlog
from structlog.contextvars import get_contextvars, merge_contextvars

from lynq.telemetry.log_encoder import Encoding, LogEncoder, LogRecord, TimeEncoding

_FIRST: Final = 100
_THEREAFTER: Final = 100


class Sampler:
    """Lets the first hundred equal messages of a second pass, and of the rest every hundredth."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = -1
        # Forgotten every second, so it cannot grow without messages growing with it.
        self._seen: dict[tuple[str, str], int] = {}

    def passes(self, level: str, message: str) -> bool:
        """Return whether this message is to be written."""
        second = int(self._clock())
        if second != self._second:
            self._second = second
            self._seen = {}
        count = self._seen[level, message] = self._seen.get((level, message), 0) + 1
        return count <= _FIRST or (count - _FIRST) % _THEREAFTER == 0


StacktraceLevel = Literal["info", "warn", "error", "panic"]
ENCODINGS: Final[tuple[str, ...]] = get_args(Encoding)
TIME_ENCODINGS: Final[tuple[str, ...]] = get_args(TimeEncoding)
STACKTRACE_LEVELS: Final[tuple[str, ...]] = get_args(StacktraceLevel)

# controller-runtime's names; those above error end the process there, and say nothing here.
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
    """Write everything from `level` on to stderr: debug, info, warn, error or panic.

    In development nothing is left out: repeated messages are all written, and exceptions that
    are not ours speak for themselves, which can show values.
    """
    threshold = _LEVELS[level]
    writer = LogEncoder(
        encoding=encoding, time_encoding=time_encoding, says_foreign_errors=development
    )
    sampler = None if development else Sampler()
    sink = _Sink(writer, sampler, _LEVELS[stacktrace_level])
    structlog.configure(
        processors=[merge_contextvars, sink.process],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=_Named,
    )
    logging.captureWarnings(capture=True)
    root = logging.getLogger()
    root.handlers = [_Handler(sink)]
    root.setLevel(threshold)


class _Named:
    """What structlog wraps: a name, and nothing to do, because the line is written already."""

    def __init__(self, name: str = "") -> None:
        self.name = name


class _Sink:
    """Where all events meet."""

    def __init__(self, writer: LogEncoder, sampler: Sampler | None, stacks_from: int) -> None:
        self._writer = writer
        self._sampler = sampler
        self._stacks_from = stacks_from

    def process(
        self, logger: _Named, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Write an event of structlog; as its last processor."""
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
        """Write one line, unless the same has been said too often."""
        level = _name_of(number)
        if self._sampler and not self._sampler.passes(level, message):
            return
        with_stack = number >= self._stacks_from
        line = self._writer.line(LogRecord(level, logger, message, context, error, with_stack))
        try:
            # In one piece: other threads write, too.
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            # Nobody reads any more, and there is nowhere left to say so.
            return


class _Handler(logging.Handler):
    """Takes the records of the standard library."""

    def __init__(self, sink: _Sink) -> None:
        super().__init__()
        self._sink = sink

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; never raises, as the standard library demands."""
        try:
            context = get_contextvars()
            error = record.exc_info[1] if record.exc_info else None
            self._sink.write(record.levelno, record.name, record.getMessage(), context, error)
        except Exception as error:  # noqa: BLE001 - a library's bad format string stops no work
            self._sink.write(logging.ERROR, record.name, "record not written", {}, error)


def _exception(given: object) -> BaseException | None:
    if isinstance(given, BaseException):
        return given
    if isinstance(given, tuple):
        return next((each for each in given if isinstance(each, BaseException)), None)
    return sys.exc_info()[1] if given else None


def _name_of(number: int) -> str:
    if number >= logging.ERROR:
        return "error"
    names = ((logging.WARNING, "warn"), (logging.INFO, "info"))
    return next((name for least, name in names if number >= least), "debug")
