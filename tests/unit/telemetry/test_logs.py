"""Log lines on stderr."""

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from lynq.api.metadata import ObjectKey
from lynq.kube.errors import KubeError
from lynq.telemetry.log_encoder import LogEncoder, LogRecord, TimeEncoding, format_time
from lynq.telemetry.logs import Sampler, configure, muted

MOMENT = 1_700_000_000_120_000_000


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.contextvars.clear_contextvars()
    structlog.reset_defaults()


class Lines:
    """The lines written to stderr since the last read."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def text(self) -> list[str]:
        return self._captured.readouterr().err.splitlines()

    def json(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text()]

    def one(self) -> dict[str, Any]:
        (line,) = self.json()
        return line


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    configure(encoding="json", level="info", development=False)
    return Lines(capsys)


def log() -> Any:
    return structlog.get_logger("lynq.test")


def test_line_has_level_ts_logger_msg_and_fields(lines: Lines) -> None:
    log().warning("slow", seconds=1.5, key=ObjectKey("shop", "acme"))
    line = lines.one()
    assert list(line) == ["level", "ts", "logger", "msg", "seconds", "key"]
    assert isinstance(line.pop("ts"), float)
    assert line == {
        "level": "warn",
        "logger": "lynq.test",
        "msg": "slow",
        "seconds": 1.5,
        "key": "shop/acme",
    }


def test_json_line_has_no_spaces(lines: Lines) -> None:
    log().info("hello there", listed=[1, 2], nested={"a": 1, "b": 2})
    (line,) = lines.text()
    assert line.startswith('{"level":"info","ts":')
    assert line.endswith(
        ',"logger":"lynq.test","msg":"hello there","listed":[1,2],"nested":{"a":1,"b":2}}'
    )


def test_records_below_the_level_are_dropped(lines: Lines) -> None:
    log().debug("details")
    logging.getLogger("aiohttp").debug("details")
    assert lines.text() == []


def test_records_of_libraries_have_the_bound_context(lines: Lines) -> None:
    with structlog.contextvars.bound_contextvars(node="shop/acme", reconcile_id="7"):
        logging.getLogger("aiohttp.client").error("gone %s", "away")
        log().info("ours")
    theirs, ours = lines.json()
    assert (theirs["level"], theirs["logger"]) == ("error", "aiohttp.client")
    assert theirs["msg"] == "gone away"
    for line in (theirs, ours):
        assert (line["node"], line["reconcile_id"]) == ("shop/acme", "7")


def test_secrets_are_masked_everywhere(lines: Lines) -> None:
    log().info(
        "connecting to mysql://root:hunter2@db/shop",
        password="hunter2",
        dbPassword="hunter2",
        headers={"Authorization": "Bearer hunter2hunter2"},
        said="sent Bearer hunter2hunter2",
        manifest={"kind": "Secret", "metadata": {"name": "db"}, "data": {"x": "hunter2"}},
        listed=[{"api_key": "hunter2"}],
        secretName="db-credentials",
    )
    (line,) = lines.text()
    assert "hunter2" not in line
    assert json.loads(line)["secretName"] == "db-credentials"
    assert "mysql://root:***@db/shop" in line


def test_foreign_exception_is_logged_without_its_message(lines: Lines) -> None:
    try:
        int("hunter2")
    except ValueError:
        log().exception("bad row")
    (text,) = lines.text()
    line = json.loads(text)
    assert line["error"] == "ValueError"
    assert "test_foreign_exception" in line["stacktrace"]
    assert "hunter2" not in text


def test_own_exception_is_logged_with_its_message(lines: Lines) -> None:
    log().error("stopped", exc_info=KubeError("no such cluster"))
    assert lines.one()["error"] == "KubeError: no such cluster"


def test_development_logs_messages_of_all_exceptions(capsys: pytest.CaptureFixture[str]) -> None:
    configure(encoding="json", level="debug", development=True)
    log().error("stopped", exc_info=ValueError("what was wrong"))
    assert "what was wrong" in capsys.readouterr().err


def test_stack_trace_is_omitted_below_its_level(capsys: pytest.CaptureFixture[str]) -> None:
    configure(encoding="json", level="info", development=False, stacktrace_level="panic")
    log().error("stopped", exc_info=KubeError("x"))
    assert "stacktrace" not in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["json", "console"])
def test_record_is_always_one_line(encoding: Any, capsys: pytest.CaptureFixture[str]) -> None:
    configure(encoding=encoding, level="info", development=False)
    log().info("one\ntwo\u2028three\x1b[31m\ud800", value="a\r\nb\x85c", other={"k\n": "v\n"})
    written = capsys.readouterr().err
    assert written.endswith("\n")
    assert len(written.splitlines()) == 1
    assert written.isascii()


def test_console_line_has_columns(capsys: pytest.CaptureFixture[str]) -> None:
    configure(encoding="console", level="info", development=False, time_encoding="rfc3339")
    log().info("hello", hub="a")
    columns = capsys.readouterr().err.rstrip("\n").split("\t")
    assert columns[1:] == ["INFO", "lynq.test", "hello", '{"hub": "a"}']


def test_long_values_are_truncated(lines: Lines) -> None:
    log().info("x" * 100_000, body="y" * 100_000, items=list(range(10_000)))
    (text,) = lines.text()
    assert len(text) < 6_000


def test_password_at_the_truncation_is_masked(lines: Lines) -> None:
    for before in range(1985, 2001):
        log().info("x", value="." * before + " mysql://root:hunter2@db/shop")
    assert "hun" not in "".join(lines.text())


def test_field_with_a_reserved_key_is_renamed(lines: Lines) -> None:
    log().info("hello", level="high", msg="other")
    line = lines.one()
    assert (line["level"], line["msg"]) == ("info", "hello")
    assert (line["level_"], line["msg_"]) == ("high", "other")


def test_malformed_record_of_a_library_is_one_line(lines: Lines) -> None:
    record = logging.LogRecord("lib", logging.ERROR, "lib.py", 1, "%d apples", ("hunter2",), None)
    # Passed to our handler only: pytest's handler rejects it.
    logging.getLogger().handlers[0].handle(record)
    assert lines.one()["msg"] == "log record not formatted"


def test_closed_stderr_does_not_raise(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Closed())
    log().info("hello")
    monkeypatch.undo()
    assert lines.text() == []


def test_repeated_message_is_sampled_per_second() -> None:
    now = 10.0
    sampler = Sampler(lambda: now)
    passed = [sampler.accepts("info", "again") for _ in range(350)]
    assert sum(passed) == 102
    assert sampler.accepts("info", "another")
    now = 11.0
    assert sampler.accepts("info", "again")


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("epoch", 1_700_000_000.12),
        ("millis", 1_700_000_000_120.0),
        ("nano", MOMENT),
        ("nanos", MOMENT),
        ("iso8601", "2023-11-14T22:13:20.120Z"),
        ("rfc3339", "2023-11-14T22:13:20Z"),
        ("rfc3339nano", "2023-11-14T22:13:20.12Z"),
    ],
)
def test_timestamps_are_encoded_like_zap(encoding: TimeEncoding, written: object) -> None:
    assert format_time(MOMENT, encoding) == written
    writer = LogEncoder(
        encoding="json",
        time_encoding=encoding,
        foreign_error_messages=False,
        clock=lambda: MOMENT,
    )
    assert json.loads(writer.encode(LogRecord("info", "", "hello", {})))["ts"] == written


async def test_muted_task_drops_its_lines_and_those_of_no_other_task(lines: Lines) -> None:
    is_muted, is_over = asyncio.Event(), asyncio.Event()

    async def simulate() -> None:
        with muted():
            await asyncio.gather(asyncio.to_thread(log().error, "deleted in a thread"))
            await asyncio.create_task(asyncio.to_thread(log().error, "deleted in a task"))
            is_muted.set()
            await is_over.wait()
            log().error("deleted")
        log().info("simulated")

    simulation = asyncio.create_task(simulate())
    await is_muted.wait()
    log().info("served")
    is_over.set()
    await simulation
    assert [line["msg"] for line in lines.json()] == ["served", "simulated"]


def test_muted_line_is_dropped_before_logging_is_configured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with muted(), muted():
        log().error("deleted")
    assert capsys.readouterr() == ("", "")
