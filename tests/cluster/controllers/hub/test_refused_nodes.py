"""Nodes that the API server does not take as their rows and form want them."""

from cluster.controllers.stage import FORMS, NODES, Stage, config_map


async def test_a_node_that_is_too_large_is_told_and_counted_and_stops_nobody(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"), ("beta", 1, "free"))
    await stage.hub()
    # Large for one row only: in the node, annotations of resources are finished texts.
    huge = '{{ if eq .uid "acme" }}{{ repeat 900000 "x" }}{{ end }}'
    notes = {"one": huge, "two": huge, "three": huge}
    await stage.form(configMaps=[config_map(annotationsTemplate=notes)])
    async with stage.operator():
        await stage.has_nodes("beta-web")
        told = await stage.has_event("LynqNodeWriteFailed")
        await stage.has_status(desired=2, failed=1)
        assert "acme-web" in told
        assert len(await stage.events("LynqNodeWriteFailed")) == 1

        await stage.change(FORMS, "web", {"spec": {"configMaps": [config_map()]}})
        await stage.has_nodes("acme-web", "beta-web")
        await stage.has_status(desired=2, failed=0)


async def test_a_name_that_somebody_elses_node_has_is_told_and_counted(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"))
    foreign = {
        "metadata": {"name": "acme-web", "namespace": stage.namespace},
        "spec": {"uid": "acme", "templateRef": "web"},
    }
    await stage.client.create(NODES, foreign)
    await stage.hub()
    await stage.form()
    async with stage.operator():
        assert "acme-web" in await stage.has_event("LynqNodeWriteFailed")
        await stage.has_status(desired=1, failed=1)
