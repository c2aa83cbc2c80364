"""Self-signed certificates with a real API server: shared, renewed under load, restored."""

import asyncio
import base64
import ssl
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from cryptography import x509

from background_tasks import run_in_background
from cluster.webhooks.admission import HUBS, MUTATING, VALIDATING, Admission, hub
from lynq.kube import Patch, Request, Response, Send
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.resource import SECRETS
from lynq.webhooks import WebhookServer
from lynq.webhooks.certificates.ca import Lifetimes
from operated.environment import RequestRecorder
from waiting import eventually, stays

DAY = timedelta(days=1)


async def secret(admission: Admission) -> dict[str, bytes]:
    stored = await admission.client.get(SECRETS, "webhook-server-cert", admission.namespace)
    return {name: base64.b64decode(value) for name, value in stored["data"].items()}


def authorities(bundle: bytes) -> set[bytes]:
    return {ca.tbs_certificate_bytes for ca in x509.load_pem_x509_certificates(bundle)}


async def served(server: WebhookServer) -> bytes:
    """Return the certificate that a server presents."""
    address = (server.address.host, server.address.port)
    return (await asyncio.to_thread(ssl.get_server_certificate, address)).encode()


async def review_continuously(
    admission: Admission, denials: list[str], *servers: WebhookServer
) -> None:
    """Send requests through the API server, and connect to each server, until canceled.

    The API server reuses its connections, so new ones are verified with the current caBundle.
    """
    while True:
        denials.append(await admission.denial(HUBS, hub("reviewed", uid="")))
        for bundle in await admission.bundles():
            trusting = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
            for server in servers:
                host, port = server.address.host, server.address.port
                _, writer = await asyncio.open_connection(host, port, ssl=trusting)
                writer.close()
        await asyncio.sleep(0.02)


async def test_replicas_share_one_ca(admission: Admission) -> None:
    async with asyncio.TaskGroup() as group:
        starting = [group.create_task(_certificate_of_new_replica(admission)) for _ in range(4)]
    certificates = {task.result() for task in starting}
    assert certificates == {(await secret(admission))["tls.crt"]}


@pytest.mark.timing
async def test_idle_replica_sends_no_requests(admission: Admission) -> None:
    requests = RequestRecorder()
    async with (
        admission.replica(admission.client.intercepted(requests)) as server,
        admission.configured(server),
    ):

        async def is_idle() -> bool:
            requests.sent.clear()
            await asyncio.sleep(3 * admission.check_interval)
            return requests.sent == []

        await eventually(is_idle)
        await stays(lambda: requests.sent == [], seconds=1)
        await admission.client.delete(SECRETS, "webhook-server-cert", admission.namespace)
        await eventually(lambda: requests.count("create") == 1)


async def _certificate_of_new_replica(admission: Admission) -> bytes:
    async with admission.replica() as server:
        return await served(server)


async def test_new_replica_uses_the_stored_certificates(admission: Admission) -> None:
    first = await _certificate_of_new_replica(admission)
    assert await _certificate_of_new_replica(admission) == first


# The clock of the API server cannot be shifted, so the clock of the test starts in the past.


async def test_certificate_is_renewed_without_restart(admission: Admission) -> None:
    admission.clock.shift = -61 * DAY
    async with admission.replica() as server, admission.configured(server):
        before, stored = await served(server), await secret(admission)
        denials: list[str] = []
        async with run_in_background(review_continuously(admission, denials, server)):
            admission.clock.shift = timedelta()

            async def is_renewed() -> bool:
                return await served(server) != before

            await eventually(is_renewed)
            await _more(denials)
        assert all("spec.valueMappings.uid: required" in denial for denial in denials)
        after = await secret(admission)
        assert after["ca.crt"] == stored["ca.crt"]
        assert await served(server) == after["tls.crt"]


