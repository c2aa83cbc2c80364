"""The text of a value depends on the value alone."""

from collections.abc import Sequence
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.sources import text_values

SERVER_MOMENTS = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat(" ")),
    st.datetimes().map(lambda moment: moment.isoformat(" ") + "+00"),
    st.datetimes().map(lambda moment: moment.isoformat(" ", "seconds")),
    st.sampled_from(["infinity", "-infinity", "0044-03-15 BC", "0000-00-00 00:00:00"]),
    st.none(),
)
STORED = st.one_of(
    st.text(),
    st.integers(),
    st.floats(allow_nan=False),
    st.binary(),
    st.none(),
    st.datetimes().map(lambda moment: moment.isoformat(" ")),
    st.sampled_from(["2024-01-02 03:04:05\n2024-01-02 03:04:05", "2024-13-01 00:00:00"]),
    st.sampled_from(["2024-01-02T03:04:05", "2024-W01-1T03:04:05", "2024-01-02", "soon"]),
)


def alone(write: text_values.TextConverter, values: Sequence[object]) -> list[str]:
    return [write([value])[0] for value in values]


@given(st.lists(SERVER_MOMENTS, min_size=1))
def test_moments_do_not_depend_on_their_neighbours(values: list[str | None]) -> None:
    assert list(text_values.timestamp_texts(values)) == alone(text_values.timestamp_texts, values)


@given(st.lists(st.dates().map(str) | st.none(), min_size=1))
def test_dates_do_not_depend_on_their_neighbours(values: list[str | None]) -> None:
    assert list(text_values.timestamp_texts(values)) == alone(text_values.timestamp_texts, values)


@given(st.lists(STORED, min_size=1))
def test_stored_values_do_not_depend_on_their_neighbours(values: list[object]) -> None:
    assert list(text_values.sqlite_texts(values)) == alone(text_values.sqlite_texts, values)
    assert list(text_values.sqlite_timestamp_texts(values)) == alone(
        text_values.sqlite_timestamp_texts, values
    )


@given(st.datetimes())
def test_a_moment_says_the_same_as_the_server(moment: datetime) -> None:
    written = text_values.timestamp_text(moment.isoformat(" "))
    assert written.endswith("Z")
    assert datetime.fromisoformat(written).replace(tzinfo=None) == moment


@given(st.text())
def test_bytes_that_are_utf8_are_that_text(held: str) -> None:
    assert text_values.bytes_text(held.encode()) == held


@given(st.floats(allow_nan=False))
def test_a_float_keeps_its_number(value: float) -> None:
    assert float(text_values.float_text(value)) == value


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("2024-01-02 03:04:05", "2024-01-02T03:04:05Z"),
        ("2024-01-02 03:04:05.100000", "2024-01-02T03:04:05.1Z"),
        ("2024-01-02 03:04:05.000000", "2024-01-02T03:04:05Z"),
        ("2024-01-02 03:04:05.1+00", "2024-01-02T03:04:05.1Z"),
        ("2024-01-02", "2024-01-02T00:00:00Z"),
        ("0000-00-00", "0001-01-01T00:00:00Z"),
        ("0000-00-00 00:00:00.000", "0001-01-01T00:00:00Z"),
        ("2024-00-10", "2024-01-10T00:00:00Z"),
        ("2000-01-00", "2000-01-01T00:00:00Z"),
        ("infinity", "infinity"),
    ],
)
def test_a_moment_is_written_after_rfc_3339(given_: str, expected: str) -> None:
    assert text_values.timestamp_text(given_) == expected


@pytest.mark.parametrize(
    ("held", "expected"), [(b"\x00", "0"), (b"\x01", "1"), (b"\x0a\x01", "2561"), (b"", "0")]
)
def test_bits_are_a_number(held: bytes, expected: str) -> None:
    assert text_values.bit_text(held) == expected
