"""The webhook server over HTTPS on loopback."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec import json
from prometheus_client import CollectorRegistry

from certificates import Authority
from lynq.api.installation_key import InstallationKey
from lynq.telemetry import Address, ListenError
from lynq.telemetry.exposition import collect_families, render_families
from lynq.tls.context import CertificateError, CertificateFiles
from lynq.webhooks import WebhookServer
from lynq.webhooks import server as server_module
from lynq.webhooks.certificates.rotation import FileCertificates
from lynq.webhooks.paths import secret_part
from lynq.webhooks.review import AdmissionDenied, AdmissionRequest
from unit.webhooks.reviews import (
    FORM,
    HUB,
    HUB_SPEC,
    NODE,
    Caches,
    an_object,
    body_of,
    with_resource,
)
from waiting import eventually

ANY = Address("127.0.0.1", 0)
VALIDATE_HUB = "/validate-operator-lynq-sh-v1-lynqhub"
KEY = InstallationKey(b"k" * 32)


async def author_may_get(
    admission: AdmissionRequest, names: Sequence[str]
) -> AdmissionDenied | None:
    """Deny the author "mallory" all Secrets."""
    is_denied = admission.user_info.username == "mallory"
    return AdmissionDenied(f"no {', '.join(names)}") if is_denied else None


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
def files(tmp_path: Path, authority: Authority) -> FileCertificates:
    pair = authority.sign("lynq", "127.0.0.1")
    paths = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key")
    paths.certificate.write_bytes(pair.certificate)
    paths.key.write_bytes(pair.key)
    return FileCertificates(paths)


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
async def server(
    files: FileCertificates, registry: CollectorRegistry
) -> AsyncIterator[WebhookServer]:
    async with WebhookServer(
        ANY, files, Caches(), author_may_get, key=lambda: KEY, registry=registry, body_seconds=0.3
    ) as server:
        await server.listening()
        yield server


@pytest.fixture
async def session(authority: Authority) -> AsyncIterator[aiohttp.ClientSession]:
    tls = ssl.create_default_context(cadata=authority.certificate.decode())
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session:
        yield session


async def post(
    session: aiohttp.ClientSession, server: WebhookServer, path: str, body: Any
) -> tuple[int, str]:
    async with session.post(f"https://{server.address}{path}", data=body) as response:
        return response.status, await response.text()


async def review(
    session: aiohttp.ClientSession, server: WebhookServer, path: str, body: bytes
) -> dict[str, Any]:
    status, text = await post(session, server, path, body)
    assert status == 200, text
    response: dict[str, Any] = json.decode(text)["response"]
    return response


async def test_each_path_responds(session: aiohttp.ClientSession, server: WebhookServer) -> None:
    for kind, verbs in ((HUB, "mutate validate"), (FORM, "mutate validate"), (NODE, "validate")):
        for verb in verbs.split():
            path = f"/{verb}-operator-lynq-sh-v1-{kind.kind.lower()}"
            body = body_of(kind, "DELETE", oldObject=an_object())
            response = await review(session, server, path, body)
            assert (response["uid"], response["allowed"]) == ("42", True)
    assert (await post(session, server, "/elsewhere", b""))[0] == 404


async def test_form_gets_its_defaults(
    session: aiohttp.ClientSession, server: WebhookServer
) -> None:
    spec = with_resource(timeoutSeconds=5)
    path = "/mutate-operator-lynq-sh-v1-lynqform"
    response = await review(session, server, path, body_of(FORM, "CREATE", object=an_object(spec)))
    patch = json.decode(base64.b64decode(response["patch"]))
    assert len(patch) == 5
    deleting = an_object(spec, deletionTimestamp="2026-01-01T00:00:00Z")
    response = await review(session, server, path, body_of(FORM, "UPDATE", object=deleting))
    assert response == {"uid": "42", "allowed": True}


async def test_invalid_hub_is_denied(session: aiohttp.ClientSession, server: WebhookServer) -> None:
    spec = {**HUB_SPEC, "valueMappings": {"uid": "", "activate": "a"}}
    body = body_of(HUB, "CREATE", object=an_object(spec))
    response = await review(session, server, VALIDATE_HUB, body)
    assert response["allowed"] is False
    assert (response["status"]["code"], response["status"]["reason"]) == (403, "Forbidden")
    assert response["status"]["message"].startswith("spec.valueMappings.uid: required")


async def test_hub_is_denied_to_an_author_without_its_secrets(
    session: aiohttp.ClientSession, server: WebhookServer
) -> None:
    database = {**HUB_SPEC["source"]["mysql"], "passwordRef": {"name": "db", "key": "p"}}
    spec = {**HUB_SPEC, "source": {"type": "mysql", "mysql": database}}
    for username, allowed in (("mallory", False), ("alice", True)):
        user = {"username": username, "groups": ["a"], "extra": {"scopes": ["x"]}}
        body = body_of(HUB, "CREATE", object=an_object(spec), userInfo=user)
        path = f"{VALIDATE_HUB}/{secret_part(KEY)}"
        assert (await review(session, server, path, body))["allowed"] is allowed


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not an AdmissionReview"),
        (body_of(HUB, "CREATE"), "the object under review cannot be decoded"),
        (body_of(HUB, "CREATE", object=[1]), "the object under review cannot be decoded"),
        (body_of(HUB, "DELETE", oldObject="x"), "the object under review cannot be decoded"),
        (body_of(FORM, "CREATE"), "reviews LynqHub"),
    ],
)
async def test_invalid_request_gets_400_with_the_reason(
    session: aiohttp.ClientSession, server: WebhookServer, body: bytes, message: str
) -> None:
    status, text = await post(session, server, VALIDATE_HUB, body)
    assert status == 400
    assert message in text


async def test_too_large_body_is_not_read(
    session: aiohttp.ClientSession, server: WebhookServer
) -> None:
    status, text = await post(session, server, VALIDATE_HUB, BytesIO(b" " * 8 * 1024 * 1024))
    assert (status, text) == (413, "the body exceeds 3407872 bytes\n")


async def test_incomplete_body_times_out(
    session: aiohttp.ClientSession, server: WebhookServer
) -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    async with asyncio.timeout(5):
        status, text = await post(session, server, VALIDATE_HUB, never())
    assert (status, text) == (408, "timeout while reading the body\n")


async def test_internal_error_quotes_no_value(
    session: aiohttp.ClientSession,
    server: WebhookServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any) -> bytes:
        # The log has the source line, and not the message.
        raise ValueError(f"hunter{1 + 1}")

    monkeypatch.setattr(server_module, "encode_response", fail)
    body = body_of(HUB, "DELETE", oldObject=an_object())
    status, text = await post(session, server, VALIDATE_HUB, body)
    assert status == 500
    assert "hunter2" not in text + capsys.readouterr().out


def metrics(registry: CollectorRegistry) -> dict[str, float]:
    """Return the metrics of the path that validates hubs."""
    lines = render_families(collect_families(registry)).decode().splitlines()
    selected = [line for line in lines if f'webhook="{VALIDATE_HUB}"' in line]
    samples = (line.replace(f'webhook="{VALIDATE_HUB}"', "").rpartition(" ") for line in selected)
    prefix = "controller_runtime_webhook_"
    return {name.removeprefix(prefix): float(value) for name, _, value in samples}


async def test_requests_are_counted_by_path_and_status(
    session: aiohttp.ClientSession, server: WebhookServer, registry: CollectorRegistry
) -> None:
    # Failures start at 0, so that an alert sees the first one.
    assert metrics(registry)['requests_total{code="500",}'] == 0
    body = body_of(HUB, "DELETE", oldObject=an_object())
    await review(session, server, VALIDATE_HUB, body)
    await post(session, server, VALIDATE_HUB, b"")
    samples = metrics(registry)
    assert samples['requests_total{code="200",}'] == 1
    assert samples['requests_total{code="400",}'] == 1
    assert samples["requests_in_flight{}"] == 0
    assert samples["latency_seconds_count{}"] == 2
    assert samples['latency_seconds_bucket{,le="10"}'] == 2


async def test_request_is_in_flight_until_its_response(
    session: aiohttp.ClientSession, server: WebhookServer, registry: CollectorRegistry
) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await eventually(lambda: metrics(registry)["requests_in_flight{}"] == 1)

    assert (await post(session, server, VALIDATE_HUB, slow()))[0] == 400
    assert metrics(registry)["requests_in_flight{}"] == 0


async def test_server_reports_a_problem_until_it_listens(
    files: FileCertificates, session: aiohttp.ClientSession
) -> None:
    class Slow:
        """Has its certificate once `has_one` is set."""

        problem = "there is no certificate yet"

        def __init__(self) -> None:
            self.has_one = asyncio.Event()

        async def run(self) -> None:
            await asyncio.Event().wait()

        async def context(self) -> ssl.SSLContext:
            await self.has_one.wait()
            return await files.context()

    slow = Slow()
    async with WebhookServer(ANY, slow, Caches(), author_may_get, key=lambda: KEY) as server:
        assert server.problem == "webhooks: there is no certificate yet"
        slow.has_one.set()
        await eventually(lambda: not server.problem)
        assert (await post(session, server, VALIDATE_HUB, b""))[0] == 400


async def test_missing_certificate_cancels_the_block(tmp_path: Path) -> None:
    missing = FileCertificates(CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key"))
    with pytest.RaisesGroup(pytest.RaisesExc(CertificateError, match=r"tls\.crt")):
        async with WebhookServer(ANY, missing, Caches(), author_may_get, key=lambda: KEY):
            await asyncio.sleep(60)


async def test_port_in_use_cancels_the_block(
    server: WebhookServer, files: FileCertificates
) -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(ListenError, match="the webhook server cannot")):
        async with WebhookServer(server.address, files, Caches(), author_may_get, key=lambda: KEY):
            await asyncio.sleep(60)


async def test_exception_of_the_block_is_not_wrapped(files: FileCertificates) -> None:
    with pytest.raises(KeyError):
        async with WebhookServer(ANY, files, Caches(), author_may_get, key=lambda: KEY):
            raise KeyError("mine")
