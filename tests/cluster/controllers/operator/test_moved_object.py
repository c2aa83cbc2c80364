"""An entry that moves from one form to another: its object is handed over, not deleted."""

from cluster.controllers.environment import FORMS, Environment, config_map
from cluster.controllers.running_operator import (
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

UIDS = tuple(f"t{number}" for number in range(4))
SHARED = config_map(id="shared", nameTemplate="{{ .uid }}-shared")
FIRST = config_map(nameTemplate="{{ .uid }}-first")
SECOND = config_map(nameTemplate="{{ .uid }}-second")


async def shared_uids(env: Environment) -> list[str]:
    objects = [await env.get(CONFIG_MAPS, f"{uid}-shared") for uid in UIDS]
    return [obj["metadata"]["uid"] for obj in objects]


async def test_object_is_handed_over_if_the_new_form_desires_it_before_the_old_one_drops_it(
    env: Environment,
) -> None:
    env.set_rows(*((uid, 1, "pro") for uid in UIDS))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form("first", configMaps=[FIRST, SHARED])
        await env.create_form("second", configMaps=[SECOND])
        await env.wait_for_status(ready=8)
        before = await shared_uids(env)

        await env.patch(FORMS, "second", {"spec": {"configMaps": [SECOND, SHARED]}})
        for uid in UIDS:
            await wait_for_resource_state(env, f"{uid}-second", "shared", "Conflicted")
        await env.patch(FORMS, "first", {"spec": {"configMaps": [FIRST]}})

        async def are_handed_over() -> bool:
            for uid in UIDS:
                obj = await env.get(CONFIG_MAPS, f"{uid}-shared")
                owners = [owner["name"] for owner in obj["metadata"].get("ownerReferences", [])]
                assert owners == [f"{uid}-second"]
            return True

        await eventually(are_handed_over, within=30, every=0.1)
        for uid in UIDS:
            await wait_for_node_ready(env, f"{uid}-second")
        assert await shared_uids(env) == before