async def test_ca_rotation_overlaps_old_and_new_trust(
    admission: Admission,
) -> None:
    lifetimes = Lifetimes(ca=200 * DAY, serving=150 * DAY)
    admission.clock.shift = -52 * DAY
    async with (
        admission.replica(lifetimes=lifetimes) as server,
        admission.replica(lifetimes=lifetimes) as other,
        admission.configured(server),
    ):
        first = await secret(admission)
        denials: list[str] = []
        async with run_in_background(review_continuously(admission, denials, server, other)):
            await _more(denials)
            admission.clock.shift = -2 * DAY
            second = await _changed(admission, first, "next-ca.key")
            assert authorities(first["ca.crt"]) < authorities(second["ca.crt"])
            assert second["tls.crt"] == first["tls.crt"]
            await eventually(partial(_is_trusted, admission, second["ca.crt"]))
            await _more(denials)
            admission.clock.shift = timedelta()
            third = await _changed(admission, second, "ca.key")
            assert third["ca.key"] == second["next-ca.key"]
            assert authorities(third["ca.crt"]) == authorities(second["ca.crt"])
            for replica in (server, other):
                await eventually(partial(_serves, replica, third["tls.crt"]))
            await _more(denials)
        assert all("spec.valueMappings.uid: required" in denial for denial in denials)


async def _more(denials: list[str]) -> None:
    count = len(denials)
    await eventually(lambda: len(denials) > count + 5)


async def _changed(admission: Admission, before: dict[str, bytes], key: str) -> dict[str, bytes]:
    async def changed() -> dict[str, bytes]:
        current = await secret(admission)
        return current if current.get(key) != before.get(key) else {}

    return await eventually(changed)


async def _is_trusted(admission: Admission, bundle: bytes) -> bool:
    return await admission.bundles() == {base64.b64encode(bundle).decode()}


async def _serves(server: WebhookServer, certificate: bytes) -> bool:
    return await served(server) == certificate


async def test_emptied_ca_bundle_is_injected_again(admission: Admission) -> None:
    async with admission.replica() as server, admission.configured(server):
        (bundle,) = await admission.bundles()
        name = f"{admission.namespace}-validating-webhook-configuration"
        for value in ("", base64.b64encode((await secret(admission))["tls.crt"]).decode()):
            emptied = {
                "op": "replace",
                "path": "/webhooks/0/clientConfig/caBundle",
                "value": value,
            }
            await admission.client.patch(VALIDATING, name, [emptied], kind=Patch.JSON)
            await eventually(partial(_has_bundles, admission, {bundle}))


async def _has_bundles(admission: Admission, bundles: set[str]) -> bool:
    return await admission.bundles() == bundles


@pytest.mark.parametrize("broken", [None, {"data": {"tls.key": ""}}])
async def test_deleted_secret_is_recreated_from_memory(
    admission: Admission, broken: dict[str, Any] | None
) -> None:
    async with admission.replica() as server:
        before = await secret(admission)
        client, namespace = admission.client, admission.namespace
        if broken is None:
            await client.delete(SECRETS, "webhook-server-cert", namespace)
        else:
            await client.patch(SECRETS, "webhook-server-cert", broken, namespace)

        async def is_back() -> bool:
            try:
                return await secret(admission) == before
            except NotFound:
                return False

        await eventually(is_back)
        assert await served(server) == before["tls.crt"]


