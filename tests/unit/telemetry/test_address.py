"""Addresses in Go's notation."""

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
def test_address_is_parsed(text: str, address: Address | None) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize("text", [":8081", "127.0.0.1:8081", "[::1]:8443"])
def test_address_round_trip(text: str) -> None:
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["8081", ":", ":http", ":65536", ":-1", "::1:80", "[::1:80", "[x]:80", "a b:80", ":８0"]
)
def test_invalid_address_is_rejected_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Address.parse(text)
