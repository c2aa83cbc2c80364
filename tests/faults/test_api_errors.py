"""Rows and forms change while requests fail and watches break: the end is that of a calm day."""

import asyncio
import random

import pytest

from background_tasks import run_in_background
from cluster.controllers.environment import FORMS, Environment
from faults.crash import operator_behind
from faults.fault_injection import FaultInjector
from faults.tenants import Model, settle, tenant_form

LOYAL = ("loyal-1", "loyal-2")
"""Tenants whose rows never change."""


@pytest.mark.parametrize("seed", [1, 2])
async def test_state_converges_after_api_errors(
    env: Environment, elsewhere: str, seed: int
) -> None:
    chance = random.Random(seed)
    weather = FaultInjector(chance)
    model = Model(env, elsewhere)
    model.plans = dict.fromkeys((*LOYAL, *(f"t{number}" for number in range(5))), "pro")
    model.write_rows()
    async with run_in_background(operator_behind(env, weather).run(asyncio.Event())):
        weather.bad = False
        await env.create_hub(source={"syncInterval": "1s"})
        await env.create_form("web", **tenant_form(elsewhere, model.text))
        await settle(model)
        before = await model.uids(*LOYAL)

        weather.bad = True
        async with run_in_background(weather.cut_watches()):
            for number in range(6):
                model.disturb(chance, spare=LOYAL)
                if number % 2:
                    model.text = f"{{{{ .plan }}}} {number}"
                    await env.patch(FORMS, "web", {"spec": tenant_form(elsewhere, model.text)})
                await asyncio.sleep(chance.uniform(0.2, 1.2))
        weather.bad = False
        await settle(model)
        assert await model.uids(*LOYAL) == before
        # Reached, and it stays.
        await asyncio.sleep(2)
        weather.writes.clear()
        await asyncio.sleep(4)
        assert weather.writes == []
    assert min(weather.refused, weather.lost, weather.cuts) > 0
