"""Health and metrics over HTTP on loopback."""

import asyncio
import ssl
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from certificates import Authority
from lynq.api import NodeStatus
from lynq.api.metadata import ObjectKey
from lynq.telemetry import (
    AccessDecision,
    Address,
    ListenError,
    OperatorMetrics,
    Protection,
    ReviewFailedError,
)
from lynq.telemetry.endpoints import health_server, metrics_server
from lynq.tls.context import CertificateError, CertificateFiles

ANY = Address("127.0.0.1", 0)


class Reviewer:
    """Reviews tokens of two accounts and records the reviews."""

    def __init__(self) -> None:
        self.reviewed: list[str] = []

    async def __call__(self, token: str) -> AccessDecision:
        self.reviewed.append(token)
        if token == "broken":
            raise ReviewFailedError("the API server does not answer")
        decisions = {"prometheus": AccessDecision.ALLOWED, "stranger": AccessDecision.FORBIDDEN}
        return decisions.get(token, AccessDecision.UNAUTHENTICATED)


async def get(
    address: Address, path: str, *, token: str = "", tls: ssl.SSLContext | bool | None = None
) -> tuple[int, str]:
    scheme = "http" if tls is None else "https"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    checked = True if tls is None else tls
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{scheme}://{address}{path}", headers=headers, ssl=checked) as response,
    ):
        assert response.version == aiohttp.HttpVersion11
        return response.status, await response.text()


async def test_healthz_is_ok() -> None:
    async with health_server(ANY, lambda: ["much is wrong"]) as server:
        assert await get(server.address, "/healthz") == (200, "ok")


async def test_readyz_lists_problems_until_ready() -> None:
    problems = ["hubs are not listed yet", "forms are not listed yet"]
    async with health_server(ANY, lambda: problems) as server:
        status, text = await get(server.address, "/readyz")
        assert status == 500
        assert all(problem in text for problem in problems)
        problems.clear()
        assert await get(server.address, "/readyz") == (200, "ok")


async def test_port_in_use_is_a_listen_error() -> None:
    async with health_server(ANY, list) as first:
        second = metrics_server(first.address, CollectorRegistry(), None)
        with pytest.raises(ListenError) as raised:
            await second.__aenter__()
        assert str(raised.value) == (
            f"the metrics server cannot listen on {first.address}: address already in use"
        )


async def test_foreign_address_is_a_listen_error() -> None:
    server = health_server(Address("192.0.2.1", 8081), list)
    with pytest.raises(ListenError, match=r"health server cannot listen on 192\.0\.2\.1:8081"):
        await server.__aenter__()


async def test_unknown_host_is_a_listen_error() -> None:
    server = health_server(Address("no-such-host.invalid", 8081), list)
    with pytest.raises(ListenError, match=r"cannot listen on no-such-host\.invalid:8081: \w+"):
        await server.__aenter__()


async def test_stopped_server_frees_its_port() -> None:
    async with health_server(ANY, list) as first:
        address = first.address
    async with health_server(address, list) as second:
        assert (await get(second.address, "/healthz"))[0] == 200


async def test_unprotected_metrics_are_plain_http() -> None:
    registry = CollectorRegistry()
    OperatorMetrics(registry).record_node_status(
        ObjectKey("shop", "acme"), NodeStatus(ready_resources=3)
    )
    async with metrics_server(ANY, registry, None) as server:
        status, text = await get(server.address, "/metrics")
    assert status == 200
    assert 'lynqnode_resources_ready{lynqnode="acme",namespace="shop"} 3\n' in text


async def test_metrics_without_accept_gzip_are_uncompressed() -> None:
    async with (
        metrics_server(ANY, CollectorRegistry(), None) as server,
        aiohttp.ClientSession() as session,
        session.get(
            f"http://{server.address}/metrics", headers={"Accept-Encoding": "identity"}
        ) as response,
    ):
        assert "Content-Encoding" not in response.headers
        assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")


@pytest.mark.parametrize(
    ("token", "status"),
    [("", 401), ("nobody", 401), ("stranger", 403), ("broken", 500), ("prometheus", 200)],
)
async def test_protected_metrics_require_an_authorized_token(token: str, status: int) -> None:
    protection = Protection(Reviewer())
    async with metrics_server(ANY, CollectorRegistry(), protection) as server:
        answer = await get(server.address, "/metrics", token=token, tls=False)
    assert answer[0] == status


async def test_protected_server_rejects_plain_http() -> None:
    async with metrics_server(ANY, CollectorRegistry(), Protection(Reviewer())) as server:
        with pytest.raises(aiohttp.ClientError):
            await get(server.address, "/metrics", token="prometheus")


async def test_decision_on_a_token_is_cached() -> None:
    reviewer = Reviewer()
    async with metrics_server(ANY, CollectorRegistry(), Protection(reviewer)) as server:
        for token in ("prometheus", "prometheus", "stranger", "stranger"):
            await get(server.address, "/metrics", token=token, tls=False)
    assert reviewer.reviewed == ["prometheus", "stranger"]


async def test_replaced_certificate_is_reloaded(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key")
    old, new = Authority("old"), Authority("new")
    _write(files, old)
    protection = Protection(Reviewer(), files)
    async with metrics_server(ANY, CollectorRegistry(), protection) as server:
        assert (await get(server.address, "/metrics", tls=_trusting(old)))[0] == 401
        _write(files, new)
        assert (await get(server.address, "/metrics", tls=_trusting(new)))[0] == 401
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await get(server.address, "/metrics", tls=_trusting(old))


async def test_incomplete_replacement_keeps_the_old_certificate(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key")
    authority = Authority()
    _write(files, authority)
    async with metrics_server(ANY, CollectorRegistry(), Protection(Reviewer(), files)) as server:
        for broken in (lambda: files.key.write_text("garbage"), files.key.unlink):
            broken()
            assert (await get(server.address, "/metrics", tls=_trusting(authority)))[0] == 401


async def test_missing_certificate_is_a_certificate_error(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key")
    server = metrics_server(ANY, CollectorRegistry(), Protection(Reviewer(), files))
    with pytest.raises(CertificateError, match=r"tls\.crt.*No such file"):
        await server.__aenter__()


async def test_concurrent_scrapes_succeed() -> None:
    async with metrics_server(ANY, CollectorRegistry(), None) as server:
        answers = await asyncio.gather(*(get(server.address, "/metrics") for _ in range(10)))
    assert [status for status, _ in answers] == [200] * 10


def _write(files: CertificateFiles, authority: Authority) -> None:
    pair = authority.sign("lynq", "127.0.0.1")
    for path, content in ((files.certificate, pair.certificate), (files.key, pair.key)):
        # Like the kubelet: a new file replaces the old one.
        fresh = path.with_suffix(".new")
        fresh.write_bytes(content)
        fresh.replace(path)


def _trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.certificate.decode())
