import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.kube.http_response import InvalidResponse, ResponseParser

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def parse(*parts: bytes, closed: bool = False) -> tuple[ResponseParser, bytes]:
    parser = ResponseParser()
    body = b"".join(parser.feed(part) for part in parts)
    if closed:
        parser.close()
    return parser, body


def chunked(chunks: list[bytes], trailer: bytes = b"") -> bytes:
    encoded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks if chunk)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + encoded + b"0\r\n" + trailer + b"\r\n"


def with_length(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


responses = st.one_of(
    st.binary(max_size=200).map(lambda body: (with_length(body), body)),
    st.lists(st.binary(max_size=100), max_size=5).map(
        lambda chunks: (chunked(chunks), b"".join(chunks))
    ),
    st.lists(st.binary(min_size=1, max_size=100), max_size=5).map(
        lambda chunks: (chunked(chunks, b"Expires: 0\r\nX: y\r\n"), b"".join(chunks))
    ),
    st.binary(max_size=100).map(
        lambda body: (b"HTTP/1.1 100 Continue\r\n\r\n" + with_length(body), body)
    ),
)


@given(responses, st.lists(st.integers(0, 400), max_size=8))
def test_response_is_the_same_wherever_its_bytes_are_split(
    response: tuple[bytes, bytes], cuts: list[int]
) -> None:
    data, expected = response
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [data[start:end] for start, end in itertools.pairwise(places) if start < end]
    parser, body = parse(*parts)
    assert parser.complete
    assert body == expected
    assert parser.head is not None
    assert parser.head.status == 200
    assert parser.head.headers["content-type"] == "application/json"
    assert parser.head.keep_alive


@given(responses, st.data())
def test_incomplete_response_is_never_complete(
    response: tuple[bytes, bytes], data: st.DataObject
) -> None:
    bytes_, _ = response
    cut = data.draw(st.integers(0, len(bytes_) - 1))
    parser, _ = parse(bytes_[:cut], closed=True)
    assert not parser.complete


def test_body_without_length_ends_with_the_connection() -> None:
    parts = (HEAD + b"\r\none ", b"two")
    assert not parse(*parts)[0].complete
    parser, body = parse(*parts, closed=True)
    assert parser.complete
    assert body == b"one two"


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_response_without_body_is_complete_with_its_headers(status: bytes) -> None:
    parser, body = parse(b"HTTP/1.1 " + status + b"\r\n\r\n")
    assert parser.complete
    assert body == b""


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", True),
    ],
)
def test_connection_is_kept_unless_the_server_says_otherwise(head: bytes, *, keeps: bool) -> None:
    parser, _ = parse(head + b"Content-Length: 0\r\n\r\n")
    assert parser.head is not None
    assert parser.head.keep_alive is keeps


def test_headers_are_found_by_their_name_in_lower_case() -> None:
    parser, _ = parse(b"HTTP/1.1 429\r\nRETRY-after: \t7 \r\nVary: a\r\nvary: b\r\nX:\r\n\r\n")
    assert parser.head is not None
    assert parser.head.headers == {"retry-after": "7", "vary": "a, b", "x": ""}


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nX: 1\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n1",
        b"HTTP/1.1 200 OK\r\n folded: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n12",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n1",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\n1\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n12\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK",
        HEAD + b"X: " + b"y" * 100_000,
        HEAD + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 100_000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0;" + b"x" * 100_000 + b"\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\n\r\nhello\r\n0\r\n\r\n",
    ],
)
def test_bytes_that_are_no_response_are_rejected(data: bytes) -> None:
    with pytest.raises(InvalidResponse):
        parse(data)
