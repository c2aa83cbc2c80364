"""The uids of the rows that an event of MySQL's or MariaDB's binlog has changed.

An event has the images of its rows: the row after an INSERT, before a DELETE, before and after an
UPDATE. Only the value of the uid column is decoded; the values before and after it are skipped by
their length. If a value or the end of the event is not where it is expected, or the image does not
have the uid (`binlog_row_image`), the uids are unknown, and all rows are read.

An image has no names of columns. The position of the uid column comes from information_schema, and
is looked up again after a DDL statement.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pymysqlreplication.constants import FIELD_TYPE

from lynq.sources.mysql.preflight import Execute, WatchedTable

# The uid as binary value differs from its text in other character sets.
_CHARACTER_SETS: Final = frozenset(("utf8", "utf8mb3", "utf8mb4", "ascii"))
_TEXTS: Final = frozenset(("char", "varchar"))
_INTEGERS: Final = frozenset(("tinyint", "smallint", "mediumint", "int", "bigint"))

_COLUMN: Final = (
    "SELECT ORDINAL_POSITION AS `position`, DATA_TYPE AS `type`, COLUMN_TYPE AS `declaration`,"
    " CHARACTER_SET_NAME AS `charset` FROM information_schema.COLUMNS"
    " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND COLUMN_NAME = %s"
)

_SIZES: Final = {
    FIELD_TYPE.TINY: 1,
    FIELD_TYPE.YEAR: 1,
    FIELD_TYPE.SHORT: 2,
    FIELD_TYPE.INT24: 3,
    FIELD_TYPE.DATE: 3,
    FIELD_TYPE.NEWDATE: 3,
    FIELD_TYPE.TIME: 3,
    FIELD_TYPE.LONG: 4,
    FIELD_TYPE.FLOAT: 4,
    FIELD_TYPE.TIMESTAMP: 4,
    FIELD_TYPE.LONGLONG: 8,
    FIELD_TYPE.DOUBLE: 8,
    FIELD_TYPE.DATETIME: 8,
}
_SIZES_WITH_FRACTION: Final = {
    FIELD_TYPE.TIME2: 3,
    FIELD_TYPE.TIMESTAMP2: 4,
    FIELD_TYPE.DATETIME2: 5,
}
_STRINGS: Final = frozenset((FIELD_TYPE.VARCHAR, FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING))
_BLOBS: Final = frozenset((FIELD_TYPE.BLOB, FIELD_TYPE.JSON, FIELD_TYPE.GEOMETRY))
_SETS: Final = frozenset((FIELD_TYPE.ENUM, FIELD_TYPE.SET))
_ONE_BYTE_LENGTH: Final = 255
_DECIMAL_DIGITS: Final = 9
_DECIMAL_BYTES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4)
"""Bytes of the digits that do not fill a group of nine, which has four bytes."""

# The replication library has no types.
Column = Any
RowsEvent = Any


@dataclass(frozen=True, slots=True)
class UidColumn:
    """The uid column of the watched table."""

    position: int
    """From 0."""
    is_text: bool
    is_signed: bool


def find_uid_column(execute: Execute, watched: WatchedTable, uid: str) -> UidColumn | None:
    """Return the uid column; None if its values cannot be told from row images."""
    if not uid or not watched.table:
        return None
    rows = execute(_COLUMN, watched.schema, watched.table, uid)
    if len(rows) != 1:
        return None
    row = rows[0]
    type_, declaration = str(row["type"]).lower(), str(row["declaration"]).lower()
    is_text = type_ in _TEXTS and row["charset"] in _CHARACTER_SETS
    is_integer = type_ in _INTEGERS and "zerofill" not in declaration
    if not is_text and not is_integer:
        return None
    return UidColumn(int(row["position"]) - 1, is_text, "unsigned" not in declaration)


def changed_uids(event: RowsEvent, uid: UidColumn) -> frozenset[str] | None:
    """Return the uids of the rows of an event; None if they are unknown."""
    present = [event.columns_present_bitmap]
    if hasattr(event, "columns_present_bitmap2"):
        present.append(event.columns_present_bitmap2)
    images = event.packet.read(event.event_size - event.packet.read_bytes)
    try:
        return frozenset(_uids(images, event.columns, present, uid))
    except (ValueError, IndexError, struct.error, UnicodeDecodeError):
        return None


def _uids(
    images: bytes, columns: Sequence[Column], present: Sequence[bytes], uid: UidColumn
) -> Iterator[str]:
    """Yield the uids of all images; raise if one cannot be told."""
    at = 0
    while at < len(images):
        for number, bitmap in enumerate(present):
            at, value = _read_image(images, at, columns, bitmap, uid.position)
            # An image after an UPDATE may have only the columns that have changed.
            if value is None and number == 0:
                raise ValueError
            if value is not None:
                yield _text(value, uid)
    if at != len(images):
        raise ValueError


def _read_image(
    images: bytes, at: int, columns: Sequence[Column], bitmap: bytes, position: int
) -> tuple[int, bytes | None]:
    """Return the end of the image, and the value at a position; None if the image has none."""
    present = [number for number in range(len(columns)) if _is_set(bitmap, number)]
    nulls = images[at : at + (len(present) + 7) // 8]
    at += len(nulls)
    found: bytes | None = None
    for index, number in enumerate(present):
        if _is_set(nulls, index):
            if number == position:
                raise ValueError
            continue
        prefix, size = _size(columns[number], images, at)
        value = images[at + prefix : at + prefix + size]
        if len(value) != size:
            raise ValueError
        at += prefix + size
        if number == position:
            found = value
    return at, found


def _is_set(bitmap: bytes, number: int) -> bool:
    return bool(bitmap[number // 8] & (1 << (number % 8)))


def _size(column: Column, images: bytes, at: int) -> tuple[int, int]:
    """Return the bytes of a value: of its length, and of the value itself."""
    prefix = _prefix(column)
    if prefix:
        return prefix, int.from_bytes(images[at : at + prefix], "little")
    return 0, _fixed_size(column)


def _prefix(column: Column) -> int:
    """Return the bytes of the length before a value; 0 if all values have the same length."""
    if column.type in _STRINGS:
        return 1 if column.max_length <= _ONE_BYTE_LENGTH else 2
    return int(column.length_size) if column.type in _BLOBS else 0


def _fixed_size(column: Column) -> int:
    code = column.type
    if code in _SIZES:
        return _SIZES[code]
    if code in _SIZES_WITH_FRACTION:
        return _SIZES_WITH_FRACTION[code] + (int(column.fsp) + 1) // 2
    if code == FIELD_TYPE.NEWDECIMAL:
        whole = column.precision - column.decimals
        return _decimal_size(whole) + _decimal_size(column.decimals)
    if code in _SETS:
        return int(column.size)
    if code == FIELD_TYPE.BIT:
        return int(column.bytes)
    raise ValueError


def _decimal_size(digits: int) -> int:
    groups, rest = divmod(digits, _DECIMAL_DIGITS)
    return groups * 4 + _DECIMAL_BYTES[rest]


def _text(value: bytes, uid: UidColumn) -> str:
    if uid.is_text:
        return value.decode()
    return str(int.from_bytes(value, "little", signed=uid.is_signed))
