"""Safeguards against mistakes in the database and against failing databases."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.kube import Request, Response, Send
from operated.environment import FORMS, HUBS, NODES, Environment
from waiting import eventually

MANY = tuple((f"t{number:02}", 1, "pro") for number in range(20))


def rename(env: Environment, table: str, other: str) -> None:
    """Rename a table. Run it in a thread: a read that holds the lock needs the event loop."""
    with closing(sqlite3.connect(env.directory / "rows.db")) as connection, connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO {other}")


def nodes_of(rows: tuple[tuple[str, int, str], ...]) -> list[str]:
    return [f"{uid}-web" for uid, *_ in rows]


async def test_rejected_rows_are_reported_and_others_proceed(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"), ("Beta_", 1, "pro"), (None, 1, "x"), ("Corp", 1, "s3cret"))
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_for_status(desired=4, failed=3)
        rejected = (await env.status())["rejectedRows"]
        assert rejected["count"] == 3
        assert {row["reason"] for row in rejected["rows"]} == {
            "EmptyUid",
            "InvalidUid",
            "InvalidNodeName",
        }
        message = await env.wait_for_event("RowRejected", containing="Corp")
        assert "s3cret" not in message
        await env.force_sync()
        await env.wait_until_idle()
        assert len(await env.events("RowRejected")) == 3
        labels = {"hub": "hub", "namespace": env.namespace, "reason": "EmptyUid"}
        assert env.registry.get_sample_value("lynq_rejected_rows", labels) == 1


async def test_emptied_table_deletes_nothing_until_approved(env: Environment) -> None:
    env.set_rows(*MANY)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*nodes_of(MANY))
        env.set_rows()
        await env.force_sync()

        held = await env.wait_for_condition("DeletionHeld", "True")
        assert len(await env.node_names()) == 20
        await env.wait_for_event("DeletionHeld")
        digest = held["message"].rpartition(", ")[2]

        await env.annotate("hub", approve_deletion="0" * 16)
        await env.wait_until_idle()
        assert len(await env.node_names()) == 20

        await env.annotate("hub", approve_deletion=digest)
        await env.wait_for_nodes()
        await env.wait_for_condition("DeletionHeld", "False")

        async def approval_removed() -> bool:
            annotations = (await env.get(HUBS, "hub"))["metadata"]["annotations"]
            return ANNOTATION_APPROVE_DELETION not in annotations

        await eventually(approval_removed)


async def test_few_deletions_need_no_approval_and_stale_approval_is_removed(
    env: Environment,
) -> None:
    env.set_rows(*MANY)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*nodes_of(MANY))
        env.set_rows(*MANY[:15])
        await env.annotate("hub", approve_deletion="0123456789abcdef")

        await env.wait_for_nodes(*nodes_of(MANY[:15]))

        async def approval_removed() -> bool:
            metadata = (await env.get(HUBS, "hub"))["metadata"]
            return ANNOTATION_APPROVE_DELETION not in metadata.get("annotations", {})

        await eventually(approval_removed)


async def test_changed_source_holds_every_deletion_above_the_count(env: Environment) -> None:
    rows = tuple((f"t{number:02}", 1, "pro") for number in range(50))
    env.set_rows(*rows)
    env.set_rows(*rows[:38], file="other.db")
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*nodes_of(rows))
        await env.wait_until_idle()
        before = (await env.status())["sourceIdentity"]
        # 12 of 50 are more than 10, and less than 30 %.
        other = {"spec": {"source": {"sqlite": {"path": "other.db"}}}}
        await env.patch(HUBS, "hub", other)

        held = await env.wait_for_condition("DeletionHeld", "True")
        assert "change of the source" in held["message"]
        assert len(await env.node_names()) == 50
        assert (await env.status())["sourceIdentity"] == before
    # The hold survives a restart.
    async with env.run_controllers():
        await env.force_sync()
        await env.wait_until_idle()
        assert (await env.condition("DeletionHeld"))["status"] == "True"
        assert len(await env.node_names()) == 50
        digest = held["message"].rpartition(", ")[2]
        await env.annotate("hub", approve_deletion=digest)
        await env.wait_for_nodes(*nodes_of(rows[:38]))

        async def identity_changed() -> bool:
            return bool((await env.status())["sourceIdentity"] != before)

        await eventually(identity_changed)


async def test_failed_read_changes_only_ready_condition(env: Environment) -> None:
    env.set_rows(*MANY[:3])
    await env.create_hub(sync_interval="1s")
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*nodes_of(MANY[:3]))
        await env.set_nodes_ready(nodes_of(MANY[:3]))
        await env.wait_for_status(desired=3, ready=3)
        await asyncio.to_thread(rename, env, "tenants", "renamed")

        failed = await env.wait_for_condition("Ready", "False")
        assert failed["reason"] == "DatabaseConnectionFailed"
        assert "tenants" in failed["message"]
        await env.wait_for_event("DatabaseQueryFailed")
        await env.create_form("worker")
        await env.nodes_stay(*nodes_of(MANY[:3]), seconds=2.5)
        await env.wait_for_status(desired=3, ready=3)
        assert len(await env.events("DatabaseQueryFailed")) == 1

        await asyncio.to_thread(rename, env, "renamed", "tenants")
        await env.wait_for_condition("Ready", "True")
        await env.wait_for_status(desired=6)


async def test_deleted_form_and_hub_delete_their_nodes_while_the_database_is_away(
    env: Environment,
) -> None:
    env.set_rows(*MANY[:3])
    await env.create_hub(sync_interval="1s", confirm_after="1s")
    await env.create_form()
    await env.create_form("worker")
    workers = [f"{uid}-worker" for uid, *_ in MANY[:3]]

    async with env.run_controllers():
        await env.wait_for_nodes(*nodes_of(MANY[:3]), *workers)
        await asyncio.to_thread(rename, env, "tenants", "renamed")
        await env.wait_for_condition("Ready", "False")
        await env.client.delete(FORMS, "worker", env.namespace)
        await env.wait_for_nodes(*nodes_of(MANY[:3]))
        await env.nodes_stay(*nodes_of(MANY[:3]), seconds=1)
    async with env.run_controllers():
        await env.client.delete(HUBS, "hub", env.namespace)
        await env.wait_for_deletion(HUBS, "hub")
        assert await env.node_names() == []


async def test_sqlite_path_outside_directory_is_rejected(env: Environment) -> None:
    await env.create_hub(source={"sqlite": {"path": "../elsewhere.db", "table": "tenants"}})

    async with env.run_controllers():
        failed = await env.wait_for_condition("Ready", "False")
        assert "--sqlite-dir" in failed["message"]


async def test_missing_source_block_and_missing_secret_are_reported(env: Environment) -> None:
    server = {"host": "127.0.0.1", "username": "u", "database": "d", "table": "t"}
    reference = {"passwordRef": {"name": "absent", "key": "password"}}
    await env.create_hub("blockless", source={"type": "mysql", "sqlite": None})
    await env.create_hub("secretless", source={"type": "mysql", "mysql": server | reference})

    async with env.run_controllers():
        blockless = await env.wait_for_condition("Ready", "False", "blockless")
        secretless = await env.wait_for_condition("Ready", "False", "secretless")

    assert "required for type mysql" in blockless["message"]
    assert 'Secret "absent" not found' in secretless["message"]


async def test_paused_hub_reads_and_writes_nothing(env: Environment) -> None:
    env.set_rows(*MANY[:2])
    await env.create_hub(paused=True)
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_condition("Paused", "True")
        await env.force_sync()
        await env.wait_until_idle()
        assert await env.node_names() == []
        assert (await env.status()).get("lastSyncTime") is None

        await env.patch(HUBS, "hub", {"spec": {"paused": False}})
        await env.wait_for_nodes(*nodes_of(MANY[:2]))
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.wait_for_condition("Paused", "True")
        env.set_rows(*MANY[:3])
        await env.force_sync()
        await env.wait_until_idle()
        assert await env.node_names() == nodes_of(MANY[:2])


async def test_force_sync_annotation_reads_rows(env: Environment) -> None:
    env.set_rows(*MANY[:1])
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*nodes_of(MANY[:1]))
        env.set_rows(*MANY[:2])
        await env.annotate("hub", force_sync=env.clock().isoformat())
        await env.wait_for_nodes(*nodes_of(MANY[:2]))


async def test_failed_write_is_retried_and_does_not_block_others(env: Environment) -> None:
    env.set_rows(*MANY[:3])
    await env.create_form()
    env.requests.failing.add(("create", "/lynqnodes"))

    async with env.run_controllers():
        await env.create_hub()
        await eventually(lambda: env.requests.count("create") >= 6)
        assert await env.node_names() == []
        env.requests.failing.clear()
        await env.wait_for_nodes(*nodes_of(MANY[:3]))


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [({"labels": {"team": "shop"}}, False), ({"annotations": {"lynq.sh/protect": "true"}}, True)],
    ids=["unrelated change", "protected"],
)
async def test_node_changed_before_its_deletion_is_replanned(
    env: Environment, change: dict[str, dict[str, str]], *, is_kept: bool
) -> None:
    env.set_rows(*MANY[:2])
    await env.create_hub()
    await env.create_form()
    client, changes = env.client, [{"metadata": change}]

    async def change_first(request: Request, send: Send) -> Response:
        if request.verb == "delete" and changes:
            await client.patch(NODES, "t01-web", changes.pop(), env.namespace)
        return await send(request)

    env.client = client.intercepted(change_first)
    async with env.run_controllers():
        await env.wait_for_nodes("t00-web", "t01-web")
        env.set_rows(MANY[0])
        await env.force_sync()
        await eventually(lambda: env.requests.count("delete") > 0)
        await env.wait_until_idle()
        assert ("t01-web" in await env.node_names()) == is_kept
        assert env.requests.count("delete") == (1 if is_kept else 2)
        if not is_kept:
            await env.wait_for_event("LynqNodeDeleted")
        assert await env.events("LynqNodeDeletionFailed") == []
        assert len(await env.events("LynqNodeDeleted")) == (0 if is_kept else 1)


async def test_foreign_node_is_left_unchanged(env: Environment) -> None:
    env.set_rows(*MANY[:2])
    foreign = {
        "metadata": {"name": "t00-web", "namespace": env.namespace},
        "spec": {"uid": "t00", "templateRef": "web"},
    }
    await env.client.create(NODES, foreign)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("t00-web", "t01-web")
        await env.wait_until_idle()
        assert "labels" not in (await env.get(NODES, "t00-web"))["metadata"]
        assert env.requests.count("create") == 1


async def test_two_hubs_keep_their_own_nodes(env: Environment) -> None:
    env.set_rows(*MANY[:2])
    env.set_rows(*MANY[2:4], file="other.db")
    await env.create_hub("one")
    await env.create_hub("two", source={"sqlite": {"path": "other.db", "table": "tenants"}})
    await env.create_form("web", "one")
    await env.create_form("worker", "two")

    async with env.run_controllers():
        await env.wait_for_nodes("t00-web", "t01-web", "t02-worker", "t03-worker")
        # One row is left: an emptied table deletes nothing.
        env.set_rows(MANY[2], file="other.db")
        await env.force_sync("two")
        await env.wait_for_nodes("t00-web", "t01-web", "t02-worker")
        await env.wait_for_status("one", desired=2)
        await env.wait_for_status("two", desired=1)
