"""Callers of the webhook server: the API server, and every other client of the port."""

import asyncio
import json as stdlib_json
import os
import ssl
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, json

from certificates import Authority
from lynq.api import FormSpec, HubSpec, LynqForm, LynqHub, LynqNode, Metadata
from lynq.api.installation_key import NO_KEY, InstallationKey, KeyState
from lynq.api.names import ANNOTATION_ACTIVATE, ANNOTATION_EXTRA
from lynq.api.wire import EPOCH
from lynq.core.hub.desired_node import render_spec
from lynq.core.hub.row_values import RowValues
from lynq.telemetry import Address
from lynq.tls.context import CertificateFiles, ClientCA
from lynq.webhooks import WebhookServer
from lynq.webhooks.certificates.ca import Lifetimes, renew
from lynq.webhooks.certificates.rotation import (
    Certificates,
    FileCertificates,
    RotatedCertificates,
    WebhookService,
)
from lynq.webhooks.listener import MAX_CONNECTIONS
from lynq.webhooks.paths import secret_part
from lynq.webhooks.review import (
    AdmissionDenied,
    AdmissionRequest,
    decode_request,
    encode_response,
)
from lynq.webhooks.validating import admit_form
from unit.webhooks.reviews import FORM, HUB, HUB_SPEC, NODE, Caches, an_object, body_of
from waiting import eventually

if TYPE_CHECKING:
    from lynq.kube import Client

ANY = Address("127.0.0.1", 0)
KEY = InstallationKey(b"k" * 32)
FORM_PATH = "/validate-operator-lynq-sh-v1-lynqform"
HUB_PATH = "/validate-operator-lynq-sh-v1-lynqhub"
NODE_PATH = "/validate-operator-lynq-sh-v1-lynqnode"
PASSWORD = {"name": "db-root", "key": "password"}
HUB_WITH_SECRET = {
    **HUB_SPEC,
    "source": {
        "type": "mysql",
        "mysql": {**HUB_SPEC["source"]["mysql"], "passwordRef": PASSWORD},
    },
}
MAPPED_HUB = {**HUB_SPEC, "extraValueMappings": {"token": "token"}}
SECRET: dict[str, Any] = {
    "id": "login",
    "nameTemplate": "{{ .uid }}-login",
    "spec": {
        "apiVersion": "v1",
        "kind": "Secret",
        "stringData": {"password": "{{ randAlphaNum 12 }}"},
    },
}
STORED_FORM = {"hubId": "shop", "secrets": [SECRET]}


def form_with(template: str) -> dict[str, Any]:
    """Return the form with another password: same resource id and field, so the same random."""
    manifest = {**SECRET["spec"], "stringData": {"password": template}}
    return {"hubId": "shop", "secrets": [{**SECRET, "spec": manifest}]}


def node(uid: str, token: str) -> LynqNode:
    extra = stdlib_json.dumps({"token": token})
    hub = LynqHub(
        metadata=Metadata(name="shop", namespace="prod"), spec=convert(MAPPED_HUB, HubSpec)
    )
    form = LynqForm(
        metadata=Metadata(name="shop", namespace="prod"), spec=convert(STORED_FORM, FormSpec)
    )
    annotations = {ANNOTATION_ACTIVATE: "1", ANNOTATION_EXTRA: extra}
    return LynqNode(
        metadata=Metadata(name=f"{uid}-shop", namespace="prod", annotations=annotations),
        spec=render_spec(hub, form, RowValues(uid, "1", "", extra), now=EPOCH),
    )


def view_of(*nodes: LynqNode) -> Caches:
    return Caches(spec=convert(MAPPED_HUB, HubSpec), nodes=nodes)


@dataclass
class Reviews:
    """Records the questions about authors."""

    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    async def __call__(
        self, request: AdmissionRequest, names: Sequence[str]
    ) -> AdmissionDenied | None:
        self.asked.append((request.user_info.username, tuple(names)))
        return None


@dataclass
class Caller:
    """A client of one webhook server."""

    session: aiohttp.ClientSession
    server: WebhookServer
    reviews: Reviews

    async def post(self, path: str, body: Any) -> tuple[int, str]:
        url = f"https://{self.server.address}{path}"
        async with self.session.post(url, data=body) as response:
            return response.status, await response.text()

    async def review(self, path: str, body: bytes) -> dict[str, Any]:
        status, text = await self.post(path, body)
        assert status == 200, text
        response: dict[str, Any] = json.decode(text)["response"]
        return response


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
def files(tmp_path: Path, authority: Authority) -> CertificateFiles:
    pair = authority.sign("lynq", "127.0.0.1")
    files = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key")
    files.certificate.write_bytes(pair.certificate)
    files.key.write_bytes(pair.key)
    return files


