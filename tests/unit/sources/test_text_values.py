"""The text of a value depends only on the value, not on its page."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.sources import text_values

SERVER_TIMESTAMPS = st.one_of(
    st.datetimes().map(lambda timestamp: timestamp.isoformat(" ")),
    st.datetimes().map(lambda timestamp: timestamp.isoformat(" ") + "+00"),
    st.datetimes().map(lambda timestamp: timestamp.isoformat(" ", "seconds")),
    st.sampled_from(["infinity", "-infinity", "0044-03-15 BC", "0000-00-00 00:00:00"]),
    st.sampled_from(["2024-00-10 00:00:00", "2024-10-00 00:00:00", "12024-01-02 03:04:05"]),
    st.none(),
)
SQLITE_VALUES = st.one_of(
    st.text(),
    st.integers(),
    st.floats(allow_nan=False),
    st.binary(),
    st.none(),
    st.datetimes().map(lambda timestamp: timestamp.isoformat(" ")),
    st.sampled_from(["2024-01-02 03:04:05\n2024-01-02 03:04:05", "2024-13-01 00:00:00"]),
    st.sampled_from(["2024-01-02T03:04:05", "2024-W01-1T03:04:05", "2024-01-02", "soon"]),
)


@given(st.lists(SERVER_TIMESTAMPS, min_size=1))
def test_timestamp_text_is_independent_of_its_page(values: list[str | None]) -> None:
    assert list(text_values.timestamp_texts(values)) == [
        "" if value is None else text_values.timestamp_text(value) for value in values
    ]


@given(st.lists(st.dates().map(str) | st.none(), min_size=1))
def test_date_text_is_independent_of_its_page(values: list[str | None]) -> None:
    assert list(text_values.timestamp_texts(values)) == [
        "" if value is None else text_values.timestamp_text(value) for value in values
    ]


@given(st.lists(SQLITE_VALUES, min_size=1))
def test_sqlite_text_is_independent_of_its_page(values: list[object]) -> None:
    expected = ["" if value is None else text_values.sqlite_text(value) for value in values]
    assert list(text_values.sqlite_texts(values)) == expected


@given(st.lists(SQLITE_VALUES, min_size=1))
def test_sqlite_timestamp_text_is_independent_of_its_page(values: list[object]) -> None:
    expected = [
        "" if value is None else text_values.sqlite_timestamp_text(value) for value in values
    ]
    assert list(text_values.sqlite_timestamp_texts(values)) == expected


@given(st.lists(st.datetimes().map(lambda timestamp: timestamp.isoformat(" ", "seconds"))))
def test_page_of_sqlite_timestamps_has_the_texts_of_its_values(values: list[str]) -> None:
    expected = list(map(text_values.sqlite_timestamp_text, values))
    assert text_values.sqlite_timestamp_texts(values) == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=1))
def test_integer_text_is_that_of_python_and_null_is_empty(values: list[int | None]) -> None:
    expected = ["" if value is None else str(value) for value in values]
    assert text_values.integer_texts(values) == expected
    assert text_values.sqlite_texts(values) == expected


@given(st.lists(SQLITE_VALUES))
def test_page_of_other_values_has_no_integer_texts(values: list[object]) -> None:
    integers = bool(values) and all(value is None or type(value) is int for value in values)
    assert bool(text_values.integer_texts(values)) is integers


def test_infinite_number_is_no_null() -> None:
    values = [1, float("inf"), None]
    assert text_values.integer_texts(values) == []
    assert text_values.sqlite_texts(values) == ["1", "inf", ""]


@given(st.datetimes())
def test_timestamp_text_is_the_same_instant(timestamp: datetime) -> None:
    written = text_values.timestamp_text(timestamp.isoformat(" "))
    assert written.endswith("Z")
    assert datetime.fromisoformat(written).replace(tzinfo=None) == timestamp


@given(st.text())
def test_utf8_bytes_are_decoded(value: str) -> None:
    assert text_values.bytes_text(value.encode()) == value


@given(st.floats(allow_nan=False))
def test_float_text_is_the_same_number(value: float) -> None:
    assert float(text_values.float_text(value)) == value


@pytest.mark.parametrize(
    ("server_text", "expected"),
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
def test_timestamp_text_is_rfc_3339(server_text: str, expected: str) -> None:
    assert text_values.timestamp_text(server_text) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(b"\x00", "0"), (b"\x01", "1"), (b"\x0a\x01", "2561"), (b"", "0")]
)
def test_bit_text_is_a_decimal_number(value: bytes, expected: str) -> None:
    assert text_values.bit_text(value) == expected
