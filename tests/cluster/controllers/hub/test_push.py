"""Hubs with push read the rows that have changed; deletions are left to reads of all rows."""

import base64
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

import databases
from databases import Server
from lynq.api.names import ANNOTATION_EXTRA
from lynq.kube.resource import SECRETS
from lynq.sources.pool import ServerSource
from lynq.sources.postgresql.trigger import trigger_sql
from lynq.sources.push.channel import PushTiming
from lynq.sources.query import Table
from operated.environment import Environment
from waiting import eventually

Execute = Callable[..., Awaitable[None]]
CREATE = "CREATE TABLE hub_rows (uid VARCHAR(63) PRIMARY KEY, active VARCHAR(5), plan VARCHAR(63))"
LAST_REPEAT = PushTiming().unknown_repeats[-1] + 0.2
ROWS = "INSERT INTO hub_rows VALUES ('acme', '1', 'pro'), ('beta', '1', 'pro')"


@dataclass
class Reads:
    """The reads of all sources."""

    complete: int = 0
    completed_at: float = 0.0
    selected: list[frozenset[str]] = field(default_factory=list)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    recorded = Reads()
    read, read_selected = ServerSource.read, ServerSource.read_selected

    def count_read(source: ServerSource, *arguments: Any, **options: Any) -> Any:
        recorded.complete += 1
        recorded.completed_at = time.monotonic()
        return read(source, *arguments, **options)

    def count_selected(source: ServerSource, query: Any, uids: frozenset[str]) -> Any:
        recorded.selected.append(uids)
        return read_selected(source, query, uids)

    monkeypatch.setattr(ServerSource, "read", count_read)
    monkeypatch.setattr(ServerSource, "read_selected", count_selected)
    return recorded


@dataclass
class Database:
    engine: str
    server: Server
    execute: Execute
    repeats: int
    """How often a change is read again, because it may not have been visible."""


@pytest.fixture(params=["mysql", "postgresql"])
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    if request.param == "mysql":
        server = request.getfixturevalue("mariadb")
        execute = partial(databases.in_mariadb, server)
        await execute(CREATE, ROWS)
    else:
        server = request.getfixturevalue("postgresql")
        execute = partial(databases.in_postgresql, server)
        await execute(CREATE, ROWS, trigger_sql(Table.named("hub_rows"), uid="uid"))
    yield Database(request.param, server, execute, 5 if request.param == "mysql" else 0)
    await execute("DROP TABLE hub_rows")


async def create_hub(env: Environment, database: Database, **spec: Any) -> None:
    server = database.server
    password = base64.b64encode(server.password.encode()).decode()
    metadata = {"name": "login", "namespace": env.namespace}
    await env.client.create(SECRETS, {"metadata": metadata, "data": {"password": password}})
    block = {
        "host": server.host,
        "port": server.port,
        "username": server.user,
        "passwordRef": {"name": "login", "key": "password"},
        "database": server.database,
        "table": "hub_rows",
    }
    source = {"type": database.engine, "sqlite": None, database.engine: block, "changes": "Push"}
    await env.create_form()
    await env.create_hub(source=source, **spec)


async def connected(env: Environment) -> None:
    await env.wait_for_nodes("acme-web", "beta-web")
    await env.wait_for_condition("PushConnected", "True")


async def settled(env: Environment, reads: Reads) -> None:
    """Wait until the reads that follow from the connection of the channel are over."""
    await connected(env)
    await eventually(lambda: time.monotonic() - reads.completed_at > LAST_REPEAT)


async def has_plan(env: Environment, node: str, plan: str) -> bool:
    nodes = await env.nodes()
    return f'"{plan}"' in nodes[node]["metadata"]["annotations"][ANNOTATION_EXTRA]


async def test_changed_and_new_rows_are_read_alone(
    env: Environment, database: Database, reads: Reads
) -> None:
    await create_hub(env, database)
    async with env.run_controllers():
        await settled(env, reads)
        complete = reads.complete
        await database.execute("UPDATE hub_rows SET plan = 'free' WHERE uid = 'acme'")
        await eventually(lambda: has_plan(env, "acme-web", "free"))
        await database.execute("INSERT INTO hub_rows VALUES ('gamma', '1', 'team')")
        await env.wait_for_nodes("acme-web", "beta-web", "gamma-web")
        assert await has_plan(env, "gamma-web", "team")
        # A row that is inactive, and was unknown before, changes nothing.
        await database.execute("INSERT INTO hub_rows VALUES ('off', '0', 'team')")
        await eventually(lambda: any("off" in uids for uids in reads.selected))
        assert reads.complete == complete
        for uid in ("acme", "gamma"):
            count = sum(uid in uids for uids in reads.selected)
            assert 1 <= count <= 1 + database.repeats
        assert all("beta" not in uids for uids in reads.selected)


async def test_deleted_row_is_confirmed_by_reads_of_all_rows(
    env: Environment, database: Database, reads: Reads
) -> None:
    await create_hub(env, database, deletionGuard={"confirmAfter": "5s"})
    async with env.run_controllers():
        await connected(env)
        complete = reads.complete
        await database.execute("DELETE FROM hub_rows WHERE uid = 'acme'")
        await eventually(lambda: reads.complete > complete)
        # A wake-up for another row does not confirm the absence.
        await database.execute("UPDATE hub_rows SET plan = 'free' WHERE uid = 'beta'")
        await eventually(lambda: has_plan(env, "beta-web", "free"))
        assert await env.node_names() == ["acme-web", "beta-web"]
        await env.wait_for_nodes("beta-web")


async def test_uid_that_is_renamed_or_spoilt_in_place_is_found_by_push(
    env: Environment, database: Database
) -> None:
    await create_hub(env, database)
    async with env.run_controllers():
        await connected(env)
        await database.execute("UPDATE hub_rows SET uid = 'renamed' WHERE uid = 'beta'")
        await env.wait_for_nodes("acme-web", "renamed-web")
        await database.execute("UPDATE hub_rows SET uid = 'ACME' WHERE uid = 'acme'")
        await env.wait_for_condition("DeletionHeld", "True")
        assert await env.node_names() == ["acme-web", "renamed-web"]
