"""Messages of conditions, events and logs are one printable line, whatever they were made of."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from lynq.api.conditions import new_condition
from lynq.api.masking import Mask
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.api.text import one_line, shown
from lynq.kube.recorder import _truncated
from lynq.telemetry.log_encoder import LogEncoder, LogRecord

TEXTS = st.text(st.characters(codec=None), max_size=40)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@given(TEXTS)
def test_message_of_a_condition_is_one_line(text: str) -> None:
    condition = new_condition(
        ConditionType.READY, ConditionReason.PAUSED, text, holds=True, generation=1, now=NOW
    )
    assert condition.message.isprintable()


@given(TEXTS)
def test_message_of_an_event_is_one_line(text: str) -> None:
    assert _truncated(text).isprintable()
    assert len(_truncated(text * 100).encode()) <= 1024


@given(TEXTS)
def test_record_of_a_log_is_one_line(text: str) -> None:
    for encoding in ("json", "console"):
        encoder = LogEncoder(encoding=encoding, time_encoding="epoch", foreign_error_messages=True)
        line = encoder.encode(LogRecord("info", "a", text, {"key": text}))
        assert line.replace("\t", "").isprintable()
        assert line.isascii() or encoding == "console"


@given(st.text(st.characters(codec=None), min_size=5, max_size=40))
def test_value_is_masked_after_it_was_shown(value: str) -> None:
    mask = Mask({"token": value})
    hidden = value.strip()
    if len(hidden) >= 5 and hidden.lower() != "false":
        for form in (shown(value), one_line(value, 2000)):
            assert shown(hidden) not in mask(f"it says: {form}!")
