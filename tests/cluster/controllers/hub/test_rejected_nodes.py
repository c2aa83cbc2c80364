"""Nodes that are too large for the API server."""

from operated.environment import FORMS, Environment, config_map


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
