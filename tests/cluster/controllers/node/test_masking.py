"""Secret contents appear in no status, event or log line."""

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from lynq.kube.resource import EVENTS, SECRETS
from operated.builders import (
    NODE,
    annotate,
    create_node,
    delete_node,
    edit,
    manifest_entry,
    update_node,
    wait_for_event,
)
from operated.environment import NODES, Environment, Object
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)

WORD = "hunter2hunter2"
NUMBER = "8675309867"


def secret(**parts: Any) -> Object:
    return manifest_entry("secret", {"apiVersion": "v1", "kind": "Secret"} | parts)


async def visible_text(env: Environment, logs: list[Any]) -> str:
    """Return events, node status and log lines as one text."""
    events = (await env.client.list(EVENTS, env.namespace)).items
    status = (await get_node(env, NODE)).get("status", {})
    assert logs
    assert events
    return json.dumps([events, status]) + repr(logs)


REJECTED = {
    "not base64": secret(data={"password": "{{ .plan }}"}),
    "not a string": secret(stringData={"password": int(NUMBER)}),
    "invalid docker config": secret(
        type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": "{{ .plan }}"}
    ),
    "invalid key": secret(stringData={"no key {{ .plan }}": "{{ .plan }}", "a/b": "{{ .plan }}"}),
    "template error": secret(stringData={"password": "{{ .plan | fromJson | toYaml | atoi }}"}),
    "function error": secret(stringData={"password": "{{ index .plan 99 }}"}),
    "unknown field": secret(stringdata={"password": "{{ .plan }}"}, data=["{{ .plan }}"]),
    "type": secret(type="kubernetes.io/tls", stringData={"x": "{{ .plan }}"}),
}


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case.replace(" ", "-"))
@pytest.mark.parametrize("strategy", ["apply", "merge"])
async def test_rejected_secret_does_not_leak_its_contents(
    env: Environment, case: str, strategy: str
) -> None:
    with capture_logs() as logs:
        async with running_operator(env):
            desired = REJECTED[case] | {"patchStrategy": strategy}
            await create_node(env, secrets=[desired], plan=WORD)
            resource = await wait_for_resource_state(env, NODE, "secret", "Failed")
            await wait_for_event(env, resource["reason"], about=NODE)
        visible = await visible_text(env, logs)
    assert WORD not in visible
    assert NUMBER not in visible


FAILING = {
    "range": "{{ range .plan }}{{ end }}",
    "time": '{{ mustToDate "2006" .plan }}',
    "duration": "{{ mustDateModify .plan now }}",
    "regular expression": '{{ mustRegexMatch (printf "%s(" .plan) "x" }}',
    "json": "{{ mustFromJson .plan }}",
    "fail": '{{ fail (printf "no %s" .plan) }}',
    "upper": '{{ mustToDate "2006" (upper .plan) }}',
}


async def test_template_error_shows_function_and_variable_and_no_value(env: Environment) -> None:
    entries = [
        manifest_entry(
            f"bad-{number}", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": template}}
        )
        for number, template in enumerate(FAILING.values())
    ]
    entries.append(manifest_entry("bad-name", entries[0]["spec"], nameTemplate=f"a/{WORD}"))
    entries.append(manifest_entry("bad-place", entries[0]["spec"], targetNamespace="{{ .plan }}!"))
    with capture_logs() as logs:
        async with running_operator(env):
            await create_node(env, *entries, plan=WORD)
            for desired in entries:
                resource = await wait_for_resource_state(env, NODE, desired["id"], "Failed")
                assert resource["reason"] == "TemplateRenderError"
                if desired["id"] not in {"bad-name", "bad-place"}:
                    assert "data.text, line 1" in resource["message"]
                    assert "plan" in resource["message"]
            await wait_for_event(env, "TemplateRenderError", about=NODE)
        visible = await visible_text(env, logs)
    assert WORD not in visible
    assert WORD.upper() not in visible


async def test_secret_contents_never_appear_during_its_lifetime(env: Environment) -> None:
    desired = secret(stringData={"password": "{{ .plan }}"}, immutable=False)
    with capture_logs() as logs:
        async with running_operator(env):
            await create_node(env, secrets=[desired], plan=WORD)
            await wait_for_node_ready(env, NODE)
            # Conflict, forced write rejected as immutable, deletion.
            await edit(
                env,
                "secret",
                {"stringData": {"password": WORD + "x"}, "immutable": True},
                resource=SECRETS,
            )
            await wait_for_resource_state(env, NODE, "secret", "Conflicted")
            await update_node(env, secrets=[desired | {"conflictPolicy": "Force"}])
            await annotate(env, extra=json.dumps({"plan": WORD + "y"}))
            await wait_for_resource_state(env, NODE, "secret", "Failed")
            visible = await visible_text(env, logs)
            await delete_node(env)
            await wait_for_deletion(env, NODES, NODE)
        visible += json.dumps((await env.client.list(EVENTS, env.namespace)).items) + repr(logs)
    assert WORD not in visible
