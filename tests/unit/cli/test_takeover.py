"""`lynq import --dry-run`: what it says about the login of a hub."""

from typing import Any

import msgspec
import pytest

from lynq.api import HubSpec
from lynq.cli.takeover import login_lines

SERVER = {"host": "db", "username": "u", "database": "d", "table": "t"}
PASSWORD = {"passwordRef": {"name": "db", "key": "password"}}


def hub(**block: Any) -> HubSpec:
    source = {"type": "mysql", "mysql": SERVER | block}
    return msgspec.convert(
        {"source": source, "valueMappings": {"uid": "id", "activate": "on"}}, HubSpec
    )


def test_hub_of_the_go_operator_is_named_with_the_accounts_that_cannot_log_in() -> None:
    (line,) = login_lines(hub(**PASSWORD))
    assert line.startswith("login      db is not verified and gets no password")
    assert "caching_sha2_password" in line


@pytest.mark.parametrize(
    "block",
    [
        {},
        PASSWORD | {"sendPasswordTo": "AnyServer"},
        PASSWORD | {"tls": {"mode": "verify-full"}},
    ],
)
def test_hub_that_can_log_in_has_no_line(block: dict[str, Any]) -> None:
    assert list(login_lines(hub(**block))) == []
