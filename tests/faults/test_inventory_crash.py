"""A crash between the first object and the status, and then a form without the kind of the object.

Nothing but the inventory, which is written before the first object, names the kind then: no spec
has it, so no watch would find the object (docs/adr/0028).
"""

from cluster.controllers.environment import FORMS, NODES, Environment, Object
from faults.crash import Crash, crashing_operator
from lynq.kube import Resource
from lynq.kube.errors import NotFound
from waiting import eventually

SERVICE_ACCOUNTS = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)


def account(namespace: str) -> Object:
    return {
        "id": "account",
        "nameTemplate": "{{ .uid }}-account",
        "targetNamespace": namespace,
        "spec": {"apiVersion": "v1", "kind": "ServiceAccount"},
    }


async def test_object_of_a_kind_that_left_the_form_is_deleted_after_a_crash(
    env: Environment, other_namespace: str
) -> None:
    async def exists() -> bool:
        try:
            await env.client.get(SERVICE_ACCOUNTS, "acme-account", other_namespace)
        except NotFound:
            return False
        return True

    async def is_updated() -> bool:
        return bool((await env.get(NODES, "acme-web"))["metadata"]["generation"] > 1)

    async def is_deleted() -> bool:
        return not await exists()

    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(serviceAccounts=[account(other_namespace)])
    crash = Crash(at=1, path="/serviceaccounts/acme-account", is_sent=True)
    async with crashing_operator(env, crash):
        await crash.happened.wait()
    assert await exists()

    await env.patch(FORMS, "web", {"spec": {"serviceAccounts": []}})
    async with env.run_controllers():
        await eventually(is_updated)
    async with crashing_operator(env, Crash()):
        await eventually(is_deleted)
