"""Forms that were stored before admission: what Lynq refuses fails its own resource only."""

import pytest

from operated.builders import exists, has_plan, wait_for_object
from operated.environment import FORMS, Environment, Object, config_map
from operated.running_operator import (
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)

REFUSED: dict[str, tuple[Object, str]] = {
    "genCA": (config_map('{{ (genCA "x" 9).Cert }}'), "genCA"),
    "bcrypt": (config_map('{{ bcrypt "x" }}'), "bcrypt"),
    "env": (config_map('{{ env "HOME" }}'), 'function "env" not defined'),
    "filter": (config_map(ignoreFields=["$.data.list[?(@.name =~ 'a.*')]"]), "=~"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_refused_resource_of_a_stored_form_fails_alone(env: Environment, case: str) -> None:
    entry, problem = REFUSED[case]
    bad = entry | {"id": "bad", "nameTemplate": "{{ .uid }}-bad"}
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(configMaps=[config_map(), bad])
    async with running_operator(env):
        resource = await wait_for_resource_state(env, "acme-web", "bad", "Failed")
        assert problem in resource["message"]
        await wait_for_node_condition(env, "acme-web", "Degraded", "True", "ResourceFailures")
        await wait_for_object(env, "acme-settings", has_plan("pro"))
        assert not await exists(env, "acme-bad")

        # Rows and the form go on.
        env.set_rows(("acme", 1, "gold"), ("beta", 1, "free"))
        await env.force_sync()
        await wait_for_object(env, "acme-settings", has_plan("gold"))
        await wait_for_object(env, "beta-settings", has_plan("free"))
        await wait_for_resource_state(env, "beta-web", "bad", "Failed")
        await env.patch(FORMS, "web", {"spec": {"configMaps": [config_map("{{ .uid }}"), bad]}})
        await wait_for_object(env, "beta-settings", has_plan("beta"))
        await env.patch(FORMS, "web", {"spec": {"configMaps": [config_map("{{ .uid }}")]}})
        for name in ("acme-web", "beta-web"):
            await wait_for_node_ready(env, name)