@dataclass
class Servers:
    """Starts webhook servers."""

    files: CertificateFiles
    authority: Authority

    @asynccontextmanager
    async def caller(
        self,
        view: Caches,
        key: KeyState = KEY,
        certificates: Certificates | None = None,
        **settings: Any,
    ) -> AsyncIterator[Caller]:
        """Run a server for the block; yields a client of it."""
        tls = ssl.create_default_context(cadata=self.authority.certificate.decode())
        reviews = Reviews()
        connector = aiohttp.TCPConnector(ssl=tls, limit=0)
        async with (
            WebhookServer(
                ANY,
                certificates or FileCertificates(self.files),
                view,
                reviews,
                key=lambda: key,
                **settings,
            ) as server,
            aiohttp.ClientSession(connector=connector) as session,
        ):
            await server.listening()
            yield Caller(session, server, reviews)


@pytest.fixture
def servers(files: CertificateFiles, authority: Authority) -> Servers:
    return Servers(files, authority)


def form_update(template: str) -> bytes:
    new, old = an_object(form_with(template)), an_object(STORED_FORM)
    return body_of(FORM, "UPDATE", object=new, oldObject=old)


GUESSES = [
    "{{ fail .uid }}",
    '{{ if hasPrefix .token "s3cr3t" }}{{ fail "" }}{{ end }}',
    '{{ if eq .uid "acme" }}{{ fail "" }}{{ end }}',
    *(
        f'{{{{ if hasPrefix "{c}" (randAlphaNum 12) }}}}{{{{ fail "" }}}}{{{{ end }}}}'
        for c in "aZ7"
    ),
]


@pytest.mark.parametrize("part", ["", "/guess", f"/{secret_part(KEY)}"])
async def test_answer_is_no_oracle_for_rows_and_generated_values(
    servers: Servers, part: str
) -> None:
    async def answers(key: KeyState, *nodes: LynqNode) -> list[dict[str, Any]]:
        async with servers.caller(view_of(*nodes), key) as caller:
            return [await caller.review(FORM_PATH + part, form_update(guess)) for guess in GUESSES]

    first = await answers(KEY, node("acme", "s3cr3t-tok"), node("beta", "a"))
    other = await answers(KEY, node("x1", "b"), node("x2", "c"))
    assert first == other
    assert all(answer["allowed"] for answer in first)
    assert not any("acme" in str(answer) for answer in first)


names = st.text("abcdefgh0123", min_size=1, max_size=12)
rows = st.lists(st.tuples(names, st.text(max_size=20)), min_size=2, max_size=2)


@given(rows, rows, st.sampled_from(GUESSES))
def test_warning_is_equal_for_other_rows(
    first: list[tuple[str, str]], other: list[tuple[str, str]], guess: str
) -> None:
    request = decode_request(form_update(guess), FORM)
    answers = {
        encode_response(request, admit_form(request, view_of(*(node(*row) for row in table)))())
        for table in (first, other)
    }
    assert len(answers) == 1


def hub_creation() -> bytes:
    user = {"username": "alice@corp"}
    return body_of(HUB, "CREATE", object=an_object(HUB_WITH_SECRET), userInfo=user)


@pytest.mark.parametrize("part", ["", "/", "/x", f"/{'0' * 32}", f"/{secret_part(NO_KEY)}"])
async def test_unverified_caller_is_denied_a_review_of_rights_and_may_try_again(
    servers: Servers, part: str
) -> None:
    async with servers.caller(Caches()) as caller:
        status, text = await caller.post(HUB_PATH + part, hub_creation())
        if status == 200:
            response = json.decode(text)["response"]
            assert response["allowed"] is False
            assert response["status"]["code"] == 503
            assert response["status"]["details"] == {"retryAfterSeconds": 1}
            assert "try again" in response["status"]["message"]
        else:
            assert (part, status) == ("/", 404)
        assert caller.reviews.asked == []


async def test_author_is_reviewed_at_the_secret_path(servers: Servers) -> None:
    async with servers.caller(Caches()) as caller:
        response = await caller.review(f"{HUB_PATH}/{secret_part(KEY)}", hub_creation())
        assert response["allowed"] is True
        assert caller.reviews.asked == [("alice@corp", ("db-root",))]


async def test_no_path_is_secret_without_a_key(servers: Servers) -> None:
    async with servers.caller(Caches(), NO_KEY) as caller:
        for part in ("", f"/{secret_part(KEY)}", "/None"):
            assert (await caller.review(HUB_PATH + part, hub_creation()))["allowed"] is False
        assert caller.reviews.asked == []


