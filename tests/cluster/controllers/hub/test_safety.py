"""What a mistake in the database, or a database that fails, does not do."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from cluster.controllers.stage import HUBS, NODES, Stage
from lynq.api.names import ANNOTATION_APPROVE_DELETION
from lynq.kube import Request, Response, Send
from waiting import eventually

MANY = tuple((f"t{number:02}", 1, "pro") for number in range(20))


def rename(stage: Stage, table: str, other: str) -> None:
    """Rename a table; not on the loop, which a read that holds a lock needs to come to its end."""
    with closing(sqlite3.connect(stage.directory / "rows.db")) as connection, connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO {other}")


def nodes_of(rows: tuple[tuple[str, int, str], ...]) -> list[str]:
    return [f"{uid}-web" for uid, *_ in rows]


async def test_rejected_rows_are_told_and_the_others_go_on(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"), ("Beta_", 1, "pro"), (None, 1, "x"), ("Corp", 1, "s3cret"))
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web")
        await stage.has_status(desired=4, failed=3)
        rejected = (await stage.status())["rejectedRows"]
        assert rejected["count"] == 3
        assert {row["reason"] for row in rejected["rows"]} == {
            "EmptyUid",
            "InvalidUid",
            "InvalidNodeName",
        }
        message = await stage.has_event("RowRejected", containing="Corp")
        assert "s3cret" not in message
        await stage.read_again()
        await stage.settles()
        assert len(await stage.events("RowRejected")) == 3
        labels = {"hub": "hub", "namespace": stage.namespace, "reason": "EmptyUid"}
        assert stage.registry.get_sample_value("lynq_rejected_rows", labels) == 1


async def test_an_emptied_table_removes_nothing_until_it_is_approved(stage: Stage) -> None:
    stage.rows(*MANY)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*nodes_of(MANY))
        stage.rows()
        await stage.read_again()

        held = await stage.has_condition("DeletionHeld", "True")
        assert len(await stage.names()) == 20
        await stage.has_event("DeletionHeld")
        digest = held["message"].rpartition(", ")[2]

        await stage.annotate("hub", approve_deletion="0" * 16)
        await stage.settles()
        assert len(await stage.names()) == 20

        await stage.annotate("hub", approve_deletion=digest)
        await stage.has_nodes()
        await stage.has_condition("DeletionHeld", "False")

        async def spent() -> bool:
            annotations = (await stage.get(HUBS, "hub"))["metadata"]["annotations"]
            return ANNOTATION_APPROVE_DELETION not in annotations

        await eventually(spent)


async def test_few_removals_need_no_approval_and_a_stale_one_is_taken_off(stage: Stage) -> None:
    stage.rows(*MANY)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*nodes_of(MANY))
        stage.rows(*MANY[:15])
        await stage.annotate("hub", approve_deletion="0123456789abcdef")

        await stage.has_nodes(*nodes_of(MANY[:15]))

        async def spent() -> bool:
            metadata = (await stage.get(HUBS, "hub"))["metadata"]
            return ANNOTATION_APPROVE_DELETION not in metadata.get("annotations", {})

        await eventually(spent)


async def test_another_source_holds_every_removal_above_the_count(stage: Stage) -> None:
    rows = tuple((f"t{number:02}", 1, "pro") for number in range(50))
    stage.rows(*rows)
    stage.rows(*rows[:38], file="other.db")
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*nodes_of(rows))
        await stage.settles()
        before = (await stage.status())["sourceIdentity"]
        # 12 of 50 are more than 10, and less than 30 %.
        other = {"spec": {"source": {"sqlite": {"path": "other.db"}}}}
        await stage.change(HUBS, "hub", other)

        held = await stage.has_condition("DeletionHeld", "True")
        assert "change of the source" in held["message"]
        assert len(await stage.names()) == 50
        assert (await stage.status())["sourceIdentity"] == before
    # Neither does a restart make anybody forget it.
    async with stage.operator():
        await stage.read_again()
        await stage.settles()
        assert (await stage.condition("DeletionHeld"))["status"] == "True"
        assert len(await stage.names()) == 50
        digest = held["message"].rpartition(", ")[2]
        await stage.annotate("hub", approve_deletion=digest)
        await stage.has_nodes(*nodes_of(rows[:38]))

        async def taken_over() -> bool:
            return bool((await stage.status())["sourceIdentity"] != before)

        await eventually(taken_over)


async def test_a_failed_read_changes_nothing_but_ready(stage: Stage) -> None:
    stage.rows(*MANY[:3])
    await stage.hub(source={"syncInterval": "1s"})
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*nodes_of(MANY[:3]))
        await stage.make_ready(nodes_of(MANY[:3]))
        await stage.has_status(desired=3, ready=3)
        await asyncio.to_thread(rename, stage, "tenants", "elsewhere")

        failed = await stage.has_condition("Ready", "False")
        assert failed["reason"] == "DatabaseConnectionFailed"
        assert "tenants" in failed["message"]
        await stage.has_event("DatabaseQueryFailed")
        await stage.form("worker")
        await asyncio.sleep(2.5)
        assert await stage.names() == nodes_of(MANY[:3])
        await stage.has_status(desired=3, ready=3)
        assert len(await stage.events("DatabaseQueryFailed")) == 1

        await asyncio.to_thread(rename, stage, "elsewhere", "tenants")
        await stage.has_condition("Ready", "True")
        await stage.has_status(desired=6)


async def test_a_file_outside_the_directory_is_refused_with_a_sentence(stage: Stage) -> None:
    await stage.hub(source={"sqlite": {"path": "../elsewhere.db", "table": "tenants"}})

    async with stage.operator():
        failed = await stage.has_condition("Ready", "False")
        assert "--sqlite-dir" in failed["message"]


async def test_a_missing_block_and_a_missing_secret_are_told(stage: Stage) -> None:
    server = {"host": "127.0.0.1", "username": "u", "database": "d", "table": "t"}
    reference = {"passwordRef": {"name": "absent", "key": "password"}}
    await stage.hub("blockless", source={"type": "mysql", "sqlite": None})
    await stage.hub("secretless", source={"type": "mysql", "mysql": server | reference})

    async with stage.operator():
        blockless = await stage.has_condition("Ready", "False", "blockless")
        secretless = await stage.has_condition("Ready", "False", "secretless")

    assert "needs the block mysql" in blockless["message"]
    assert 'no Secret "absent"' in secretless["message"]


async def test_a_paused_hub_reads_and_writes_nothing(stage: Stage) -> None:
    stage.rows(*MANY[:2])
    await stage.hub(paused=True)
    await stage.form()

    async with stage.operator():
        await stage.has_condition("Paused", "True")
        await stage.read_again()
        await stage.settles()
        assert await stage.names() == []
        assert (await stage.status()).get("lastSyncTime") is None

        await stage.change(HUBS, "hub", {"spec": {"paused": False}})
        await stage.has_nodes(*nodes_of(MANY[:2]))
        await stage.change(HUBS, "hub", {"spec": {"paused": True}})
        await stage.has_condition("Paused", "True")
        stage.rows(*MANY[:3])
        await stage.read_again()
        await stage.settles()
        assert await stage.names() == nodes_of(MANY[:2])


async def test_force_sync_reads_now(stage: Stage) -> None:
    stage.rows(*MANY[:1])
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*nodes_of(MANY[:1]))
        stage.rows(*MANY[:2])
        await stage.annotate("hub", force_sync=datetime.now(UTC).isoformat())
        await stage.has_nodes(*nodes_of(MANY[:2]))


async def test_a_write_that_fails_stops_no_other_and_is_tried_again(stage: Stage) -> None:
    stage.rows(*MANY[:3])
    await stage.form()
    stage.traffic.refuse.add(("create", "/lynqnodes"))

    async with stage.operator():
        await stage.hub()
        await eventually(lambda: stage.traffic.count("create") >= 6)
        assert await stage.names() == []
        stage.traffic.refuse.clear()
        await stage.has_nodes(*nodes_of(MANY[:3]))


@pytest.mark.parametrize(
    ("change", "stays"),
    [({"labels": {"team": "shop"}}, False), ({"annotations": {"lynq.sh/protect": "true"}}, True)],
    ids=["something else", "protected"],
)
async def test_a_node_that_changes_before_its_deletion_is_looked_at_again_and_nobody_is_alarmed(
    stage: Stage, change: dict[str, dict[str, str]], *, stays: bool
) -> None:
    stage.rows(*MANY[:2])
    await stage.hub()
    await stage.form()
    client, changes = stage.client, [{"metadata": change}]

    async def changing_first(request: Request, send: Send) -> Response:
        if request.verb == "delete" and changes:
            await client.patch(NODES, "t01-web", changes.pop(), stage.namespace)
        return await send(request)

    stage.client = client.intercepted(changing_first)
    async with stage.operator():
        await stage.has_nodes("t00-web", "t01-web")
        stage.rows(MANY[0])
        await stage.read_again()
        await eventually(lambda: stage.traffic.count("delete") > 0)
        await stage.settles()
        assert ("t01-web" in await stage.names()) == stays
        assert stage.traffic.count("delete") == (1 if stays else 2)
        assert await stage.events("LynqNodeDeletionFailed") == []
        assert len(await stage.events("LynqNodeDeleted")) == (0 if stays else 1)


async def test_a_node_of_somebody_else_is_left_alone(stage: Stage) -> None:
    stage.rows(*MANY[:2])
    foreign = {
        "metadata": {"name": "t00-web", "namespace": stage.namespace},
        "spec": {"uid": "t00", "templateRef": "web"},
    }
    await stage.client.create(NODES, foreign)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("t00-web", "t01-web")
        await stage.settles()
        assert "labels" not in (await stage.get(NODES, "t00-web"))["metadata"]
        assert stage.traffic.count("create") == 1


async def test_two_hubs_side_by_side_keep_their_own_nodes(stage: Stage) -> None:
    stage.rows(*MANY[:2])
    stage.rows(*MANY[2:4], file="other.db")
    await stage.hub("one")
    await stage.hub("two", source={"sqlite": {"path": "other.db", "table": "tenants"}})
    await stage.form("web", "one")
    await stage.form("worker", "two")

    async with stage.operator():
        await stage.has_nodes("t00-web", "t01-web", "t02-worker", "t03-worker")
        stage.rows(file="other.db")
        await stage.read_again("two")
        await stage.has_nodes("t00-web", "t01-web")
        await stage.has_status("one", desired=2)
        await stage.has_status("two", desired=0)
