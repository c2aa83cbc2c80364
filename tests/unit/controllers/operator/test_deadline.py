"""progressDeadlineSeconds: a rollout without progress fails, and can be repaired."""

from operated.environment import FORMS, Environment, Object
from operated.manifests import deployment
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import eventually

BROKEN_FOR_PRO = '{{ if eq .plan "pro" }}nonexistent{{ else }}nginx{{ end }}:2'


def app(image: str) -> Object:
    manifest = deployment("app", replicas=1, image=image)
    return {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}


async def wait_for_rollout(env: Environment, phase: str, generation: int) -> Object:
    async def matches() -> Object:
        rollout: Object = (await env.form_status()).get("rollout", {})
        assert (rollout.get("phase"), rollout.get("targetGeneration")) == (phase, generation), (
            rollout
        )
        return rollout

    return await eventually(matches, within=90, every=0.1)


async def create_stuck_rollout(env: Environment) -> None:
    """Create three nodes, of which the first never becomes ready with the second form."""
    env.set_rows(*((uid, 1, "pro") for uid in ("t0", "t1", "t2")))
    await env.create_hub()
    limit = {"maxSkew": 1, "progressDeadlineSeconds": 60}
    await env.create_form(configMaps=[], deployments=[app("nginx:1")], rollout=limit)
    for name in ("t0-web", "t1-web", "t2-web"):
        await wait_for_node_ready(env, name, within=30)
    await wait_for_rollout(env, "Complete", 1)
    await env.patch(FORMS, "web", {"spec": {"deployments": [app(BROKEN_FOR_PRO)]}})
    await wait_for_rollout(env, "InProgress", 2)


async def test_failed_rollout_recovers_after_row_change(env: Environment) -> None:
    async with running_operator(env):
        await create_stuck_rollout(env)
    async with running_operator(env) as process:
        failed = await wait_for_rollout(env, "Failed", 2)
        assert failed["updatedNodes"] == 1
        assert "t0-web" in failed["message"]
        labels = {"form": "web", "namespace": env.namespace}
        assert process.registry.get_sample_value("lynqform_rollout_phase", labels) == 2

        env.set_rows(*((uid, 1, "gold") for uid in ("t0", "t1", "t2")))
        await env.force_sync()
        complete = await wait_for_rollout(env, "Complete", 2)
        assert complete["readyUpdatedNodes"] == 3
        assert process.registry.get_sample_value("lynqform_rollout_phase", labels) == 3


async def test_failed_rollout_recovers_after_form_change(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_stuck_rollout(env)
    async with running_operator(env):
        await wait_for_rollout(env, "Failed", 2)
        await env.patch(FORMS, "web", {"spec": {"deployments": [app("nginx:3")]}})
        complete = await wait_for_rollout(env, "Complete", 3)
        assert complete["readyUpdatedNodes"] == 3
        assert complete["startTime"] <= complete["completionTime"]
