"""The data of Secrets does not leave the server, whatever the rights of the viewer."""

import base64
import hashlib

from dashboard.conftest import Browser
from lynq.kube.resource import SECRETS
from operated.environment import FORMS, Environment
from operated.running_operator import wait_for_node_ready

LITERAL = "literal-of-the-form"
DIGEST = hashlib.sha256(b"acme").hexdigest()

MANIFEST = {
    "apiVersion": "v1",
    "kind": "Secret",
    "stringData": {"literal": LITERAL, "token": "{{ .uid | sha256sum }}"},
}


async def test_no_endpoint_has_the_data_of_a_secret(admin: Browser, env: Environment) -> None:
    secret = {"id": "token", "nameTemplate": "{{ .uid }}-token", "spec": MANIFEST}
    await env.create_form("vault", secrets=[secret], configMaps=[])
    try:
        await wait_for_node_ready(env, "acme-vault")
        live = await env.get(SECRETS, "acme-token")
        assert base64.b64decode(live["data"]["token"]).decode() == DIGEST
        place = f"namespace={env.namespace}"
        named = f"{place}&apiVersion=v1&kind=Secret&name=acme-token"
        paths = [
            "/api/v2/problems",
            "/api/v2/fleet",
            "/api/v2/nodes",
            "/api/v2/search?q=acme",
            "/api/v2/topology",
            f"/api/v2/topology?focus=node:{env.namespace}/acme-vault",
            f"/api/v2/tenants/{env.namespace}/acme",
            f"/api/v2/forms/{env.namespace}/vault",
            f"/api/v2/forms/{env.namespace}/vault/preview?uid=acme",
            f"/api/v2/forms/{env.namespace}/vault/plan",
            f"/api/v2/hubs/{env.namespace}/hub",
            f"/api/v2/hubs/{env.namespace}/hub/rows",
            f"/api/v2/hubs/{env.namespace}/hub/plan",
            f"/api/v2/objects?{named}",
            f"/api/v2/objects?{named}&node=acme-vault",
            f"/api/v2/objects?{place}&apiVersion=operator.lynq.sh/v1&kind=LynqForm&name=vault",
            f"/api/v2/objects?{place}&apiVersion=operator.lynq.sh/v1&kind=LynqNode&name=acme-vault",
            f"/api/v1/forms/vault?{place}",
            f"/api/v1/forms/vault/details?{place}",
            f"/api/v1/forms?{place}",
            f"/api/v1/nodes?{place}",
            f"/api/v1/nodes/acme-vault?{place}",
            f"/api/v1/nodes/acme-vault/resources?{place}",
            f"/api/v1/nodes/acme-vault/events?{place}",
            f"/api/v1/resources?kind=Secret&name=acme-token&{place}",
            f"/api/v1/topology?{place}",
        ]
        values = [LITERAL, DIGEST, *live["data"].values()]
        for path in paths:
            response = await admin.get(path)
            text = await response.text()
            assert response.status == 200, (path, text)
            assert not [value for value in values if value in text], path
        # A change by hand is shown as a difference without its values.
        changed = {"stringData": {"token": "changed-by-hand"}}
        await env.patch(FORMS, "vault", {"spec": {"paused": True}})
        await env.patch(SECRETS, "acme-token", changed)
        shown = await (await admin.get(f"/api/v2/objects?{named}&node=acme-vault")).text()
        assert "changed-by-hand" not in shown
        assert base64.b64encode(b"changed-by-hand").decode() not in shown
    finally:
        await env.client.delete(FORMS, "vault", env.namespace)
        await env.wait_for_nodes("acme-web", "beta-web")
