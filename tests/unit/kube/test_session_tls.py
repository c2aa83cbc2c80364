import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from certificates import Authority, Pair
from http_server import Serve
from lynq.kube import Client, ClientOptions, ClusterConfig, errors
from lynq.kube.credentials import ClientCertificate, Credential, StaticCredentials
from lynq.kube.session import ssl_context_for

AUTHORITY = Authority()
ONCE = ClientOptions(attempts=1)


def server_tls(pair: Pair, folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.write(folder))
    context.load_verify_locations(cadata=AUTHORITY.certificate.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


async def peer_name(request: web.BaseRequest) -> web.StreamResponse:
    peer = request.get_extra_info("peercert") or {}
    names = dict(pair[0] for pair in peer.get("subject", ()))
    return web.json_response({"who": names.get("commonName")})


async def request_identity(serve: Serve, tmp_path: Path, name: str, **config: Any) -> str:
    """Return the client identity that a server with a certificate for this name observes."""
    address = await serve(peer_name, tls=server_tls(AUTHORITY.sign("server", name), tmp_path))
    async with Client.connect(ClusterConfig(address, **config), options=ONCE) as client:
        return (await client.raw("/")).decode()


async def test_server_certificate_of_the_cluster_ca_is_trusted(
    serve: Serve, tmp_path: Path
) -> None:
    authority = AUTHORITY.certificate
    identity = await request_identity(serve, tmp_path, "127.0.0.1", certificate_authority=authority)
    assert identity == '{"who": null}'


async def test_client_certificate_is_sent(serve: Serve, tmp_path: Path) -> None:
    pair = AUTHORITY.sign("jane")
    credential = Credential(certificate=ClientCertificate(pair.certificate, pair.key))
    identity = await request_identity(
        serve,
        tmp_path,
        "127.0.0.1",
        certificate_authority=AUTHORITY.certificate,
        credentials=StaticCredentials(credential),
    )
    assert identity == '{"who": "jane"}'


async def test_tls_server_name_is_verified(serve: Serve, tmp_path: Path) -> None:
    authority = AUTHORITY.certificate
    with pytest.raises(errors.ConnectionFailed, match="is not trusted"):
        await request_identity(serve, tmp_path, "kubernetes", certificate_authority=authority)
    await request_identity(
        serve,
        tmp_path,
        "kubernetes",
        certificate_authority=authority,
        tls_server_name="kubernetes",
    )


async def test_untrusted_server_is_rejected_unless_insecure(serve: Serve, tmp_path: Path) -> None:
    other = Authority("other").certificate
    with pytest.raises(errors.ConnectionFailed, match=r"check certificate-authority"):
        await request_identity(serve, tmp_path, "127.0.0.1", certificate_authority=other)
    await request_identity(serve, tmp_path, "127.0.0.1", certificate_authority=other, insecure=True)


async def test_rotated_certificate_authority_is_read_again(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(Authority("retired").certificate)
    address = await serve(
        peer_name, tls=server_tls(AUTHORITY.sign("server", "127.0.0.1"), tmp_path)
    )
    config = ClusterConfig(
        address, certificate_authority=file.read_bytes(), certificate_authority_file=file
    )
    async with Client.connect(config, options=ONCE) as client:
        with pytest.raises(errors.ConnectionFailed, match="is not trusted"):
            await client.raw("/")
        file.write_bytes(AUTHORITY.certificate)
        with pytest.raises(errors.ConnectionFailed, match="is not trusted"):
            await client.raw("/")
        assert await client.raw("/")


@asynccontextmanager
async def tunnelling(heads: list[bytes], tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A proxy that tunnels one connection and records its request head."""

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while chunk := await source.read(65536):
            sink.write(chunk)
            await sink.drain()
        sink.close()

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        host, port = heads[-1].split(b" ")[1].decode().split(":")
        inner, outer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.gather(pump(reader, outer), pump(inner, writer))

    server = await asyncio.start_server(tunnel, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_proxy_tunnels_with_its_password(serve: Serve, tmp_path: Path) -> None:
    heads: list[bytes] = []
    async with tunnelling(heads) as proxy:
        identity = await request_identity(
            serve,
            tmp_path,
            "kubernetes",
            certificate_authority=AUTHORITY.certificate,
            tls_server_name="kubernetes",
            proxy=f"http://me:hunter2@{proxy}",
        )
    assert identity == '{"who": null}'
    assert heads[0].startswith(b"CONNECT 127.0.0.1:")
    assert b"Proxy-Authorization: Basic " + b64encode(b"me:hunter2") in heads[0]


async def proxied_identity(
    serve: Serve, tmp_path: Path, proxy_authority: Authority, **config: Any
) -> str:
    """Return the client identity that a server behind an https:// proxy observes."""
    (tmp_path / "proxy").mkdir()
    pair = proxy_authority.sign("proxy", "127.0.0.1")
    async with tunnelling([], server_tls(pair, tmp_path / "proxy")) as proxy:
        return await request_identity(
            serve,
            tmp_path,
            "127.0.0.1",
            certificate_authority=AUTHORITY.certificate,
            proxy=f"https://{proxy}",
            **config,
        )


@pytest.mark.parametrize("insecure", [False, True])
async def test_proxy_is_not_trusted_for_the_ca_of_the_cluster(
    serve: Serve, tmp_path: Path, *, insecure: bool
) -> None:
    with pytest.raises(errors.ConnectionFailed, match="of the proxy is not trusted"):
        await proxied_identity(serve, tmp_path, AUTHORITY, insecure=insecure)


async def test_proxy_is_trusted_for_the_cas_of_the_system(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = Authority("system")
    (tmp_path / "system.crt").write_bytes(system.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.crt"))
    pair = AUTHORITY.sign("jane")
    credential = Credential(certificate=ClientCertificate(pair.certificate, pair.key))
    credentials = StaticCredentials(credential)
    identity = await proxied_identity(serve, tmp_path, system, credentials=credentials)
    assert identity == '{"who": "jane"}'


async def test_rejecting_proxy_is_reported_without_its_password(
    serve: Serve, tmp_path: Path
) -> None:
    async def refuse(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=407)

    proxy = (await serve(refuse)).replace("http://", "http://me:hunter2@")
    with pytest.raises(errors.ConnectionFailed, match="the proxy responded 407") as caught:
        await request_identity(serve, tmp_path, "127.0.0.1", proxy=proxy)
    assert "hunter2" not in str(caught.value)


def test_invalid_certificates_are_rejected() -> None:
    with pytest.raises(errors.ConfigError, match="x: the certificate authority is not a PEM"):
        ssl_context_for(ClusterConfig("https://k8s", "x", b"CA"))
    with pytest.raises(errors.ConfigError, match="do not match"):
        ssl_context_for(ClusterConfig("https://k8s", "x"), ClientCertificate(b"C", b"K"))
    mixed = ClientCertificate(AUTHORITY.sign("a").certificate, AUTHORITY.sign("b").key)
    with pytest.raises(errors.ConfigError, match="do not match"):
        ssl_context_for(ClusterConfig("https://k8s", "x"), mixed)
