"""maxSkew under faults: the history never has more updating nodes than allowed."""

import asyncio
import random

from background_tasks import run_in_background
from faults.crash import intercepted_operator
from faults.fault_injection import FaultInjector
from operated.environment import FORMS, Environment, Object
from operated.history import recording
from operated.manifests import deployment
from waiting import eventually

UIDS = tuple(f"t{number}" for number in range(6))
SKEW = 2
SEED = 1


def app(image: str) -> Object:
    """Return an entry for a Deployment with the row's plan that becomes ready after 400 ms."""
    annotations = {"local.lynq.sh/ready-after": "400ms", "plan": "{{ .plan }}"}
    manifest = deployment("app", replicas=1, image=image, annotations=annotations)
    return {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}


async def is_complete(env: Environment, image: str, plan: str) -> bool:
    """Return whether all nodes are ready with this image and this plan."""
    rollout = (await env.form_status()).get("rollout", {})
    assert rollout.get("phase") == "Complete", rollout
    assert rollout["readyUpdatedNodes"] == len(UIDS), rollout
    for node in (await env.nodes()).values():
        containers = node["spec"]["deployments"][0]["spec"]["spec"]["template"]["spec"]
        assert containers["containers"][0]["image"] == image
        assert plan in node["metadata"]["annotations"]["lynq.sh/extra"]
    return True


async def test_max_skew_holds_during_api_errors_and_restarts(env: Environment) -> None:
    rng = random.Random(SEED)
    faults = FaultInjector(rng)
    env.set_rows(*((uid, 1, "pro") for uid in UIDS))
    await env.create_hub(sync_interval="1s")
    await env.create_form(configMaps=[], deployments=[app("nginx:1")], rollout={"maxSkew": SKEW})
    image, plan = "nginx:1", "pro"
    async with recording(env) as history:
        for number in range(5):
            # Change and restart come at random steps of the rollout.
            async with run_in_background(intercepted_operator(env, faults).run(asyncio.Event())):
                await asyncio.sleep(rng.uniform(1, 3))
                if number % 2:
                    image = f"nginx:{number}"
                    await env.patch(FORMS, "web", {"spec": {"deployments": [app(image)]}})
                else:
                    plan = f"plan-{number}"
                    env.set_rows(*((uid, 1, plan) for uid in UIDS))
                await asyncio.sleep(rng.uniform(1, 3))
        faults.active = False
        async with run_in_background(intercepted_operator(env, faults).run(asyncio.Event())):
            await eventually(lambda: is_complete(env, image, plan), within=60, every=0.25)
    assert 0 < history.most_updating("Form") <= SKEW
    assert 0 < history.most_updating("Row") <= SKEW
