"""Rows and forms change while API requests fail and watches are closed."""

import asyncio
import random

import pytest

from background_tasks import run_in_background
from faults.crash import intercepted_operator
from faults.fault_injection import FaultInjector
from faults.tenants import Model, form_spec, wait_until_converged
from operated.environment import FORMS, Environment
from waiting import settled, stays

STABLE = ("stable-1", "stable-2")
"""Tenants whose rows never change, so their objects must survive."""


@pytest.mark.parametrize("seed", [1, 2])
async def test_state_converges_after_api_errors(
    env: Environment,
    other_namespace: str,
    seed: int,
    request: pytest.FixtureRequest,
) -> None:
    rng = random.Random(seed)
    faults = FaultInjector(rng)
    model = Model(env, other_namespace)
    model.plans = dict.fromkeys((*STABLE, *(f"t{number}" for number in range(5))), "pro")
    model.write_rows()
    async with run_in_background(intercepted_operator(env, faults).run(asyncio.Event())):
        faults.active = False
        await env.create_hub(sync_interval="1s")
        await env.create_form("web", **form_spec(other_namespace, model.text))
        await wait_until_converged(model)
        before = await model.uids(*STABLE)

        faults.active = True
        async with run_in_background(faults.cut_watches()):
            for number in range(6):
                model.change_rows(rng, spare=STABLE)
                if number % 2:
                    model.text = f"{{{{ .plan }}}} {number}"
                    await env.patch(FORMS, "web", {"spec": form_spec(other_namespace, model.text)})
                # The next change comes at a random step of the reconcile.
                await asyncio.sleep(rng.uniform(0.2, 1.2))
        faults.active = False
        await wait_until_converged(model)
        assert await model.uids(*STABLE) == before
        # Statuses of hub and form follow, and a reconcile that failed last is repeated after its
        # back-off; then nothing is written.
        await settled(lambda: len(faults.writes), seconds=6, within=60)
        faults.writes.clear()
        await stays(lambda: faults.writes == [], seconds=4)
    request.node.user_properties += [
        ("errors", faults.rejected + faults.lost),
        ("cuts", faults.cuts),
    ]
    assert min(faults.rejected, faults.lost, faults.cuts) > 0
