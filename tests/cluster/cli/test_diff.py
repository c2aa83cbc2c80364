"""`lynq diff`: live objects against desired ones."""

import json

from cluster.cli.conftest import Lynq
from cluster.cli.tenants import GOOD, normalized, web_deployment
from lynq.cli.exit_codes import ExitCode
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.environment import NODES, Environment
from operated.running_operator import running_operator, wait_for_node_ready

DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
SECRET = {
    "id": "key",
    "nameTemplate": "{{ .uid }}-key",
    "spec": {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "first-{{ .plan }}"}},
}


async def test_changed_fields_are_shown_with_their_managers(
    env: Environment, run_lynq: Lynq
) -> None:
    env.set_rows(("acme", 1, GOOD))
    await env.create_hub()
    await env.create_form(deployments=[web_deployment()], secrets=[SECRET])
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
        same = await run_lynq("diff", "acme")
        assert (same.exit_code, same.output) == (ExitCode.OK, "")
        # Paused, so that the operator does not revert the changes.
        paused = {"metadata": {"annotations": {"lynq.sh/paused": "true"}}}
        await env.patch(NODES, "acme-web", paused)
    client, namespace = env.client, env.namespace
    replicas = {"spec": {"replicas": 3}}
    await client.patch(DEPLOYMENTS, "acme-web", replicas, namespace, manager="scaler")
    secret = {"stringData": {"password": "second"}}
    await client.patch(SECRETS, "acme-key", secret, namespace, manager="someone")
    await client.delete(CONFIG_MAPS, "acme-settings", namespace)

    different = await run_lynq("diff", "acme-web")
    assert different.exit_code == ExitCode.DIFFERENT, different.output
    lines = normalized(different.stdout, env).splitlines()
    assert lines[:6] == [
        "Deployment NS/acme-web (web)",
        "  conflict over .spec.replicas of scaler; conflictPolicy is Stuck",
        "  - spec.replicas: 3   (by scaler)",
        "  + spec.replicas: 1",
        "ConfigMap NS/acme-settings (settings): does not exist",
        "  + apiVersion: v1",
    ]
    # A Secret reads the column.
    assert "  + data.plan: <plan>" in lines
    assert lines[-4:] == [
        "Secret NS/acme-key (key)",
        "  conflict over .data.password of someone; conflictPolicy is Stuck",
        "  - data.password: (changed)   (by someone)",
        "  + data.password: (changed)",
    ]
    data = json.loads((await run_lynq("diff", "acme", "-o", "json")).stdout)
    assert data[0]["fields"] == [
        {"path": "spec.replicas", "live": 3, "desired": 1, "managers": ["scaler"]}
    ]
    assert data[1]["missing"]
    assert "second" not in json.dumps(data)
    assert "second" not in different.output
    assert "first-" not in different.output
