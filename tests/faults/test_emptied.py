"""A table that is emptied takes no tenant along, until a person has said so."""

import asyncio
import re

from cluster.controllers.operating import is_gone, operating
from cluster.controllers.stage import FORMS, HUBS, Object, Stage, config_map
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

ROWS = tuple((f"t{number:02}", 1, "pro") for number in range(12))
NAMES = tuple(f"{uid}-web" for uid, *_ in ROWS)
APPROVAL = "lynq.sh/approve-deletion"


async def tenants(stage: Stage, rows: tuple[tuple[str, int, str], ...] = ROWS) -> None:
    stage.rows(*rows)
    await stage.hub(source={"syncInterval": "1s"})
    await stage.form()
    await stage.has_nodes(*(f"{uid}-web" for uid, *_ in rows), within=30)

    async def ready() -> bool:
        return bool((await stage.status()).get("ready") == len(rows))

    await eventually(ready, within=60)


async def everything(stage: Stage) -> dict[str, Object]:
    """Return all nodes and their objects, as they are."""
    settings = await stage.client.list(CONFIG_MAPS, stage.namespace, labels="lynq.sh/managed=true")
    return await stage.nodes() | {each["metadata"]["name"]: each for each in settings.items}


async def held(stage: Stage) -> str:
    """Wait until removals are held, and return the digest that would approve them."""
    condition = await stage.has_condition("DeletionHeld", "True")
    found = re.search(r"\b12\b.*\b([0-9a-f]{16})$", condition["message"])
    assert found, condition["message"]
    return found[1]


async def approval(stage: Stage) -> str | None:
    hub = await stage.get(HUBS, "hub")
    found: str | None = hub["metadata"].get("annotations", {}).get(APPROVAL)
    return found


async def test_only_the_right_digest_lets_the_nodes_go(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        before = await everything(stage)
        assert len(before) == 24
        stage.rows()
        digest = await held(stage)
        await stage.has_event("DeletionHeld")

        wrong = digest[1:] + ("0" if digest[0] != "0" else "1")
        await stage.annotate("hub", approve_deletion=wrong)
        await asyncio.sleep(3)
        assert await everything(stage) == before

        await stage.annotate("hub", approve_deletion=digest)
        await stage.has_nodes(within=30)
        for uid, *_ in ROWS:
            await is_gone(stage, CONFIG_MAPS, f"{uid}-settings")
        await stage.has_condition("DeletionHeld", "False")

        async def spent() -> bool:
            return await approval(stage) is None

        await eventually(spent)
        # The same tenants come back: what was approved once is approved no more.
        await asyncio.sleep(1)
        stage.rows(*ROWS)
        await stage.has_nodes(*NAMES, within=30)
        stage.rows()
        assert await held(stage) == digest
        await asyncio.sleep(2)
        assert await stage.names() == sorted(NAMES)


async def test_a_table_that_is_filled_again_needs_no_approval(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        before = await everything(stage)
        stage.rows()
        await held(stage)
        stage.rows(*ROWS)

        await stage.has_condition("DeletionHeld", "False")
        await asyncio.sleep(2)
        assert await everything(stage) == before


async def test_a_restart_and_other_removals_do_not_loosen_the_hold(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        stage.rows()
        digest = await held(stage)
    async with operating(stage):
        await asyncio.sleep(3)
        assert await stage.names() == sorted(NAMES)
        assert await held(stage) == digest
        # One that is left makes it another set: what was approved for twelve is not for eleven.
        stage.rows(ROWS[0])
        await stage.annotate("hub", approve_deletion=digest)

        async def another() -> bool:
            message = (await stage.condition("DeletionHeld"))["message"]
            return digest not in message

        await eventually(another)
        await asyncio.sleep(2)
        assert await stage.names() == sorted(NAMES)


async def test_after_a_change_of_the_table_even_a_small_share_waits(stage: Stage) -> None:
    rows = tuple((f"t{number:02}", 1, "pro") for number in range(48))
    stage.rows(*rows[:36], file="other.db")
    async with operating(stage):
        await tenants(stage, rows)
        other = {"sqlite": {"path": "other.db"}}
        await stage.change(HUBS, "hub", {"spec": {"source": other}})
        # 12 of 48 are under 30 %.
        digest = await held(stage)
        await asyncio.sleep(2)
        assert len(await stage.names()) == 48
        await stage.annotate("hub", approve_deletion=digest)
        await stage.has_nodes(*(f"{uid}-web" for uid, *_ in rows[:36]), within=30)


async def test_a_form_that_is_deleted_is_an_order_and_is_not_held(stage: Stage) -> None:
    async with operating(stage):
        await tenants(stage)
        second = config_map(nameTemplate="{{ .uid }}-second")
        await stage.form("second", configMaps=[second])
        await stage.has_status(desired=24, ready=24)
        stage.rows()
        await stage.has_condition("DeletionHeld", "True")
        await stage.client.delete(FORMS, "second", stage.namespace)
        await stage.has_nodes(*NAMES, within=30)
