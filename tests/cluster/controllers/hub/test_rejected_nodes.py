"""Nodes that the API server rejects."""

from operated.environment import FORMS, NODES, Environment, config_map


async def test_oversized_node_is_reported_and_does_not_block_others(
    env: Environment,
) -> None:
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "free"))
    await env.create_hub()
    # Oversized for one row only: the node holds rendered annotations of its resources.
    huge = '{{ if eq .uid "acme" }}{{ repeat 900000 "x" }}{{ end }}'
    notes = {"one": huge, "two": huge, "three": huge}
    await env.create_form(configMaps=[config_map(annotationsTemplate=notes)])
    async with env.run_controllers():
        await env.wait_for_nodes("beta-web")
        message = await env.wait_for_event("LynqNodeWriteFailed")
        await env.wait_for_status(desired=2, failed=1)
        assert "acme-web" in message
        assert len(await env.events("LynqNodeWriteFailed")) == 1

        await env.patch(FORMS, "web", {"spec": {"configMaps": [config_map()]}})
        await env.wait_for_nodes("acme-web", "beta-web")
        await env.wait_for_status(desired=2, failed=0)


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
