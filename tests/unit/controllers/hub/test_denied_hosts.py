"""Hosts that are denied without a flag."""

import pytest

from operated.environment import Environment, Object
from operated.running_operator import running_operator


def source(engine: str, host: str, port: int, changes: str = "Poll") -> Object:
    server = {"host": host, "port": port, "username": "u", "database": "d", "table": "t"}
    return {"type": engine, "sqlite": None, engine: server, "changes": changes}


@pytest.mark.parametrize("host", ["169.254.169.254", "2852039166", "fe80::1"])
async def test_link_local_address_is_denied_without_the_flag(env: Environment, host: str) -> None:
    await env.create_hub(source=source("mysql", host, 3306))
    async with running_operator(env):
        condition = await env.wait_for_condition("Ready", "False")
        assert condition["reason"] == "DatabaseConnectionFailed"
        assert "is link-local, which --deny-source-hosts always denies" in condition["message"]
