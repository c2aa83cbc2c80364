"""Tenants to look at: one that runs, and one whose image cannot be pulled."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from operated.environment import Environment
from operated.running_operator import (
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)

GOOD, BROKEN = "app", "nonexistent"
"""Values of the column plan, which is part of the image."""

_AGE = re.compile(r"\b\d+(?:[dhms]\d*)*[dhms]\b")
_POD = re.compile(r"(acme|beta)-web-[a-z0-9]{5,}(?:-[a-z0-9]{5})?")
_GAP = re.compile(r"(?<=\S) {2,}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


def normalized(output: str, env: Environment) -> str:
    """Return the output without the names and ages that differ in every run."""
    output = _POD.sub(r"\1-web-POD", _TIME.sub("TIME", output.replace(env.namespace, "NS")))
    # The width of columns depends on them.
    return _GAP.sub("   ", _AGE.sub("AGE", output)).rstrip("\n")


def web_deployment(**parts: Any) -> dict[str, Any]:
    """Return a form entry for a Deployment whose image depends on the plan."""
    labels = {"app": "{{ .uid }}-web"}
    container = {"name": "app", "image": "registry.local/{{ .plan }}:1"}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    return {"id": "web", "nameTemplate": "{{ .uid }}-web", "spec": manifest} | parts


def web_service(**parts: Any) -> dict[str, Any]:
    """Return a form entry for a Service that depends on the Deployment."""
    manifest = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    entry = {"id": "svc", "nameTemplate": "{{ .uid }}-web", "spec": manifest, "dependIds": ["web"]}
    return entry | parts


@asynccontextmanager
async def running_tenants(env: Environment) -> AsyncIterator[None]:
    """Run the operator until acme is ready and the image of beta cannot be pulled."""
    env.set_rows(("acme", 1, GOOD), ("beta", 1, BROKEN), ("Gamma", 1, GOOD))
    await env.create_hub()
    await env.create_form(deployments=[web_deployment()], services=[web_service()])
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
        await wait_for_resource_state(env, "beta-web", "settings", "Ready")
        await wait_for_resource_state(
            env, "beta-web", "web", "Progressing", reason="ReplicasNotReady"
        )
        yield
