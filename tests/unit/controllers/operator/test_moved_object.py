"""An entry that moves from one form to another: its object is handed over, not deleted."""

import asyncio

import pytest

from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, Environment, config_map
from operated.running_operator import (
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

UIDS = tuple(f"t{number}" for number in range(4))
SHARED = config_map(id="shared", nameTemplate="{{ .uid }}-shared")
FIRST = config_map(nameTemplate="{{ .uid }}-first")
SECOND = config_map(nameTemplate="{{ .uid }}-second")


async def shared_uids(env: Environment) -> list[str]:
    objects = [await env.get(CONFIG_MAPS, f"{uid}-shared") for uid in UIDS]
    return [obj["metadata"]["uid"] for obj in objects]


async def create_tenants(env: Environment) -> list[str]:
    """Create tenants of two forms; return the uids of the objects that will move."""
    env.set_rows(*((uid, 1, "pro") for uid in UIDS))
    await env.create_hub()
    await env.create_form("first", configMaps=[FIRST, SHARED])
    await env.create_form("second", configMaps=[SECOND])
    await env.wait_for_status(ready=8)
    return await shared_uids(env)


async def assert_handed_over(env: Environment, before: list[str]) -> None:
    """Wait until the nodes of the second form own the objects, and compare the objects' uids."""

    async def are_handed_over() -> bool:
        for uid in UIDS:
            obj = await env.get(CONFIG_MAPS, f"{uid}-shared")
            owners = [owner["name"] for owner in obj["metadata"].get("ownerReferences", [])]
            assert owners == [f"{uid}-second"]
        return True

    await eventually(are_handed_over, within=60, every=0.1)
    for uid in UIDS:
        await wait_for_node_ready(env, f"{uid}-second", within=60)
    assert await shared_uids(env) == before


async def test_object_is_handed_over_if_the_new_form_desires_it_before_the_old_one_drops_it(
    env: Environment,
) -> None:
    async with running_operator(env):
        before = await create_tenants(env)
        await env.patch(FORMS, "second", {"spec": {"configMaps": [SECOND, SHARED]}})
        for uid in UIDS:
            await wait_for_resource_state(env, f"{uid}-second", "shared", "Conflicted")
        await env.patch(FORMS, "first", {"spec": {"configMaps": [FIRST]}})
        await assert_handed_over(env, before)


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
async def test_object_is_handed_over_if_its_entry_moves_within_a_second(
    env: Environment, order: tuple[str, str]
) -> None:
    moved = {"first": [FIRST], "second": [SECOND, SHARED]}
    async with running_operator(env):
        before = await create_tenants(env)
        for form in order:
            await env.patch(FORMS, form, {"spec": {"configMaps": moved[form]}})
            # As `kubectl apply -f` of a folder: the first nodes are written before the second form.
            await asyncio.sleep(0.5)
        await assert_handed_over(env, before)
