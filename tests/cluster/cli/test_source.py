"""`lynq source`: checks a hub's database, prints grants."""

import sqlite3

from cluster.cli.conftest import Lynq
from lynq.cli.exit_codes import ExitCode
from operated.environment import Environment


async def test_source_check_shows_types_and_no_values(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows(*((f"t{number}", 1, "gold") for number in range(7)))
    await env.create_hub()
    result = await run_lynq("source", "check", "hub", "--sqlite-dir", str(env.directory))
    assert result.stdout.splitlines() == [
        "ok    settings: sqlite, database rows.db, table tenants",
        "ok    rows: 5 active rows read, all 3 columns exist",
        "      COLUMN   TYPE   VARIABLE",
        "      uid      -      uid",
        "      active   -      activate",
        "      plan     -      plan",
        f"ok    server: SQLite {sqlite3.sqlite_version}",
        "ok    tls: not needed for a file",
        "ok    grants: the file is opened read-only",
        "ok    push: ready, not used (changes: Poll)",
    ]
    assert result.exit_code == ExitCode.OK
    shown = await run_lynq(
        "source", "check", "hub", "--show-values", "--sqlite-dir", str(env.directory)
    )
    assert "plan     -      plan       gold    gold    gold    gold    gold" in shown.stdout


async def test_source_check_names_what_is_missing(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows()
    await env.create_hub(extraValueMappings={"tier": "tier"})
    missing = await run_lynq("source", "check", "hub", "--sqlite-dir", str(env.directory))
    assert missing.exit_code == ExitCode.ERROR
    assert missing.stdout.splitlines()[-1].startswith("FAIL  rows: sqlite")
    server = {
        "type": "mysql",
        "mysql": {
            "host": "db.invalid",
            "port": 3306,
            "username": "lynq",
            "database": "shop",
            "table": "tenants",
            "passwordRef": {"name": "absent", "key": "password"},
        },
    }
    await env.create_hub("other", source=server)
    secret = await run_lynq("source", "check", "other")
    assert secret.exit_code == ExitCode.ERROR
    assert secret.stdout == (
        'FAIL  rows: source.mysql.passwordRef: Secret "absent" not found in the namespace of the '
        "hub: create it\n"
    )