async def test_unverified_caller_learns_nothing_of_the_caches(servers: Servers) -> None:
    view = view_of(node("acme", "a"))
    unmapped = body_of(FORM, "CREATE", object=an_object(form_with("{{ .planet }}")))
    deletion = body_of(FORM, "DELETE", oldObject=an_object(STORED_FORM))
    async with servers.caller(view) as caller:
        assert "warnings" not in await caller.review(FORM_PATH, unmapped)
        (warning,) = (await caller.review(FORM_PATH, deletion))["warnings"]
        assert warning == "LynqForm shop: its LynqNodes and their resources will be deleted"
        verified = f"{FORM_PATH}/{secret_part(KEY)}"
        (warning,) = (await caller.review(verified, unmapped))["warnings"]
        assert "the hub does not map .planet" in warning
        (warning,) = (await caller.review(verified, deletion))["warnings"]
        assert warning == "LynqForm shop: 1 LynqNode and 0 resources will be deleted"


async def test_object_alone_decides_at_the_static_path(servers: Servers) -> None:
    invalid = body_of(FORM, "CREATE", object=an_object(form_with("{{ nope }}")))
    protected = an_object(annotations={"lynq.sh/protect": "true"})
    async with servers.caller(Caches()) as caller:
        response = await caller.review(FORM_PATH, invalid)
        assert 'function "nope" not defined' in response["status"]["message"]
        response = await caller.review(NODE_PATH, body_of(NODE, "DELETE", oldObject=protected))
        assert "is protected" in response["status"]["message"]
        allowed = body_of(HUB, "CREATE", object=an_object(HUB_SPEC))
        assert (await caller.review(HUB_PATH, allowed))["allowed"] is True


async def slowly(body: bytes, end: asyncio.Event) -> AsyncIterator[bytes]:
    yield body[:1]
    await end.wait()
    yield body[1:]


async def test_flood_of_bodies_is_answered_with_429_and_does_not_stop_the_api_server(
    servers: Servers,
) -> None:
    end = asyncio.Event()
    async with servers.caller(Caches()) as caller, asyncio.TaskGroup() as group:
        flood = [
            group.create_task(caller.post(HUB_PATH, slowly(hub_creation(), end))) for _ in range(40)
        ]
        # A body of unknown length counts as the largest one: two fit into the 8 MiB.
        while sum(task.done() for task in flood) < 38:
            await asyncio.sleep(0.01)
        assert {task.result()[0] for task in flood if task.done()} == {429}
        response = await caller.review(f"{HUB_PATH}/{secret_part(KEY)}", hub_creation())
        assert response["allowed"] is True
        end.set()
    assert sorted(task.result()[0] for task in flood) == [200] * 2 + [429] * 38


FLOOD = """
import asyncio, ssl, sys

async def send(port, path, body):
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    head = f"POST {path} HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: {len(body) + 1}\\r\\n\\r\\n"
    writer.write(head.encode() + body)
    print((await reader.readline()).split()[1].decode())

async def main():
    port, path, body = int(sys.argv[1]), sys.argv[2], b"x" * 3_300_000
    await asyncio.gather(*(send(port, path, body) for _ in range(60)), return_exceptions=True)

asyncio.run(main())
"""


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def test_flood_of_large_bodies_takes_bounded_memory(servers: Servers) -> None:
    async with servers.caller(Caches(), body_seconds=1.5) as caller:
        before = peak = resident_mib()
        port = str(caller.server.address.port)
        flood = await asyncio.create_subprocess_exec(
            sys.executable, "-c", FLOOD, port, FORM_PATH, stdout=asyncio.subprocess.PIPE
        )
        done = asyncio.create_task(flood.communicate())
        while not done.done():
            peak = max(peak, resident_mib())
            await asyncio.sleep(0.01)
        statuses = (await done)[0].decode().split()
        # Two bodies of 3.2 MiB fit into the 8 MiB at a time; they are never complete.
        assert set(statuses) <= {"408", "429"}
        assert statuses.count("429") > 40
        # 60 bodies are 190 MiB. Each connection has buffers of its own.
        assert peak - before < 80


