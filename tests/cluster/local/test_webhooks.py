"""The API server of a local cluster calls an admission webhook on loopback."""

import base64
import ssl
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web

from certificates import Authority
from lynq.kube import Client, Resource
from lynq.kube.errors import ApiError
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)


async def deny(request: web.Request) -> web.Response:
    review = await request.json()
    verdict = {
        "uid": review["request"]["uid"],
        "allowed": False,
        "status": {"message": "denied by the test's webhook"},
    }
    return web.json_response(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": verdict}
    )


@pytest.fixture
async def webhook(tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """A webhook that denies all requests; yields its clientConfig."""
    authority = Authority()
    pair = authority.sign("webhook", "localhost", "127.0.0.1")
    (tmp_path / "key").write_bytes(pair.key)
    (tmp_path / "certificate").write_bytes(pair.certificate)
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    app = web.Application()
    app.router.add_post("/validate", deny)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=secure)
    await site.start()
    port = runner.addresses[0][1]
    yield {
        "url": f"https://127.0.0.1:{port}/validate",
        "caBundle": base64.b64encode(authority.certificate).decode(),
    }
    await runner.cleanup()


async def test_webhook_on_loopback_is_called(
    client: Client, namespace: str, webhook: dict[str, str]
) -> None:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    configuration = {
        "metadata": {"name": namespace},
        "webhooks": [
            {
                "name": "deny.lynq.sh",
                "clientConfig": webhook,
                "rules": [rule],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }
    await client.create(WEBHOOKS, configuration)
    try:
        await eventually(partial(_is_denied, client, namespace))
    finally:
        await client.delete(WEBHOOKS, namespace)


async def _is_denied(client: Client, namespace: str) -> bool:
    manifest = {"metadata": {"generateName": "try-", "namespace": namespace}}
    try:
        await client.create(CONFIG_MAPS, manifest)
    except ApiError as error:
        return "denied by the test's webhook" in error.status.message
    return False
