"""Objects nested more deeply than Python's recursion limit."""

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path

from custom_kind import served_custom_kind
from operated.environment import Environment
from operated.running_operator import (
    running_operator,
    wait_for_node_ready,
)

DEPTH = 1_300
"""Nesting that the API server accepts and that exceeds Python's recursion limit."""


async def test_too_deeply_nested_form_does_not_block_others(
    env: Environment, kubectl: Callable[..., str], tmp_path: Path
) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub(sync_interval="1s")
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
    text = tmp_path / "deep.json"
    text.write_text(deep_form(env.namespace))
    output = await asyncio.to_thread(kubectl, "create", "--validate=false", "-f", str(text))
    assert "created" in output

    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    async with running_operator(env):
        await wait_for_node_ready(env, "beta-web")


async def test_too_deeply_nested_foreign_object_does_not_block_its_kind(
    env: Environment, kubectl: Callable[..., str], tmp_path: Path
) -> None:
    env.set_rows(("acme", 1, "pro"))
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    async with served_custom_kind(env.client, group):
        text = tmp_path / "deep.json"
        text.write_text(deep_gadget(env.namespace, group))
        output = await asyncio.to_thread(kubectl, "create", "--validate=false", "-f", str(text))
        assert "created" in output

        async with running_operator(env):
            await env.create_hub()
            manifest = {"apiVersion": f"{group}/v1", "kind": "Gadget"}
            gadget = {"id": "gadget", "nameTemplate": "{{ .uid }}-gadget", "spec": manifest}
            await env.create_form(manifests=[gadget])
            await wait_for_node_ready(env, "acme-web")


# Built as text, because the JSON encoder has the same recursion limit.
def deep_form(namespace: str) -> str:
    manifest = f'{{"apiVersion":"v1","kind":"ConfigMap","deep":{nested()}}}'
    entry = f'{{"id":"deep","nameTemplate":"deep","spec":{manifest}}}'
    metadata = f'{{"name":"deep","namespace":"{namespace}"}}'
    kind = '"apiVersion":"operator.lynq.sh/v1","kind":"LynqForm"'
    return f'{{{kind},"metadata":{metadata},"spec":{{"hubId":"hub","manifests":[{entry}]}}}}'


def deep_gadget(namespace: str, group: str) -> str:
    labels = '{"lynq.sh/managed":"true"}'
    metadata = f'{{"name":"deep","namespace":"{namespace}","labels":{labels}}}'
    kind = f'"apiVersion":"{group}/v1","kind":"Gadget"'
    return f'{{{kind},"metadata":{metadata},"status":{nested()}}}'


def nested() -> str:
    return '{"a":' * DEPTH + "1" + "}" * DEPTH
