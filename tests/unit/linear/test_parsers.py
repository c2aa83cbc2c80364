"""Each parser of foreign text takes linear time, and raises only what its callers expect."""

from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pymysqlreplication.constants import FIELD_TYPE

from unit.linear.inputs import UNITS, family
from unit.linear.measure import LIMIT, growth
from unit.linear.parsers import PARSERS, kubeconfig, outcome, response, row_images

TEXTS = st.lists(st.sampled_from(UNITS) | st.text(max_size=3), max_size=12).map("".join)
"""Any order of what is hostile, with anything between."""


@pytest.mark.parametrize("name", PARSERS)
def test_parser_takes_linear_time(name: str) -> None:
    parse = partial(outcome, PARSERS[name])
    slow = {
        unit: times for unit in UNITS if (times := growth(parse, partial(family, unit))) > LIMIT
    }
    assert slow == {}


@pytest.mark.parametrize("name", PARSERS)
def test_parser_raises_only_what_is_expected(name: str) -> None:
    @given(TEXTS)
    def parse(text: str) -> None:
        outcome(PARSERS[name], text)

    parse()


@given(TEXTS)
@example("[" * 1_500)
@example("- " * 1_500)
def test_kubeconfig_of_any_text_is_read_or_rejected(text: str) -> None:
    outcome(kubeconfig, text)


HEADS = st.lists(
    st.sampled_from(
        [
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.0 204 \r\n",
            "Content-Length: 3\r\n",
            f"Content-Length: {'9' * 5_000}\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Connection: close\r\n",
            "\r\n",
            "3\r\nabc\r\n",
            "0\r\n\r\n",
            "fffffffffffffff\r\n",
            "a: b\r\n c\r\n",
            "\n",
            "abc",
        ]
    ),
    max_size=8,
).map("".join)


@given(HEADS, st.integers(1, 40))
@example(f"HTTP/1.1 200 OK\r\nContent-Length: {'9' * 5_000}\r\n\r\n", 1_000)
def test_response_is_the_same_in_parts_of_any_size(text: str, part: int) -> None:
    data = text.encode()
    assert response(data, part=part) == response(data)


TYPES = sorted(value for name, value in vars(FIELD_TYPE).items() if name.isupper())


@given(st.binary(max_size=300), st.lists(st.sampled_from(TYPES), min_size=1, max_size=20))
def test_row_images_of_any_bytes_have_uids_or_none(images: bytes, types: list[int]) -> None:
    uids = row_images(images, types)
    assert uids is None or all(isinstance(uid, str) for uid in uids)


def test_row_images_take_linear_time() -> None:
    for unit in UNITS:
        times = growth(
            lambda text: row_images(text.encode(errors="surrogatepass"), [FIELD_TYPE.VARCHAR] * 3),
            partial(family, unit),
        )
        assert times <= LIMIT, unit
