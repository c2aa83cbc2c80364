"""Crashes before and after every write: the next operator converges to the same state.

The number of crashes is the property `crashes` of each test in a JUnit report.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from faults.crash import Crash, crashing_operator
from faults.tenants import Model, form_spec, managed_objects, wait_until_converged
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, HUBS, Environment
from waiting import eventually

Change = Callable[["Scenario"], Awaitable[None]]

STABLE = "stable"
"""A tenant whose row does not change, so its objects must survive."""


@dataclass(slots=True)
class Scenario:
    """One tenant that stays unchanged and one that changes."""

    env: Environment
    model: Model

    @classmethod
    async def begin(cls, env: Environment, other_namespace: str) -> "Scenario":
        model = Model(env, other_namespace, {STABLE: "pro", "acme": "pro"})
        model.write_rows()
        await env.create_hub()
        await env.create_form(**form_spec(other_namespace, model.text))
        return cls(env, model)

    async def force_sync(self) -> None:
        self.model.write_rows()
        await self.env.force_sync()


async def add_row(scenario: Scenario) -> None:
    scenario.model.plans["beta"] = "pro"
    await scenario.force_sync()


async def change_value(scenario: Scenario) -> None:
    scenario.model.plans["acme"] = "gold"
    await scenario.force_sync()


async def remove_row(scenario: Scenario) -> None:
    del scenario.model.plans["acme"]
    await scenario.force_sync()


async def change_form(scenario: Scenario) -> None:
    scenario.model.text = "plan {{ .plan }}"
    lists = form_spec(scenario.model.other_namespace, scenario.model.text)
    await scenario.env.patch(FORMS, "web", {"spec": lists})


async def run_with_crashes(scenario: Scenario, change: Change) -> int:
    """Apply a change in runs that crash at ever later writes; return the number of runs.

    Each write crashes twice, before and after it is sent, until a run converges without a crash.
    """
    await change(scenario)
    number = 0
    while True:
        number += 1
        crash = Crash(at=number // 2 + 1, is_sent=bool(number % 2))
        async with crashing_operator(scenario.env, crash):

            async def ended(crash: Crash = crash) -> bool:
                if not crash.happened.is_set():
                    await scenario.model.verify()
                return True

            await eventually(ended, within=60, every=0.05)
            if not crash.happened.is_set():
                return number


@pytest.mark.parametrize("change", [add_row, change_value, remove_row, change_form])
async def test_change_converges_after_crash_at_every_write(
    env: Environment,
    other_namespace: str,
    change: Change,
    request: pytest.FixtureRequest,
) -> None:
    scenario = await Scenario.begin(env, other_namespace)
    async with crashing_operator(env, Crash()):
        await wait_until_converged(scenario.model)
    before = await scenario.model.uids(STABLE)

    crashes = await run_with_crashes(scenario, change) - 1
    request.node.user_properties.append(("crashes", crashes))
    assert crashes > 1
    assert await scenario.model.uids(STABLE) == before
    last = Crash()
    async with crashing_operator(env, last):
        await wait_until_converged(scenario.model)
        await env.wait_until_idle()


@pytest.mark.parametrize("is_sent", [False, True])
async def test_hub_deletion_completes_after_crash_at_every_write(
    env: Environment,
    other_namespace: str,
    request: pytest.FixtureRequest,
    *,
    is_sent: bool,
) -> None:
    scenario = await Scenario.begin(env, other_namespace)
    async with crashing_operator(env, Crash()):
        await wait_until_converged(scenario.model)
    await env.client.delete(HUBS, "hub", env.namespace)

    async def all_gone() -> bool:
        hubs = await env.client.list(HUBS, env.namespace)
        return not hubs.items and not await env.node_names()

    crashes = 0
    for number in range(1, 40):
        crash = Crash(at=number, is_sent=is_sent)
        async with crashing_operator(env, crash):

            async def ended(crash: Crash = crash) -> bool:
                return crash.happened.is_set() or await all_gone()

            await eventually(ended, within=60, every=0.05)
            crashes += crash.happened.is_set()
        if await all_gone():
            break
    request.node.user_properties.append(("crashes", crashes))
    await eventually(all_gone)
    assert await managed_objects(env, CONFIG_MAPS, env.namespace) == {}
    assert await managed_objects(env, CONFIG_MAPS, other_namespace) == {}
