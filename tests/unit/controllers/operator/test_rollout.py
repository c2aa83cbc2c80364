"""maxSkew end to end, checked against the whole history of writes."""

from collections.abc import Iterable

import pytest

from operated.environment import FORMS, Environment, Object
from operated.history import History, recording
from operated.manifests import deployment
from operated.running_operator import (
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays

UIDS = tuple(f"t{number}" for number in range(6))
NAMES = tuple(f"{uid}-web" for uid in UIDS)


def app(image: str = "nginx:1", **behavior: str) -> Object:
    """Return an entry for a Deployment with the row's plan that becomes ready after 300 ms."""
    behavior = {"ready-after": "300ms"} | behavior
    annotations = {
        f"local.lynq.sh/{key.replace('_', '-')}": value for key, value in behavior.items()
    }
    manifest = deployment("app", replicas=1, image=image, annotations=annotations)
    manifest["spec"]["template"]["metadata"]["annotations"]["plan"] = "{{ .plan }}"
    return {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}


async def wait_for_rollout(
    env: Environment, generation: int, nodes: int, *, within: float = 60
) -> None:
    """Wait until the form reports a complete rollout."""

    async def complete() -> bool:
        rollout = (await env.form_status()).get("rollout", {})
        assert rollout.get("phase") == "Complete", rollout
        assert rollout["targetGeneration"] == generation
        # While nodes are being created, all existing ones may already be ready.
        return bool(rollout["readyUpdatedNodes"] == nodes)

    await eventually(complete, within=within, every=0.1)


async def create_tenants(env: Environment, skew: int, *, uids: tuple[str, ...] = UIDS) -> None:
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    await env.create_hub()
    limit = {"maxSkew": skew, "progressDeadlineSeconds": 60}
    await env.create_form(configMaps=[], deployments=[app()], rollout=limit)


async def update_form(env: Environment, *deployments: Object) -> None:
    await env.patch(FORMS, "web", {"spec": {"deployments": list(deployments)}})


def updated(history: History, generation: str) -> list[str]:
    """Return the nodes that were written with a generation of the form."""
    return [name for name, written in history.writes() if written == generation]


@pytest.mark.parametrize("skew", [1, 2])
async def test_updating_nodes_never_exceed_max_skew(env: Environment, skew: int) -> None:
    async with recording(env) as history, running_operator(env):
        await create_tenants(env, skew)
        await wait_for_rollout(env, 1, 6)

        # Slots are freed by readiness events: the sync interval is an hour.
        await update_form(env, app("nginx:2"))
        await wait_for_rollout(env, 2, 6)
        await env.wait_for_event("RolloutThrottled", containing=f"maxSkew is {skew}")
    assert history.most_updating("Form") == skew
    assert history.most_updating("Row") == skew
    assert sorted(history.writes()) == sorted((name, g) for name in NAMES for g in ("1", "2"))


async def test_restart_during_rollout_respects_max_skew(env: Environment) -> None:
    async with recording(env) as history:
        async with running_operator(env):
            await create_tenants(env, 2)
            await wait_for_rollout(env, 1, 6)
            await update_form(env, app("nginx:2", ready_after="1s"))

            async def half_updated() -> bool:
                status = (await env.form_status())["rollout"]
                return bool(status["targetGeneration"] == 2 and status.get("updatedNodes", 0) >= 3)

            await eventually(half_updated, within=30)
        async with running_operator(env):
            await wait_for_rollout(env, 2, 6)
    assert history.most_updating("Form") == 2
    assert sorted(history.writes()) == sorted((name, g) for name in NAMES for g in ("1", "2"))


async def test_changed_rows_respect_max_skew(env: Environment) -> None:
    async with recording(env) as history, running_operator(env):
        await create_tenants(env, 1, uids=UIDS[:4])
        await wait_for_rollout(env, 1, 4)
        env.set_rows(*((uid, 1, "gold") for uid in UIDS[:4]))
        await env.force_sync()

        async def all_gold() -> bool:
            nodes = (await env.nodes()).values()
            return all("gold" in node["metadata"]["annotations"]["lynq.sh/extra"] for node in nodes)

        await eventually(all_gold, within=30)
        await wait_for_rollout(env, 1, 4)
    assert history.most_updating("Row") == 1
    assert len(history.writes()) == 8


async def test_stuck_node_blocks_rollout_until_its_row_is_repaired(
    env: Environment,
) -> None:
    async with recording(env) as history, running_operator(env):
        await create_tenants(env, 1, uids=UIDS[:3])
        await wait_for_rollout(env, 1, 3)
        # Nodes with the plan "pro" never become ready with this image.
        await update_form(env, app('{{ if eq .plan "pro" }}nonexistent{{ else }}nginx{{ end }}:2'))

        async def stuck() -> str:
            rollout = (await env.form_status())["rollout"]
            assert (rollout["targetGeneration"], rollout.get("updatedNodes")) == (2, 1), rollout
            return updated(history, "2")[0]

        first = await eventually(stuck, within=30)
        entry = await wait_for_resource_state(env, first, "app", "Progressing")
        assert entry["message"]
        await stays(lambda: updated(history, "2") == [first], seconds=2, every=0.1)

        # Other rows wait for the stuck node, which receives its new values.
        env.set_rows(*((uid, 1, "gold") for uid in UIDS[:3]))
        await env.force_sync()
        await wait_for_rollout(env, 2, 3)
        for name in NAMES[:3]:
            await wait_for_node_ready(env, name)
    assert history.most_updating("Form") == 1


async def test_next_form_generation_repairs_stuck_rollout(env: Environment) -> None:
    async with recording(env) as history, running_operator(env):
        await create_tenants(env, 2, uids=UIDS[:4])
        await wait_for_rollout(env, 1, 4)
        await update_form(env, app("nonexistent:2"))

        await eventually(lambda: len(updated(history, "2")) == 2, within=30)
        await stays(lambda: len(updated(history, "2")) == 2, seconds=1, every=0.1)
        await update_form(env, app("nginx:3"))
        await wait_for_rollout(env, 3, 4)
    assert history.most_updating("Form") == 2
    # The stuck nodes are updated first.
    repaired = updated(history, "3")
    assert set(repaired[:2]) == set(updated(history, "2"))
    assert len(repaired) == 4


async def test_broken_tenant_stops_neither_rows_nor_rollout(env: Environment) -> None:
    broken = '{{ if eq .plan "bad" }}nonexistent{{ else }}nginx{{ end }}'
    entry = {**app(f"{broken}:1"), "timeoutSeconds": 1}
    env.set_rows(("t0", 1, "bad"))
    await env.create_hub()
    await env.create_form(configMaps=[], deployments=[entry], rollout={"maxSkew": 1})
    others = ((uid, 1, "pro") for uid in UIDS[1:])
    async with running_operator(env):
        await wait_for_resource_state(env, "t0-web", "app", "Failed")
        env.set_rows(("t0", 1, "bad"), *others)
        await env.force_sync()
        for name in NAMES[1:]:
            await wait_for_node_ready(env, name, within=20)

        await update_form(env, {**entry, **app(f"{broken}:2")})
        await eventually(lambda: are_settled(env, NAMES[1:], generation="2"), within=30)


async def are_settled(env: Environment, names: Iterable[str], *, generation: str) -> bool:
    """Return whether all nodes were Ready with this generation of the form."""
    nodes = await env.nodes()
    for name in names:
        annotations = nodes[name]["metadata"]["annotations"]
        assert annotations["lynq.sh/template-generation"] == generation, name
        settled = nodes[name]["status"].get("settledUpdateStart")
        assert settled == annotations["lynq.sh/rollout-update-start"], name
    return True
