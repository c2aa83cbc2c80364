"""The contract of push: what every engine reports, and how a channel fails and recovers."""

import asyncio
import time
from dataclasses import replace

import pytest

from lynq.sources import SourceChangeKind
from lynq.sources.push.channel import PushTiming
from push_listener import QUICK, count_changes, listen_to, push_threads
from sources.push.push_databases import PushDatabase, PushServer
from waiting import eventually


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO tenants VALUES (3, 'three')",
        "UPDATE tenants SET name = 'uno' WHERE id = 1",
        "DELETE FROM tenants WHERE id = 2",
    ],
)
async def test_committed_change_is_reported(push_database: PushDatabase, statement: str) -> None:
    async with count_changes(push_database.settings, "tenants") as notifier:
        before = notifier.changes
        await push_database.execute(statement)
        await eventually(lambda: notifier.changes > before)


async def test_rolled_back_change_is_not_reported(push_database: PushDatabase) -> None:
    async with count_changes(push_database.settings, "tenants") as notifier:
        before = notifier.changes
        await push_database.execute("BEGIN", "DELETE FROM tenants", "ROLLBACK")
        # Changes are reported in the order of commits: the first would have been reported.
        await push_database.execute("INSERT INTO tenants VALUES (9, 'nine')")
        await eventually(lambda: notifier.changes > before)
        assert notifier.changes == before + 1


async def test_burst_of_changes_is_coalesced(push_database: PushDatabase) -> None:
    timing = PushTiming()
    async with listen_to(push_database.settings, "tenants", timing) as listener:
        await listener.connected()
        started, before = time.monotonic(), listener.arrivals
        await push_database.commit_burst()
        await eventually(lambda: listener.arrivals > before, within=timing.interval * 2)
        intervals = (time.monotonic() - started) / timing.interval
        assert listener.arrivals - before <= intervals + push_database.extra_arrivals


@pytest.mark.timing
async def test_outage_is_reported_and_its_end_reconnects(push_database: PushDatabase) -> None:
    async with listen_to(push_database.settings, "tenants") as listener:
        await listener.connected()
        async with push_database.outage():
            lost = await listener.lost()
            assert lost.reason in push_database.outage_reasons
            assert str(push_database.settings.endpoint) in lost.message
        await listener.connected()


@pytest.mark.timing
async def test_closed_channel_leaves_no_thread_and_no_task(push_database: PushDatabase) -> None:
    before = asyncio.all_tasks()
    async with listen_to(push_database.settings, "tenants") as listener:
        await listener.connected()
        assert listener.state is SourceChangeKind.CONNECTED
        assert bool(push_threads()) == push_database.has_thread
        started = time.monotonic()
    assert time.monotonic() - started < 5
    assert not push_threads()
    assert asyncio.all_tasks() <= before


async def test_killed_connection_is_reported_and_reconnects(push_server: PushServer) -> None:
    async with listen_to(push_server.settings, "tenants") as listener:
        await listener.connected()
        await push_server.kill_connections()
        assert (await listener.lost()).reason == "Interrupted"
        await listener.connected()


@pytest.mark.timing
async def test_silent_server_is_noticed_and_reconnects(push_server: PushServer) -> None:
    timing = replace(QUICK, silence=1.0)
    settings = replace(push_server.settings, connect_timeout=0.5)
    async with listen_to(settings, "tenants", timing) as listener:
        await listener.connected()
        async with push_server.silence():
            await listener.lost()
        await listener.connected()


@pytest.mark.timing
async def test_idle_connection_is_kept_alive(push_server: PushServer) -> None:
    timing = replace(QUICK, silence=2.0)
    async with listen_to(push_server.settings, "tenants", timing) as listener:
        await listener.connected()
        # Several times the silence after which a connection counts as dead.
        await asyncio.sleep(5)
        kinds = [event.kind for event in listener.events]
        assert kinds.count(SourceChangeKind.CONNECTED) == 1
        assert listener.state is SourceChangeKind.CONNECTED


async def test_wrong_password_is_reported_and_never_shown(push_server: PushServer) -> None:
    settings = replace(push_server.settings, password="not-the-password")
    async with listen_to(settings, "tenants") as listener:
        lost = await listener.lost()
    assert lost.reason == "WrongPassword"
    assert "not-the-password" not in lost.message


async def test_missing_table_is_reported(push_server: PushServer) -> None:
    async with listen_to(push_server.settings, "missing") as listener:
        lost = await listener.lost()
    assert lost.reason == "MissingTable"
    assert "table missing" in lost.message


async def test_refused_connection_is_reported(
    push_server: PushServer, unused_tcp_port: int
) -> None:
    settings = replace(push_server.settings, port=unused_tcp_port)
    async with listen_to(settings, "tenants") as listener:
        assert (await listener.lost()).reason == "Refused"


async def test_unknown_host_is_reported(push_server: PushServer) -> None:
    settings = replace(push_server.settings, host="nowhere.invalid")
    async with listen_to(settings, "tenants") as listener:
        assert (await listener.lost()).reason == "UnknownHost"
