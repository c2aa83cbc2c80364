"""A missing, corrupted, locked or changed SQLite file deletes nothing, and reads recover."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from lynq.kube.resource import CONFIG_MAPS
from operated.environment import Environment, Object
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import stays

ROWS = (("acme", 1, "pro"), ("beta", 1, "free"), ("corp", 1, "pro"))


def sql(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, timeout=30)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@contextmanager
def moved(file: Path) -> Iterator[None]:
    away = file.with_suffix(".away")
    file.rename(away)
    yield
    away.rename(file)


@contextmanager
def corrupted(file: Path) -> Iterator[None]:
    copy = file.with_suffix(".copy")
    shutil.copy(file, copy)
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 8176)
    yield
    copy.rename(file)


@contextmanager
def truncated(file: Path) -> Iterator[None]:
    copy = file.with_suffix(".copy")
    shutil.copy(file, copy)
    file.write_bytes(file.read_bytes()[:4096])
    yield
    copy.rename(file)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with closing(
        sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    ) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("DELETE FROM tenants")
        yield
        connection.execute("ROLLBACK")


@contextmanager
def without_column(file: Path) -> Iterator[None]:
    sql(file, "CREATE TABLE kept AS SELECT * FROM tenants", "ALTER TABLE tenants DROP plan")
    yield
    sql(file, "DROP TABLE tenants", "ALTER TABLE kept RENAME TO tenants")


@contextmanager
def renamed_column(file: Path) -> Iterator[None]:
    sql(file, "ALTER TABLE tenants RENAME COLUMN active TO is_active")
    yield
    sql(file, "ALTER TABLE tenants RENAME COLUMN is_active TO active")


@contextmanager
def without_table(file: Path) -> Iterator[None]:
    sql(file, "ALTER TABLE tenants RENAME TO kept")
    yield
    sql(file, "ALTER TABLE kept RENAME TO tenants")


FAULTS = (
    moved,
    corrupted,
    truncated,
    locked,
    without_column,
    renamed_column,
    without_table,
)


@asynccontextmanager
async def active_fault(fault: AbstractContextManager[None]) -> AsyncIterator[None]:
    """Enter a fault during the block in a thread, so that a lock does not block the operator."""
    await asyncio.to_thread(fault.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(fault.__exit__, None, None, None)


@pytest.fixture(autouse=True)
def plain_file(env: Environment) -> None:
    """Use a single database file without a write-ahead log."""
    env.journal_mode = "DELETE"


async def all_objects(env: Environment) -> dict[str, Object]:
    settings = await env.client.list(CONFIG_MAPS, env.namespace, labels="lynq.sh/managed=true")
    return await env.nodes() | {obj["metadata"]["name"]: obj for obj in settings.items}


async def wait_for_read_failure(env: Environment) -> None:
    """Wait until the hub reports a failed read."""
    condition = await env.wait_for_condition("Ready", "False")
    assert condition["reason"] == "DatabaseConnectionFailed"
    assert condition["message"]


@pytest.mark.parametrize("fault", FAULTS)
async def test_unreadable_rows_change_nothing(
    env: Environment, fault: Callable[[Path], AbstractContextManager[None]]
) -> None:
    async with running_operator(env):
        # Large enough that a truncated file lacks rows.
        filler = [(f"idle-{number}", 0, "x" * 500) for number in range(40)]
        env.set_rows(*ROWS, *filler)
        await env.create_hub(sync_interval="1s")
        await env.create_form()
        for uid, *_ in ROWS:
            await wait_for_node_ready(env, f"{uid}-web")
        await env.wait_for_status(desired=3, ready=3)
        before = await all_objects(env)

        async with active_fault(fault(env.directory / "rows.db")):
            if fault is not locked:
                # A read waits for a lock longer than a test can.
                await wait_for_read_failure(env)

            async def unchanged() -> bool:
                return await all_objects(env) == before

            await stays(unchanged, seconds=2, every=0.1)
            await env.wait_for_status(desired=3, ready=3)
        await env.wait_for_condition("Ready", "True")
        assert await all_objects(env) == before
        await asyncio.to_thread(env.set_rows, *ROWS, ("dora", 1, "pro"))
        await wait_for_node_ready(env, "dora-web")
        after = await all_objects(env)
        assert {name: after[name] for name in before} == before


async def test_broken_source_does_not_delay_another_hub(env: Environment) -> None:
    env.set_rows(*ROWS)
    env.set_rows(("lone", 1, "pro"), file="other.db")
    async with running_operator(env, hub_workers=1):
        await env.create_hub(sync_interval="1s")
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
        other = {"sqlite": {"path": "other.db", "table": "tenants"}, "syncInterval": "1s"}
        await env.create_hub("other", source=other)
        async with active_fault(locked(env.directory / "rows.db")):
            # Longer than a sync interval: the read of the first hub waits for the lock.
            await asyncio.sleep(1.5)
            entry = {"id": "lone", "nameTemplate": "{{ .uid }}-lone"}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
            await env.create_form("lone", "other", configMaps=[entry | {"spec": body}])
            # The other hub does not wait for the lock.
            await wait_for_node_ready(env, "lone-lone", within=15)
