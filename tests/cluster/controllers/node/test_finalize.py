"""The finalizer waits for the pods of a workload, which the controller-manager deletes."""

from built_in_resources import DEPLOYMENTS, PODS
from operated.builders import (
    NODE,
    create_node,
    delete_node,
    edit,
    entry,
    exists,
    manifest_entry,
    wait_for_object,
)
from operated.environment import NODES, Environment, Object
from operated.manifests import deployment
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)
from waiting import stays

HELD: Object = {"metadata": {"finalizers": ["example.com/hold"]}}
RELEASED: Object = {"metadata": {"finalizers": None}}


async def test_dependencies_of_a_workload_stay_until_its_pods_are_gone(env: Environment) -> None:
    web = manifest_entry("web", deployment("web"), dependIds=["settings"])
    async with running_operator(env):
        await create_node(env, entry("settings"), deployments=[web])
        await wait_for_node_ready(env, NODE)
        listed = await env.client.list(PODS, env.namespace)
        pods = [pod["metadata"]["name"] for pod in listed.items]
        for pod in pods:
            await edit(env, pod, HELD, resource=PODS)
        await delete_node(env)
        for pod in pods:
            await wait_for_object(env, pod, is_deleting, PODS)
        await stays(lambda: exists(env, "settings"), seconds=1, every=0.1)
        assert await exists(env, "web", DEPLOYMENTS)
        for pod in pods:
            await edit(env, pod, RELEASED, resource=PODS)
        await wait_for_deletion(env, NODES, NODE)
        assert not await exists(env, "settings")


def is_deleting(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]
