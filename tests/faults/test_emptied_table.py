"""An emptied table deletes no tenant without approval."""

import asyncio
import re

from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, HUBS, Environment, Object, config_map
from operated.running_operator import running_operator, wait_for_deletion
from waiting import eventually, stays

ROWS = tuple((f"t{number:02}", 1, "pro") for number in range(12))
NAMES = tuple(f"{uid}-web" for uid, *_ in ROWS)
APPROVAL = "lynq.sh/approve-deletion"


async def create_tenants(env: Environment, rows: tuple[tuple[str, int, str], ...] = ROWS) -> None:
    env.set_rows(*rows)
    await env.create_hub(sync_interval="1s")
    await env.create_form()
    await env.wait_for_nodes(*(f"{uid}-web" for uid, *_ in rows), within=30)

    async def ready() -> bool:
        return bool((await env.status()).get("ready") == len(rows))

    await eventually(ready, within=60)


async def all_objects(env: Environment) -> dict[str, Object]:
    """Return all nodes and managed ConfigMaps."""
    settings = await env.client.list(CONFIG_MAPS, env.namespace, labels="lynq.sh/managed=true")
    return await env.nodes() | {obj["metadata"]["name"]: obj for obj in settings.items}


async def wait_for_hold(env: Environment) -> str:
    """Wait until deletions are held; return the digest that approves them."""
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
        await create_tenants(env)
        before = await all_objects(env)
        assert len(before) == 24
        env.set_rows()
        digest = await wait_for_hold(env)
        await env.wait_for_event("DeletionHeld")

        wrong = digest[1:] + ("0" if digest[0] != "0" else "1")
        await env.annotate("hub", approve_deletion=wrong)

        async def unchanged() -> bool:
            return await all_objects(env) == before

        await stays(unchanged, seconds=3, every=0.1)

        await env.annotate("hub", approve_deletion=digest)
        await env.wait_for_nodes(within=30)
        for uid, *_ in ROWS:
            await wait_for_deletion(env, CONFIG_MAPS, f"{uid}-settings")
        await env.wait_for_condition("DeletionHeld", "False")

        async def approval_removed() -> bool:
            return await approval(env) is None

        await eventually(approval_removed)
        # The same tenants return: an approval is valid once. One sync interval passes before.
        await asyncio.sleep(1)
        env.set_rows(*ROWS)
        await env.wait_for_nodes(*NAMES, within=30)
        env.set_rows()
        assert await wait_for_hold(env) != digest
        await env.nodes_stay(*NAMES, seconds=2)


async def test_refilled_table_needs_no_approval(env: Environment) -> None:
    async with running_operator(env):
        await create_tenants(env)
        before = await all_objects(env)
        env.set_rows()
        await wait_for_hold(env)
        env.set_rows(*ROWS)

        await env.wait_for_condition("DeletionHeld", "False")

        async def unchanged() -> bool:
            return await all_objects(env) == before

        await stays(unchanged, seconds=2, every=0.1)


async def test_restart_and_other_deletions_keep_the_hold(env: Environment) -> None:
    async with running_operator(env):
        await create_tenants(env)
        env.set_rows()
        digest = await wait_for_hold(env)
    async with running_operator(env):
        await env.nodes_stay(*NAMES, seconds=3)
        assert await wait_for_hold(env) == digest
        # An approval of twelve deletions does not cover eleven of them.
        env.set_rows(ROWS[0])
        await env.annotate("hub", approve_deletion=digest)

        async def digest_changed() -> bool:
            message = (await env.condition("DeletionHeld"))["message"]
            return digest not in message

        await eventually(digest_changed)
        await env.nodes_stay(*NAMES, seconds=2)


async def test_changed_table_holds_a_small_share_of_deletions(env: Environment) -> None:
    rows = tuple((f"t{number:02}", 1, "pro") for number in range(48))
    env.set_rows(*rows[:36], file="other.db")
    async with running_operator(env):
        await create_tenants(env, rows)
        other = {"sqlite": {"path": "other.db"}}
        await env.patch(HUBS, "hub", {"spec": {"source": other}})
        # 12 of 48 are under 30 %.
        digest = await wait_for_hold(env)
        await env.nodes_stay(*(f"{uid}-web" for uid, *_ in rows), seconds=2)
        await env.annotate("hub", approve_deletion=digest)
        await env.wait_for_nodes(*(f"{uid}-web" for uid, *_ in rows[:36]), within=30)


async def test_deletion_of_a_form_is_not_held(env: Environment) -> None:
    async with running_operator(env):
        await create_tenants(env)
        second = config_map(nameTemplate="{{ .uid }}-second")
        await env.create_form("second", configMaps=[second])
        await env.wait_for_status(desired=24, ready=24)
        env.set_rows()
        await env.wait_for_condition("DeletionHeld", "True")
        await env.client.delete(FORMS, "second", env.namespace)
        await env.wait_for_nodes(*NAMES, within=30)
