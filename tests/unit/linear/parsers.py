"""The parsers of text that others chose, each as a function of one text.

A parser returns, or raises the error that its callers expect. Any other error is a bug.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

from click import BadParameter
from msgspec.structs import replace

from lynq.api.denied_hosts import NONE_DENIED
from lynq.api.masking import Mask
from lynq.api.nesting import exceeds_depth
from lynq.api.text import one_line, printable
from lynq.cli import goflags
from lynq.core.explain.columns import Columns
from lynq.core.explain.summary import FilterError, parse_filter
from lynq.core.hub.schedule import duration_of
from lynq.core.node.ignore_fields.parse import path_problem
from lynq.kube import errors
from lynq.kube.codec import cut_depth
from lynq.kube.connection import BodyTooLarge, Connection, ConnectionLost, Exchange
from lynq.kube.http_response import Head, InvalidResponse
from lynq.kube.kubeconfig import Kubeconfig
from lynq.sources import MySQLSettings
from lynq.sources.errors import LoginFailed, StatementRefused
from lynq.sources.mysql.login import Login
from lynq.sources.mysql.row_images import UidColumn, changed_uids
from lynq.sources.postgresql.trigger import uids_in
from lynq.sources.statement import check_statement
from lynq.sources.text_values import sqlite_timestamp_text, timestamp_text
from lynq.template import TemplateError, compile_template, referenced_variables, render
from lynq.template.errors import FunctionError, LimitError
from lynq.template.functions.casts import parse_float, parse_int
from lynq.template.gotime.duration import parse_duration
from lynq.template.gotime.parse import parse_moment
from lynq.template.gourl import parse_url
from lynq.template.netip import parse_address
from lynq.template.private_keys import read_block
from lynq.template.regex import compile_pattern
from lynq.template.semver import parse_version
from lynq.template.semver_constraints import parse_constraints
from lynq.template.values import byte_view
from lynq.webhooks.review import ReviewError, SpecError, decode_object, decode_request
from unit.webhooks.reviews import FORM

Parser = Callable[[str], object]


def response(data: bytes, *, part: int = 1 << 16) -> tuple[Head, bytes] | None:
    """Return what a connection makes of the bytes of a server; None if it rejects them."""
    return asyncio.run(_response(data, part))


async def _response(data: bytes, part: int) -> tuple[Head, bytes] | None:
    transport = SimpleNamespace(
        write=lambda _: None,
        abort=lambda: None,
        get_write_buffer_size=lambda: 0,
        pause_reading=lambda: None,
        resume_reading=lambda: None,
    )
    connection = Connection(cast("Any", None))
    connection.connection_made(cast("asyncio.Transport", transport))
    head = asyncio.ensure_future(connection.send(Exchange(b"GET", max_body=1 << 20)))
    await asyncio.sleep(0)
    for start in range(0, len(data), part):
        if not connection.is_closed:
            connection.data_received(data[start : start + part])
    connection.connection_lost(None)
    try:
        return await head, connection.take_body()
    except (InvalidResponse, ConnectionLost, BodyTooLarge):
        return None


def kubeconfig(text: str) -> object:
    """Read a kubeconfig."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config"
        path.write_bytes(_bytes(text))
        return Kubeconfig.read([path])


_COLUMN = {"fsp": 3, "precision": 10, "decimals": 2, "size": 1, "bytes": 1}


def row_images(images: bytes, types: Sequence[int]) -> frozenset[str] | None:
    """Return the uids in the images of an event with these types of columns."""
    columns = [
        SimpleNamespace(
            type=code,
            max_length=300,
            length_size=2,
            fsp=3,
            precision=10,
            decimals=2,
            size=1,
            bytes=1,
        )
        for code in types
    ]
    packet = SimpleNamespace(read=lambda size: images[:size], read_bytes=0)
    event = SimpleNamespace(
        columns=columns, columns_present_bitmap=b"\xff" * 8, packet=packet, event_size=len(images)
    )
    return changed_uids(event, UidColumn(0, is_text=True, is_signed=False))


def denial(text: str) -> object:
    """Return all that the error of a response tells."""
    causes = [errors.StatusCause("FieldValueInvalid", text, text)]
    status = errors.Status(text, "Invalid", 0, errors.Details(causes=causes))
    kinds = (403, 409, 413, 422)
    rejections = [
        errors.from_status(replace(status, code=code, reason=""), verb="get", path="/x")
        for code in kinds
    ]
    return [(str(error), error.explanation) for error in rejections]


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _review(text: str) -> object:
    return decode_object(decode_request(_bytes(text), FORM).object)


_ACCEPTING = MySQLSettings(
    host="db", username="u", password="p", database="d", accepts_any_server=True
)


def login(packet: bytes, *before: bytes) -> bytes | None:
    """Return the answer to a packet of a MySQL server."""
    state = Login(_ACCEPTING, "caching_sha2_password", b"salt" * 5, is_encrypted=False)
    for earlier in before:
        state.answer(earlier)
    return state.answer(packet)


PARSERS: dict[str, Parser] = {
    "AdmissionReview": _review,
    "HTTP response": lambda text: response(_bytes(text)),
    "HTTP headers": lambda text: response(b"HTTP/1.1 200 OK\r\n" + _bytes(text)),
    "HTTP chunks": lambda text: response(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + _bytes(text)
    ),
    "JSON depth": exceeds_depth,
    "JSON cut": lambda text: cut_depth(_bytes(text), level=0),
    "JSON of a column": lambda text: render("{{ mustFromJson .a }}", {"a": text}),
    "JSONPath": path_problem,
    "PEM": read_block,
    "PEM body": lambda text: read_block(f"-----BEGIN X-----\n{text}\n-----END X-----\n"),
    "URL": parse_url,
    "address": lambda text: parse_address(byte_view(text)),
    "columns of a message": lambda text: Columns(None, None, {}).of_message("a", text),
    "denial": denial,
    "duration": parse_duration,
    "filter": parse_filter,
    "flag": goflags.duration,
    "float": parse_float,
    "host of a hub": NONE_DENIED.problem,
    "integer": parse_int,
    "interval": duration_of,
    "login with another plugin": lambda text: login(b"\xfe" + _bytes(text)),
    "login with a key": lambda text: login(b"\1" + _bytes(text), b"\1\4"),
    "mask": Mask({"a": "secret value"}),
    "masked value": lambda text: Mask({"a": text})("a message of the API server"),
    "notification": lambda text: uids_in(text, "uid"),
    "one line": lambda text: one_line(text, 1024),
    "pattern": compile_pattern,
    "printable": printable,
    "statement": check_statement,
    "template": compile_template,
    "template in braces": lambda text: referenced_variables(f"{{{{ {text} }}}}"),
    "time": lambda text: parse_moment("2006-01-02T15:04:05Z07:00", text),
    "time layout": lambda text: parse_moment(text, "2024-01-01"),
    "timestamp": timestamp_text,
    "timestamp of SQLite": sqlite_timestamp_text,
    "version": parse_version,
    "version constraints": parse_constraints,
}

EXPECTED = (
    BadParameter,
    FilterError,
    FunctionError,
    LimitError,
    LoginFailed,
    ReviewError,
    SpecError,
    StatementRefused,
    TemplateError,
    errors.ConfigError,
)
"""What callers expect."""


def outcome(parser: Parser, text: str) -> object:
    """Return the result of a parser; None if it rejects the text as its callers expect."""
    with suppress(*EXPECTED):
        return parser(text)
    return None
