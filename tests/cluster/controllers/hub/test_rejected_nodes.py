"""Nodes that the API server does not take as their rows and form want them."""

from cluster.controllers.environment import FORMS, NODES, Environment, config_map


async def test_a_node_that_is_too_large_is_told_and_counted_and_stops_nobody(
    env: Environment,
) -> None:
    env.rows(("acme", 1, "pro"), ("beta", 1, "free"))
    await env.hub()
    # Large for one row only: in the node, annotations of resources are finished texts.
    huge = '{{ if eq .uid "acme" }}{{ repeat 900000 "x" }}{{ end }}'
    notes = {"one": huge, "two": huge, "three": huge}
    await env.form(configMaps=[config_map(annotationsTemplate=notes)])
    async with env.operator():
        await env.has_nodes("beta-web")
        told = await env.has_event("LynqNodeWriteFailed")
        await env.has_status(desired=2, failed=1)
        assert "acme-web" in told
        assert len(await env.events("LynqNodeWriteFailed")) == 1

        await env.change(FORMS, "web", {"spec": {"configMaps": [config_map()]}})
        await env.has_nodes("acme-web", "beta-web")
        await env.has_status(desired=2, failed=0)


async def test_a_name_that_somebody_elses_node_has_is_told_and_counted(env: Environment) -> None:
    env.rows(("acme", 1, "pro"))
    foreign = {
        "metadata": {"name": "acme-web", "namespace": env.namespace},
        "spec": {"uid": "acme", "templateRef": "web"},
    }
    await env.client.create(NODES, foreign)
    await env.hub()
    await env.form()
    async with env.operator():
        assert "acme-web" in await env.has_event("LynqNodeWriteFailed")
        await env.has_status(desired=1, failed=1)
