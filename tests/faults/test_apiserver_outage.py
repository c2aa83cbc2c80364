"""The API server is killed during a rollout."""

import asyncio

from built_in_resources import DEPLOYMENTS
from control_plane import restart_apiserver
from lynq.cluster import LocalCluster
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, Environment, Object, config_map
from operated.manifests import deployment
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import eventually

UIDS = tuple(f"t{number}" for number in range(6))


def app(image: str) -> Object:
    annotations = {"local.lynq.sh/ready-after": "500ms"}
    manifest = deployment("app", replicas=1, image=image, annotations=annotations)
    return {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}


async def uids(env: Environment) -> dict[str, str]:
    """Return the uids of all nodes and their objects."""
    by_name: dict[str, str] = {}
    nodes = await env.nodes()
    for resource in (CONFIG_MAPS, DEPLOYMENTS):
        listed = await env.client.list(resource, "default", labels="lynq.sh/managed=true")
        by_name |= {
            f"{resource.kind} {o['metadata']['name']}": o["metadata"]["uid"] for o in listed
        }
    return by_name | {f"node {name}": node["metadata"]["uid"] for name, node in nodes.items()}


async def test_rollout_resumes_after_apiserver_outage(
    own_env: Environment, own_cluster: LocalCluster
) -> None:
    env = own_env
    env.set_rows(*((uid, 1, "pro") for uid in UIDS))
    async with running_operator(env):
        await env.create_hub(sync_interval="1s")
        await env.create_form(deployments=[app("nginx:1")], rollout={"maxSkew": 2})
        for uid in UIDS:
            await wait_for_node_ready(env, f"{uid}-web", within=60)
        before = await uids(env)
        assert len(before) == 3 * len(UIDS)

        changed = {"deployments": [app("nginx:2")], "configMaps": [config_map("now {{ .plan }}")]}
        await env.patch(FORMS, "web", {"spec": changed})

        async def half_updated() -> bool:
            generations = [
                node["metadata"]["annotations"]["lynq.sh/template-generation"]
                for node in (await env.nodes()).values()
            ]
            return 0 < generations.count("2") < len(UIDS)

        await eventually(half_updated, within=30)
        # One row is removed and another changes during the outage.
        outage = asyncio.create_task(restart_apiserver(own_cluster, env.client))
        rows = [(uid, 1, "pro") for uid in UIDS[:4]]
        env.set_rows(*rows, (UIDS[4], 1, "gold"))
        await outage

        async def all_changed() -> bool:
            listed = await env.client.list(DEPLOYMENTS, "default", labels="lynq.sh/managed=true")
            images = {
                resource["metadata"]["name"]: resource["spec"]["template"]["spec"]["containers"][0][
                    "image"
                ]
                for resource in listed
            }
            assert images == {f"{uid}-app": "nginx:2" for uid in UIDS[:5]}
            status = await env.form_status()
            assert status["rollout"]["phase"] == "Complete", status
            return True

        await eventually(all_changed, within=90, every=0.5)
        await env.wait_for_nodes(*(f"{uid}-web" for uid in UIDS[:5]))
        await env.wait_for_status(desired=5, ready=5, failed=0)
        plan = (await env.get(CONFIG_MAPS, f"{UIDS[4]}-settings"))["data"]["plan"]
        assert plan == "now gold"
        after = await uids(env)
    assert after == {name: uid for name, uid in before.items() if f" {UIDS[5]}-" not in name}
