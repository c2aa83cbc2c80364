import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from certificates import Authority, Pair
from lynq.kube import Client, ClientOptions, ClusterConfig, errors
from lynq.kube.credentials import ClientCertificate, Credential, StaticCredentials
from lynq.kube.tls import tls_context
from serving import Serve

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


async def ask(serve: Serve, tmp_path: Path, name: str, **config: Any) -> str:
    """Return whom a server with a certificate for that name believes to speak with."""
    address = await serve(peer_name, tls=server_tls(AUTHORITY.sign("server", name), tmp_path))
    async with Client.connect(ClusterConfig(address, **config), options=ONCE) as client:
        return (await client.raw("/")).decode()


async def test_a_server_signed_by_the_clusters_authority_is_trusted(
    serve: Serve, tmp_path: Path
) -> None:
    authority = AUTHORITY.certificate
    answer = await ask(serve, tmp_path, "127.0.0.1", certificate_authority=authority)
    assert answer == '{"who": null}'


async def test_a_client_certificate_is_shown(serve: Serve, tmp_path: Path) -> None:
    pair = AUTHORITY.sign("jane")
    credential = Credential(certificate=ClientCertificate(pair.certificate, pair.key))
    answer = await ask(
        serve,
        tmp_path,
        "127.0.0.1",
        certificate_authority=AUTHORITY.certificate,
        credentials=StaticCredentials(credential),
    )
    assert answer == '{"who": "jane"}'


async def test_a_name_of_its_own_for_the_certificate(serve: Serve, tmp_path: Path) -> None:
    authority = AUTHORITY.certificate
    with pytest.raises(errors.ConnectionFailed, match="is not trusted"):
        await ask(serve, tmp_path, "kubernetes", certificate_authority=authority)
    await ask(
        serve,
        tmp_path,
        "kubernetes",
        certificate_authority=authority,
        tls_server_name="kubernetes",
    )


async def test_a_stranger_is_not_trusted_unless_nobody_looks(serve: Serve, tmp_path: Path) -> None:
    other = Authority("other").certificate
    with pytest.raises(errors.ConnectionFailed, match=r"check certificate-authority"):
        await ask(serve, tmp_path, "127.0.0.1", certificate_authority=other)
    await ask(serve, tmp_path, "127.0.0.1", certificate_authority=other, insecure=True)


def test_what_is_no_certificate_is_said() -> None:
    with pytest.raises(errors.ConfigError, match="x: the certificate authority is not a PEM"):
        tls_context(ClusterConfig("https://k8s", "x", b"CA"))
    with pytest.raises(errors.ConfigError, match="do not belong together"):
        tls_context(ClusterConfig("https://k8s", "x"), ClientCertificate(b"C", b"K"))
    mixed = ClientCertificate(AUTHORITY.sign("a").certificate, AUTHORITY.sign("b").key)
    with pytest.raises(errors.ConfigError, match="do not belong together"):
        tls_context(ClusterConfig("https://k8s", "x"), mixed)
