"""A table that is emptied takes no tenant along, until a person has said so."""

import asyncio
import re

from cluster.controllers.environment import FORMS, HUBS, Environment, Object, config_map
from cluster.controllers.running_operator import running_operator, wait_for_deletion
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

ROWS = tuple((f"t{number:02}", 1, "pro") for number in range(12))
NAMES = tuple(f"{uid}-web" for uid, *_ in ROWS)
APPROVAL = "lynq.sh/approve-deletion"


async def tenants(env: Environment, rows: tuple[tuple[str, int, str], ...] = ROWS) -> None:
    env.set_rows(*rows)
    await env.create_hub(source={"syncInterval": "1s"})
    await env.create_form()
    await env.wait_for_nodes(*(f"{uid}-web" for uid, *_ in rows), within=30)

    async def ready() -> bool:
        return bool((await env.status()).get("ready") == len(rows))

    await eventually(ready, within=60)


async def everything(env: Environment) -> dict[str, Object]:
    """Return all nodes and their objects, as they are."""
    settings = await env.client.list(CONFIG_MAPS, env.namespace, labels="lynq.sh/managed=true")
    return await env.nodes() | {obj["metadata"]["name"]: obj for obj in settings.items}


async def held(env: Environment) -> str:
    """Wait until removals are held, and return the digest that would approve them."""
    condition = await env.wait_for_condition("DeletionHeld", "True")
    match = re.search(r"\b12\b.*\b([0-9a-f]{16})$", condition["message"])
    assert match, condition["message"]
    return match[1]


async def approval(env: Environment) -> str | None:
    hub = await env.get(HUBS, "hub")
    approval: str | None = hub["metadata"].get("annotations", {}).get(APPROVAL)
    return approval


async def test_only_the_current_digest_approves_deletion(env: Environment) -> None:
    async with running_operator(env):
        await tenants(env)
        before = await everything(env)
        assert len(before) == 24
        env.set_rows()
        digest = await held(env)
        await env.wait_for_event("DeletionHeld")

        wrong = digest[1:] + ("0" if digest[0] != "0" else "1")
        await env.annotate("hub", approve_deletion=wrong)
        await asyncio.sleep(3)
        assert await everything(env) == before

        await env.annotate("hub", approve_deletion=digest)
        await env.wait_for_nodes(within=30)
        for uid, *_ in ROWS:
            await wait_for_deletion(env, CONFIG_MAPS, f"{uid}-settings")
        await env.wait_for_condition("DeletionHeld", "False")

        async def spent() -> bool:
            return await approval(env) is None

        await eventually(spent)
        # The same tenants come back: what was approved once is approved no more.
        await asyncio.sleep(1)
        env.set_rows(*ROWS)
        await env.wait_for_nodes(*NAMES, within=30)
        env.set_rows()
        assert await held(env) == digest
        await asyncio.sleep(2)
        assert await env.node_names() == sorted(NAMES)


async def test_refilled_table_needs_no_approval(env: Environment) -> None:
    async with running_operator(env):
        await tenants(env)
        before = await everything(env)
        env.set_rows()
        await held(env)
        env.set_rows(*ROWS)

        await env.wait_for_condition("DeletionHeld", "False")
        await asyncio.sleep(2)
        assert await everything(env) == before


async def test_restart_and_other_deletions_keep_the_hold(env: Environment) -> None:
    async with running_operator(env):
        await tenants(env)
        env.set_rows()
        digest = await held(env)
    async with running_operator(env):
        await asyncio.sleep(3)
        assert await env.node_names() == sorted(NAMES)
        assert await held(env) == digest
        # One that is left makes it another set: what was approved for twelve is not for eleven.
        env.set_rows(ROWS[0])
        await env.annotate("hub", approve_deletion=digest)

        async def another() -> bool:
            message = (await env.condition("DeletionHeld"))["message"]
            return digest not in message

        await eventually(another)
        await asyncio.sleep(2)
        assert await env.node_names() == sorted(NAMES)


async def test_changed_table_holds_a_small_share_of_deletions(env: Environment) -> None:
    rows = tuple((f"t{number:02}", 1, "pro") for number in range(48))
    env.set_rows(*rows[:36], file="other.db")
    async with running_operator(env):
        await tenants(env, rows)
        other = {"sqlite": {"path": "other.db"}}
        await env.patch(HUBS, "hub", {"spec": {"source": other}})
        # 12 of 48 are under 30 %.
        digest = await held(env)
        await asyncio.sleep(2)
        assert len(await env.node_names()) == 48
        await env.annotate("hub", approve_deletion=digest)
        await env.wait_for_nodes(*(f"{uid}-web" for uid, *_ in rows[:36]), within=30)


async def test_deletion_of_a_form_is_not_held(env: Environment) -> None:
    async with running_operator(env):
        await tenants(env)
        second = config_map(nameTemplate="{{ .uid }}-second")
        await env.create_form("second", configMaps=[second])
        await env.wait_for_status(desired=24, ready=24)
        env.set_rows()
        await env.wait_for_condition("DeletionHeld", "True")
        await env.client.delete(FORMS, "second", env.namespace)
        await env.wait_for_nodes(*NAMES, within=30)
