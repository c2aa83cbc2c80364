"""Addresses as Go operators write them."""

import pytest

from lynq.telemetry import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8081", Address("", 8081)),
        ("127.0.0.1:8081", Address("127.0.0.1", 8081)),
        ("localhost:0", Address("localhost", 0)),
        ("[::]:8443", Address("::", 8443)),
        ("0", None),
        ("", None),
    ],
)
def test_an_address_is_read(text: str, address: Address | None) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize("text", [":8081", "127.0.0.1:8081", "[::1]:8443"])
def test_an_address_is_written_as_it_was_read(text: str) -> None:
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["8081", ":", ":http", ":65536", ":-1", "::1:80", "[::1:80", "[x]:80", "a b:80", ":８0"]
)
def test_what_is_no_address_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Address.parse(text)
