"""Malicious or invalid rows: they affect no other row, and their values are never executed."""

import json

from lynq.kube.resource import CONFIG_MAPS, EVENTS
from operated.environment import Environment, Object, config_map
from operated.running_operator import (
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
)

BAD_UIDS = (
    "Upper-Case",
    "with space",
    "emoji-😀",
    "x" * 300,
    "../../etc",
    "{{ .plan }}",
    '{{ fail "x" }}',
    "two\nlines",
    "trailing-",
    "-leading",
    "a/b",
    "a,b=c",
    "nul\0byte",
    "",
    None,
)
HARMLESS = ("acme", "dotted.name", "9-digits")

INJECTIONS = {
    "template": "{{ .uid }}",
    "call": '{{ fail "boom" }}',
    "unclosed": "{{ range",
    "nested": '{{ "{{ .uid }}" }}',
    "quotes": "\"'`\\",
    "json": '{"a": [1, null, "</script>"]}',
    "yaml": "&a [*a, *a]\n!!python/object:os.system",
    "marker": "__LYNQ_TYPE_INT__3 and more",
    "unicode": "\u2028\u202e\ufeff😀<>&",
    "lines": "one\r\ntwo\ttab",
}


async def test_invalid_uids_are_rejected_one_by_one(env: Environment) -> None:
    env.set_rows(*((uid, 1, "s3cret") for uid in (*BAD_UIDS, *HARMLESS)))
    async with running_operator(env):
        await env.create_hub(sync_interval="1s")
        await env.create_form()
        for uid in HARMLESS:
            await wait_for_node_ready(env, f"{uid}-web")
        await env.wait_for_nodes(*(f"{uid}-web" for uid in HARMLESS))
        count = len(HARMLESS) + len(BAD_UIDS)
        await env.wait_for_status(desired=count, ready=len(HARMLESS), failed=len(BAD_UIDS))
        rejected = (await env.status())["rejectedRows"]
        assert rejected["count"] == len(BAD_UIDS)
        assert sum(row["reason"] == "EmptyUid" for row in rejected["rows"]) == 1
        await env.wait_for_event("RowRejected", containing="Upper-Case")
        # A corrected row becomes a tenant.
        env.set_rows(("acme", 1, "pro"), ("upper-case", 1, "pro"))
        await wait_for_node_ready(env, "upper-case-web")
        events = await env.client.list(EVENTS, env.namespace)
        assert "s3cret" not in json.dumps([events.items, await env.status()])


async def test_duplicate_rows_do_not_flap(env: Environment) -> None:
    async with running_operator(env):
        env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
        await env.create_hub(sync_interval="1s")
        await env.create_form()
        for name in ("acme-web", "beta-web"):
            await wait_for_node_ready(env, name)
        before = await env.nodes()
        # An identical duplicate, and one with another value.
        rows = [("acme", 1, "pro"), ("acme", 1, "pro"), ("beta", 1, "evil"), ("beta", 1, "pro")]
        env.set_rows(*rows)
        await env.wait_for_event("RowRejected", containing="beta")
        env.set_rows(*reversed(rows))
        await env.force_sync()
        await env.wait_until_idle()
        after = await env.nodes()
        for name, node in before.items():
            assert after[name]["metadata"]["resourceVersion"] == node["metadata"]["resourceVersion"]


async def test_row_values_are_never_rendered_as_templates(env: Environment) -> None:
    """Labels, annotations and body contain the row value verbatim."""
    manifest: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"annotations": {"example.com/own": "{{ .plan }}"}},
        "data": {"plan": "{{ .plan }}", "typed": "{{ .plan | quote }}"},
    }
    entry = config_map(spec=manifest, annotationsTemplate={"example.com/plan": "{{ .plan }}"})
    rows = [(uid, 1, text) for uid, text in INJECTIONS.items()]
    async with running_operator(env):
        env.set_rows(*rows)
        await env.create_hub()
        await env.create_form(configMaps=[entry])
        for uid, text in INJECTIONS.items():
            await wait_for_node_ready(env, f"{uid}-web")
            obj = await env.get(CONFIG_MAPS, f"{uid}-settings")
            annotations = obj["metadata"]["annotations"]
            values = {obj["data"]["plan"], annotations["example.com/plan"]}
            values.add(annotations["example.com/own"])
            rendered = text.replace("__LYNQ_TYPE_INT__", "") if uid == "marker" else text
            assert values <= {text, rendered}, uid


async def test_invalid_name_or_label_value_fails_only_its_node(env: Environment) -> None:
    named = config_map(
        nameTemplate="{{ .uid }}-{{ .plan }}", labelsTemplate={"plan": "{{ .plan }}"}
    )
    async with running_operator(env):
        env.set_rows(("good", 1, "pro"), ("bad", 1, "{{ .uid }}"), ("worse", 1, "../../secrets/x"))
        await env.create_hub()
        await env.create_form(configMaps=[named])
        await wait_for_node_ready(env, "good-web")
        for name in ("bad-web", "worse-web"):
            node = await wait_for_node_condition(env, name, "Ready", "False")
            (entry,) = node["status"]["resources"]
            assert entry["state"] == "Failed", entry
        listed = await env.client.list(CONFIG_MAPS, env.namespace, labels="lynq.sh/managed=true")
        assert [obj["metadata"]["name"] for obj in listed.items] == ["good-pro"]


async def test_oversized_value_rejects_only_its_row(env: Environment) -> None:
    async with running_operator(env):
        env.set_rows(("small", 1, "pro"), ("large", 1, "x" * 2**20), ("edge", 1, "y" * 100_000))
        await env.create_hub(sync_interval="1s")
        await env.create_form()
        await wait_for_node_ready(env, "small-web")
        await wait_for_node_ready(env, "edge-web")
        await env.wait_for_status(desired=3, failed=1)
        (row,) = (await env.status())["rejectedRows"]["rows"]
        assert row["uid"] == "large"
        # An existing tenant keeps its objects when its row becomes too large.
        env.set_rows(("small", 1, "z" * 2**20), ("edge", 1, "y"))
        await env.wait_for_event("RowRejected", containing="small")
        await env.wait_until_idle()
        assert (await env.get(CONFIG_MAPS, "small-settings"))["data"]["plan"] == "pro"
        assert (await env.get(CONFIG_MAPS, "edge-settings"))["data"]["plan"] == "y"
