"""Nodes whose name a foreign one has."""

from operated.environment import NODES, Environment


async def test_name_of_foreign_node_is_reported_and_counted(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    foreign = {
        "metadata": {"name": "acme-web", "namespace": env.namespace},
        "spec": {"uid": "acme", "templateRef": "web"},
    }
    await env.client.create(NODES, foreign)
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        assert "acme-web" in await env.wait_for_event("LynqNodeWriteFailed")
        await env.wait_for_status(desired=1, failed=1)
