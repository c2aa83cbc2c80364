"""A crash before and after every write: the operator that follows brings all to the same end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from cluster.controllers.environment import FORMS, HUBS, Environment
from faults.crash import Crash, crashing
from faults.tenants import Model, managed_objects, settle, tenant_form
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

Change = Callable[["Scene"], Awaitable[None]]

LOYAL = "loyal"
"""A tenant whose row does not change."""


@dataclass(slots=True)
class Scene:
    """A tenant that is ready, and another that is about to change."""

    env: Environment
    model: Model

    @classmethod
    async def begin(cls, env: Environment, elsewhere: str) -> "Scene":
        model = Model(env, elsewhere, {LOYAL: "pro", "acme": "pro"})
        model.write_rows()
        await env.create_hub()
        await env.create_form(**tenant_form(elsewhere, model.text))
        return cls(env, model)

    async def force_sync(self) -> None:
        self.model.write_rows()
        await self.env.force_sync()


async def a_row_comes(scene: Scene) -> None:
    scene.model.plans["beta"] = "pro"
    await scene.force_sync()


async def a_value_changes(scene: Scene) -> None:
    scene.model.plans["acme"] = "gold"
    await scene.force_sync()


async def a_row_goes(scene: Scene) -> None:
    del scene.model.plans["acme"]
    await scene.force_sync()


async def a_form_changes(scene: Scene) -> None:
    scene.model.text = "plan {{ .plan }}"
    lists = tenant_form(scene.model.elsewhere, scene.model.text)
    await scene.env.patch(FORMS, "web", {"spec": lists})


async def crashes(scene: Scene, change: Change) -> int:
    """Let a change be carried out in ever longer runs that crash; return how many there were.

    The first is crashed at its first write, the next at its second and so on, before or after it,
    until one is done before its crash would come.
    """
    await change(scene)
    number = 0
    while True:
        number += 1
        crash = Crash(at=number // 2 + 1, heard=bool(number % 2))
        async with crashing(scene.env, crash):

            async def over(crash: Crash = crash) -> bool:
                if not crash.happened.is_set():
                    await scene.model.check()
                return True

            await eventually(over, within=60, every=0.05)
            if not crash.happened.is_set():
                return number


@pytest.mark.parametrize("change", [a_row_comes, a_value_changes, a_row_goes, a_form_changes])
async def test_change_converges_after_crash_at_every_write(
    env: Environment, elsewhere: str, change: Change
) -> None:
    scene = await Scene.begin(env, elsewhere)
    async with crashing(env, Crash()):
        await settle(scene.model)
    before = await scene.model.uids(LOYAL)

    assert await crashes(scene, change) > 2
    assert await scene.model.uids(LOYAL) == before
    last = Crash()
    async with crashing(env, last):
        await settle(scene.model)
        await env.wait_until_idle()


@pytest.mark.parametrize("heard", [False, True])
async def test_hub_deletion_completes_after_crash_at_every_write(
    env: Environment, elsewhere: str, *, heard: bool
) -> None:
    scene = await Scene.begin(env, elsewhere)
    async with crashing(env, Crash()):
        await settle(scene.model)
    await env.client.delete(HUBS, "hub", env.namespace)

    async def all_gone() -> bool:
        hubs = await env.client.list(HUBS, env.namespace)
        return not hubs.items and not await env.node_names()

    for number in range(1, 40):
        crash = Crash(at=number, heard=heard)
        async with crashing(env, crash):

            async def over(crash: Crash = crash) -> bool:
                return crash.happened.is_set() or await all_gone()

            await eventually(over, within=60, every=0.05)
        if not crash.happened.is_set() or await all_gone():
            break
    await eventually(all_gone)
    assert await managed_objects(env, CONFIG_MAPS, env.namespace) == {}
    assert await managed_objects(env, CONFIG_MAPS, elsewhere) == {}