async def test_idle_connections_of_strangers_yield_to_the_api_server(servers: Servers) -> None:
    async with servers.caller(Caches()) as caller:
        path = f"{HUB_PATH}/{secret_part(KEY)}"
        assert (await caller.review(path, hub_creation()))["allowed"] is True
        (ours,) = caller.server._listener._connections.values()
        address = (caller.server.address.host, caller.server.address.port)
        # They send nothing, not even a handshake.
        idle = [await asyncio.open_connection(*address) for _ in range(MAX_CONNECTIONS + 20)]
        try:
            await eventually(lambda: sum(reader.at_eof() for reader, _ in idle) >= 20)
            assert sum(reader.at_eof() for reader, _ in idle) < 30
            # The connection of the API server is still there, and a new one finds room.
            assert ours.is_verified
            assert not ours.is_closed
            assert (await caller.review(path, hub_creation()))["allowed"] is True
            tls = ssl.create_default_context(cadata=servers.authority.certificate.decode())
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as fresh:
                other = replace(caller, session=fresh)
                assert (await other.review(path, hub_creation()))["allowed"] is True
        finally:
            for _, writer in idle:
                writer.close()


async def test_429_names_the_delay(servers: Servers) -> None:
    end = asyncio.Event()
    async with servers.caller(Caches()) as caller, asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(caller.post(HUB_PATH, slowly(hub_creation(), end)))
        await asyncio.sleep(0.2)
        url = f"https://{caller.server.address}{HUB_PATH}"
        async with caller.session.post(url, data=hub_creation()) as response:
            # The announced length is small, and there is room for it.
            assert response.status == 200
        async with caller.session.post(url, data=slowly(hub_creation(), end)) as response:
            assert (response.status, response.headers["Retry-After"]) == (429, "1")
        end.set()


async def test_validation_ends_at_its_deadline(servers: Servers) -> None:
    texts = [f"{{{{ .a{number} }}}}" * 20 for number in range(900)]
    spec = form_with("x")
    spec["secrets"][0]["spec"]["stringData"] = {f"k{i}": text for i, text in enumerate(texts)}
    body = body_of(FORM, "CREATE", object=an_object(spec))
    async with servers.caller(Caches(), validation_seconds=0.05) as caller:
        for path in (FORM_PATH, f"{FORM_PATH}/{secret_part(KEY)}"):
            started = asyncio.get_running_loop().time()
            response = await caller.review(path, body)
            assert asyncio.get_running_loop().time() - started < 2
            message = response["status"]["message"]
            assert message.startswith("the validation took longer than 0.05 s")
        # The thread of the first validation is free again.
        allowed = body_of(FORM, "CREATE", object=an_object(form_with("x")))
        assert (await caller.review(FORM_PATH, allowed))["allowed"] is True


class Rotating:
    """The operator's own certificates, without the API server that shares them."""

    problem = ""

    def __init__(self, client_ca: ClientCA) -> None:
        names = ("localhost", "127.0.0.1")
        self.state = renew(None, names, Lifetimes(), datetime.now(UTC))
        service = WebhookService("ops", "hooks", "lynq-")
        client = cast("Client", None)
        self.certificates = RotatedCertificates(client, service, client_ca=client_ca)
        self.certificates._use(self.state)

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def context(self) -> ssl.SSLContext:
        return await self.certificates.context()


@pytest.mark.parametrize("rotates", [False, True])
async def test_client_without_a_certificate_of_the_ca_is_not_answered(
    servers: Servers, tmp_path: Path, *, rotates: bool
) -> None:
    clients, others = Authority("clients"), Authority("others")
    ca = ClientCA(tmp_path / "clients.crt")
    ca.path.write_bytes(clients.certificate)
    servers.files = replace(servers.files, client_ca=ca)
    rotating = Rotating(ca)
    certificates = rotating if rotates else FileCertificates(servers.files)
    bundle = rotating.state.bundle if rotates else servers.authority.certificate

    async def answer(caller: Caller, issuer: Authority | None) -> int:
        tls = ssl.create_default_context(cadata=bundle.decode())
        if issuer:
            tls.load_cert_chain(issuer.sign("kube-apiserver").write(tmp_path))
        url = f"https://{caller.server.address}{HUB_PATH}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=hub_creation(), ssl=tls) as response,
        ):
            assert json.decode(await response.read())["response"]["allowed"] is True
            return response.status

    async with servers.caller(Caches(), certificates=certificates, verifies_clients=True) as caller:
        for issuer in (None, others):
            with pytest.raises(aiohttp.ClientError):
                await answer(caller, issuer)
        # Verified, so that the rights of the author are reviewed at the static path too.
        assert await answer(caller, clients) == 200
        assert caller.reviews.asked == [("alice@corp", ("db-root",))]
        ca.path.write_bytes(others.certificate)
        with pytest.raises(aiohttp.ClientError):
            await answer(caller, clients)
        assert await answer(caller, others) == 200