async def test_configurations_of_cert_manager_and_other_installations_are_untouched(
    admission: Admission,
) -> None:
    annotated = {"cert-manager.io/inject-ca-from": "ops/serving-cert"}
    elsewhere = {"service": {"namespace": "elsewhere", "name": "hooks", "path": "/x"}}
    ours = {"service": {"namespace": admission.namespace, "name": "hooks", "path": "/x"}}
    mutating = _configuration(f"{admission.namespace}-mutating-webhook-configuration", ours)
    mutating["metadata"]["annotations"] = annotated
    validating = _configuration(
        f"{admission.namespace}-validating-webhook-configuration", elsewhere, ours
    )
    configurations = ((MUTATING, mutating), (VALIDATING, validating))
    for resource, configuration in configurations:
        await admission.client.create(resource, configuration)
    try:
        async with admission.replica():
            bundle = base64.b64encode((await secret(admission))["ca.crt"]).decode()
            await eventually(partial(_has_bundles, admission, {"", bundle}))
            stored = await admission.client.get(VALIDATING, validating["metadata"]["name"])
            bundles = [hook["clientConfig"].get("caBundle", "") for hook in stored["webhooks"]]
            assert bundles == ["", bundle]
            untouched = await admission.client.get(MUTATING, mutating["metadata"]["name"])
            assert "caBundle" not in untouched["webhooks"][0]["clientConfig"]
    finally:
        for resource, configuration in configurations:
            await admission.client.delete(resource, configuration["metadata"]["name"])


def _configuration(name: str, *clients: Any) -> dict[str, Any]:
    rule = {"apiGroups": ["x"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["y"]}
    webhooks = [
        {
            "name": f"w{number}.lynq.sh",
            "clientConfig": client,
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for number, client in enumerate(clients)
    ]
    return {"metadata": {"name": name}, "webhooks": webhooks}


async def test_rejected_requests_are_retried(admission: Admission) -> None:
    rejected: list[str] = []

    async def reject(request: Request, send: Send) -> Response:
        if not rejected:
            rejected.append(request.path)
            raise KubeError("rejected by the test")
        return await send(request)

    async with admission.replica(admission.client.intercepted(reject)) as server:
        assert rejected
        assert server.problem == ""


async def test_server_starts_without_permission_for_the_configurations(
    admission: Admission,
) -> None:
    async def reject(request: Request, send: Send) -> Response:
        if "webhookconfigurations" in request.path:
            raise KubeError("rejected by the test")
        return await send(request)

    async with admission.replica(admission.client.intercepted(reject)) as server:
        assert await served(server) == (await secret(admission))["tls.crt"]


async def test_permissions_of_the_role_suffice(admission: Admission) -> None:
    used: set[tuple[str, str, str]] = set()

    async def record(request: Request, send: Send) -> Response:
        path = request.path.split("/")
        if request.verb == "watch":
            path.append(request.query["fieldSelector"].removeprefix("metadata.name="))
        *_, kind, name = path
        used.add((request.verb, kind, name.removeprefix(f"{admission.namespace}-")))
        return await send(request)

    admission.clock.shift = -61 * DAY
    client = admission.client.intercepted(record)
    async with admission.replica(client) as server, admission.configured(server):
        before = await secret(admission)
        admission.clock.shift = timedelta()
        await _changed(admission, before, "tls.key")
    # deploy/kustomize/rbac/webhook_role.yaml
    assert used == {
        ("get", "secrets", "webhook-server-cert"),
        ("watch", "secrets", "webhook-server-cert"),
        ("create", admission.namespace, "secrets"),
        ("replace", "secrets", "webhook-server-cert"),
        ("watch", "services", "hooks"),
        ("watch", "pods", "status.phase!=Succeeded,status.phase!=Failed"),
        *(
            (verb, f"{kind}webhookconfigurations", f"{kind}-webhook-configuration")
            for verb in ("get", "patch", "watch")
            for kind in ("mutating", "validating")
        ),
    }


@pytest.mark.timing
async def test_idle_rotation_only_reads(admission: Admission) -> None:
    writes: list[str] = []

    async def record(request: Request, send: Send) -> Response:
        if request.writes:
            writes.append(request.path)
        return await send(request)

    client = admission.client.intercepted(record)
    async with admission.replica(client) as server, admission.configured(server):
        (bundle,) = await admission.bundles()
        assert bundle
        writes.clear()
        await asyncio.sleep(5 * admission.check_interval)
        assert writes == []
