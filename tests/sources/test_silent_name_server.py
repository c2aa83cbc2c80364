"""A name server that never answers holds up only the hubs whose host it serves.

The system's resolver is real: a child process has its own /etc/resolv.conf, which names a socket
that swallows every question.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from sources.engines import TENANTS, Engine, MariaDB, PostgreSQL, new_table

NAME_SERVER = "127.0.0.153"
SILENT_HOSTS = 6
"""More than the event loop has threads for lookups."""

READER = """
import asyncio, json, os, socket, sys
import uvloop
from lynq.sources import MySQLSettings, PostgreSQLSettings, Query, SourceError, open_source

name_server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
name_server.bind((sys.argv[1], 53))
settings = {"mysql": MySQLSettings, "postgresql": PostgreSQLSettings}[sys.argv[2]]
options = json.loads(sys.argv[3])
query = Query(table=sys.argv[4], uid="uid", activate="activate")

async def read(host, connect_timeout):
    reached = {"host": host, "connect_timeout": connect_timeout}
    try:
        async with open_source(settings(**options | reached)).read(query) as reading:
            return [row.uid async for page in reading for row in page]
    except SourceError as error:
        return error.cause

async def main():
    silent = [asyncio.create_task(read(f"db{n}.test", 60.0)) for n in range(int(sys.argv[5]))]
    cause = await read("db.test", 2.0)
    rows = await read("localhost", 30.0)
    waiting = sum(not reading.done() for reading in silent)
    print(json.dumps({"cause": cause, "rows": rows, "waiting": waiting}), flush=True)
    # The lookups would delay the end of the process.
    os._exit(0)

uvloop.run(main())
"""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare"), reason="needs a mount namespace"
)


async def test_silent_name_server_holds_up_no_other_hub(
    server_engine: MariaDB | PostgreSQL, tmp_path: Path
) -> None:
    table = new_table()
    await server_engine.execute(
        f"CREATE TABLE {table} {TENANTS}", f"INSERT INTO {table} VALUES ('acme', '1', 'p')"
    )
    result = read_beside_silent_hosts(server_engine, table, tmp_path)
    assert result["cause"] == "the name server has not answered within 2 s"
    assert result["rows"] == ["acme"]
    assert result["waiting"] == SILENT_HOSTS


def read_beside_silent_hosts(engine: Engine, table: str, folder: Path) -> dict[str, Any]:
    resolv_conf = folder / "resolv.conf"
    resolv_conf.write_text(f"nameserver {NAME_SERVER}\noptions timeout:30\n")
    settings = engine.settings
    options = asdict(settings)
    del options["tls"], options["denied_hosts"]
    command = [sys.executable, "-c", READER, NAME_SERVER, settings.engine.value]
    process = subprocess.run(
        [
            *("unshare", "--mount", "sh", "-c"),
            'mount --bind "$0" /etc/resolv.conf && exec "$@"',
            str(resolv_conf),
            *command,
            *(json.dumps(options), table, str(SILENT_HOSTS)),
        ],
        check=True,
        capture_output=True,
        timeout=60,
        text=True,
    )
    result: dict[str, Any] = json.loads(process.stdout)
    return result
