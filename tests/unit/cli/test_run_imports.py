"""`lynq run` imports what its flags and its hubs need: modules are most of an operator's memory."""

import json
import subprocess
import sys

import pytest

_IMPORT = """
import json, sys
import click
from lynq.cli.root import lynq

lynq.get_command(click.Context(lynq), "run")
import lynq.controllers.manager
{more}
print(json.dumps(sorted(sys.modules)))
"""
_OPTIONAL = {
    "aiohttp": "a server of probes, metrics, profiles or webhooks",
    "asyncmy": "a hub on MySQL",
    "asyncpg": "a hub on PostgreSQL",
    "bcrypt": "a template with bcrypt or htpasswd",
    "cryptography": "a certificate, a hub on MySQL, or a template with keys",
    "lynq.webhooks": "--enable-webhooks",
    "re2": "a template with regular expressions",
    "sqlite3": "a hub on SQLite",
}
"""Modules that some processes need, and what needs them."""


def modules_of_run(more: str = "") -> set[str]:
    """Return the modules of a new process that has imported `lynq run`."""
    process = subprocess.run(
        [sys.executable, "-c", _IMPORT.format(more=more)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(process.stdout))


def test_run_imports_no_optional_module() -> None:
    assert modules_of_run() & _OPTIONAL.keys() == set()


@pytest.mark.parametrize(
    ("engine", "driver"), [("mysql", "asyncmy"), ("postgresql", "asyncpg"), ("sqlite", "sqlite3")]
)
def test_hub_imports_the_driver_of_its_engine_only(engine: str, driver: str) -> None:
    more = f"from lynq.sources import ENGINES; ENGINES['{engine}'].driver()"
    drivers = modules_of_run(more) & {"asyncmy", "asyncpg", "sqlite3"}
    assert drivers == {driver}
