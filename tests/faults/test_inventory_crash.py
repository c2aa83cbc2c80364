"""A crash between the first object and the status, and then another form.

Nothing but the inventory, which the hub writes with the node, names the kind then: no spec has it,
so no watch would find the object (docs/adr/0028).
"""

from built_in_resources import SERVICE_ACCOUNTS
from faults.crash import Crash, crashing_operator
from lynq.kube.errors import NotFound
from operated.environment import FORMS, NODES, Environment, Object
from waiting import eventually


def account(namespace: str, **fields: str) -> Object:
    return {
        "id": "account",
        "nameTemplate": "{{ .uid }}-account",
        "targetNamespace": namespace,
        "spec": {"apiVersion": "v1", "kind": "ServiceAccount"},
        **fields,
    }


async def crash_after_the_account(env: Environment, namespace: str) -> None:
    """Create a hub and a form; crash when the account is applied and no status is written."""
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(serviceAccounts=[account(namespace)])
    crash = Crash(at=1, path="/serviceaccounts/acme-account", is_sent=True)
    async with crashing_operator(env, crash):
        await crash.happened.wait()
    node = await env.get(NODES, "acme-web")
    assert not node.get("status", {}).get("resources")


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

    await crash_after_the_account(env, other_namespace)
    assert await exists()

    await env.patch(FORMS, "web", {"spec": {"serviceAccounts": []}})
    async with env.run_controllers():
        await eventually(is_updated)
    async with crashing_operator(env, Crash()):
        await eventually(is_deleted)


async def test_object_whose_entry_became_retain_with_another_name_is_retained_after_a_crash(
    env: Environment, other_namespace: str
) -> None:
    await crash_after_the_account(env, other_namespace)
    renamed = account(other_namespace, nameTemplate="{{ .uid }}-new", deletionPolicy="Retain")
    await env.patch(FORMS, "web", {"spec": {"serviceAccounts": [renamed]}})

    async def is_orphan() -> bool:
        # The id in the inventory is that of the new entry, whose policy counts.
        live = await env.client.get(SERVICE_ACCOUNTS, "acme-account", other_namespace)
        return bool(live["metadata"]["labels"].get("lynq.sh/orphaned") == "true")

    async with crashing_operator(env, Crash()):
        await eventually(is_orphan)
        assert await env.client.get(SERVICE_ACCOUNTS, "acme-new", other_namespace)
