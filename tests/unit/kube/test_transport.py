import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from http_server import Handler, Serve
from lynq.kube import (
    Backoff,
    Client,
    ClientOptions,
    ClusterConfig,
    Impersonation,
    Patch,
    Request,
    Response,
    Send,
    errors,
)
from lynq.kube.credentials import Credential, StaticCredentials
from lynq.kube.resource import CONFIG_MAPS

OBJECT: dict[str, Any] = {"metadata": {"name": "a", "namespace": "n"}}
PINNED = {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"}}
QUICK = ClientOptions(timeout=5, backoff=Backoff(base=0.001, cap=0.002))

Call = Callable[[Client], Any]
VERBS: dict[str, Call] = {
    "get": lambda client: client.get(CONFIG_MAPS, "a", "n"),
    "list": lambda client: client.list(CONFIG_MAPS),
    "create": lambda client: client.create(CONFIG_MAPS, OBJECT),
    "create, dry run": lambda client: client.create(CONFIG_MAPS, OBJECT, dry_run=True),
    "apply": lambda client: client.apply(CONFIG_MAPS, OBJECT, manager="m"),
    "apply of a version": lambda client: client.apply(CONFIG_MAPS, PINNED, manager="m"),
    "patch": lambda client: client.patch(CONFIG_MAPS, "a", {}, "n"),
    "json patch": lambda client: client.patch(CONFIG_MAPS, "a", [], "n", kind=Patch.JSON),
    "replace": lambda client: client.replace(CONFIG_MAPS, OBJECT),
    "delete": lambda client: client.delete(CONFIG_MAPS, "a", "n"),
    "delete of a uid": lambda client: client.delete(CONFIG_MAPS, "a", "n", uid="u"),
    "delete of a version": lambda client: client.delete(
        CONFIG_MAPS, "a", "n", uid="u", resource_version="1"
    ),
}
WRITES = sorted(VERBS.keys() - {"get", "list"})
REPEATABLE = {"get", "list", "apply", "create, dry run", "delete of a uid"}


def ok(request: web.BaseRequest) -> web.Response:
    return web.json_response(OBJECT | {"method": request.method})


def status(code: int, **headers: str) -> web.Response:
    body = {"kind": "Status", "code": code, "reason": "", "message": "hunter2"}
    return web.json_response(body, status=code, headers=headers)


class Script:
    """Responds to the first requests as listed and to others with an object; records all."""

    def __init__(self, *answers: Callable[[web.BaseRequest], web.StreamResponse]) -> None:
        self.answers = list(answers)
        self.requests: list[web.BaseRequest] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        self.requests.append(request)
        return self.answers.pop(0)(request) if self.answers else ok(request)


def reset(request: web.BaseRequest) -> web.StreamResponse:
    assert request.transport
    request.transport.abort()
    return web.Response()


async def call(serve: Serve, handler: Handler, verb: str = "get", **options: Any) -> Any:
    address = await serve(handler)
    async with Client.connect(ClusterConfig(address), options=QUICK, **options) as client:
        return await VERBS[verb](client)


@pytest.mark.parametrize("verb", VERBS)
async def test_429_is_retried_for_every_verb(serve: Serve, verb: str) -> None:
    script = Script(lambda _: status(429, **{"Retry-After": "0"}))
    await call(serve, script, verb)
    assert len(script.requests) == 2


@pytest.mark.parametrize("verb", VERBS)
async def test_after_a_reset_only_repeatable_requests_are_retried(serve: Serve, verb: str) -> None:
    script = Script(reset)
    with suppress(errors.ConnectionFailed):
        await call(serve, script, verb)
    assert len(script.requests) == (2 if verb in REPEATABLE else 1)


@pytest.mark.parametrize("verb", ["replace", "delete", "create"])
async def test_write_on_a_dead_pooled_connection_is_not_sent_twice(serve: Serve, verb: str) -> None:
    script = Script(ok, reset)
    address = await serve(script)
    async with Client.connect(ClusterConfig(address), options=QUICK) as client:
        await VERBS["get"](client)
        with pytest.raises(errors.ConnectionFailed):
            await VERBS[verb](client)
    assert len(script.requests) == 2


async def test_retry_after_is_respected(serve: Serve) -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    await call(serve, Script(lambda _: status(503, **{"Retry-After": "1"})))
    assert loop.time() - start >= 1


async def test_attempts_are_limited(serve: Serve) -> None:
    script = Script(*[lambda _: status(503)] * 20)
    with pytest.raises(errors.ServiceUnavailable):
        await call(serve, script)
    assert len(script.requests) == QUICK.attempts


async def test_refused_connection_is_retried_even_for_a_create() -> None:
    attempts = []

    async def count(request: Request, send: Send) -> Response:
        attempts.append(request)
        return await send(request)

    config = ClusterConfig("http://127.0.0.1:1")
    async with Client.connect(config, options=QUICK, interceptors=(count,)) as client:
        with pytest.raises(errors.ConnectionFailed) as caught:
            await VERBS["create"](client)
    assert "cannot connect to 127.0.0.1:1" in str(caught.value)
    assert not caught.value.sent
    assert len(attempts) == QUICK.attempts


async def test_timeout_is_not_retried(serve: Serve) -> None:
    requests = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        requests.append(request)
        await asyncio.Event().wait()
        return ok(request)

    options = ClientOptions(timeout=1)
    async with Client.connect(ClusterConfig(await serve(handler)), options=options) as client:
        with pytest.raises(errors.TimedOut):
            await VERBS["get"](client)
    assert len(requests) == 1


async def test_large_response_is_rejected(serve: Serve) -> None:
    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b" " * 5000)

    options = ClientOptions(max_response=4000)
    async with Client.connect(ClusterConfig(await serve(handler)), options=options) as client:
        with pytest.raises(errors.ResponseTooLarge, match="larger than 4000 bytes"):
            await VERBS["get"](client)


async def test_error_response_without_a_status_is_a_typed_error(serve: Serve) -> None:
    script = Script(lambda _: web.Response(status=403, text="<html>hunter2"))
    with pytest.raises(errors.Forbidden) as caught:
        await call(serve, script)
    assert caught.value.status.message == "<html>hunter2"
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("code", [300, 301, 302, 303, 304, 307, 308])
async def test_redirect_is_an_error_and_is_not_followed(serve: Serve, code: int) -> None:
    location = {"Location": "/elsewhere?token=hunter2"}
    script = Script(lambda _: status(code, **location))
    with pytest.raises(errors.Redirected) as caught:
        await call(serve, script)
    assert str(caught.value).startswith(f"get /api/v1/namespaces/n/configmaps/a: {code} ")
    assert "is not followed; check the server's address" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert len(script.requests) == 1


async def test_redirect_with_the_body_of_another_answer_is_a_redirect(serve: Serve) -> None:
    body = {"reason": "AlreadyExists"}
    with pytest.raises(errors.Redirected):
        await call(serve, Script(lambda _: web.json_response(body, status=302)), "create")


async def test_token_to_a_server_without_tls_is_warned_of_once(serve: Serve) -> None:
    address = (await serve(Script())).replace("http://", "http://me:hunter2@")
    config = ClusterConfig(address, credentials=StaticCredentials(Credential("t0ken")))
    with capture_logs() as logs:
        async with Client.connect(config) as client:
            await VERBS["get"](client)
            await VERBS["get"](client)
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert len(warnings) == 1
    assert "without encryption" in warnings[0]["event"]
    assert "hunter2" not in str(logs)
    assert "t0ken" not in str(logs)


async def test_requests_without_credentials_need_no_tls(serve: Serve) -> None:
    with capture_logs() as logs:
        await call(serve, Script())
    assert logs == []


async def test_status_without_a_code_is_decoded(serve: Serve) -> None:
    script = Script(lambda _: web.json_response({"reason": "AlreadyExists"}, status=409))
    with pytest.raises(errors.AlreadyExists):
        await call(serve, script)


class Rotating:
    """Credentials that change with each renewal while there are tokens."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)

    async def current(self) -> Credential:
        return Credential(self.tokens[0])

    async def renew(self, refused: Credential) -> Credential:
        if len(self.tokens) > 1 and refused.token == self.tokens[0]:
            self.tokens.pop(0)
        return await self.current()


@pytest.mark.parametrize("verb", VERBS)
async def test_rejected_token_is_renewed_once(serve: Serve, verb: str) -> None:
    script = Script(lambda _: status(401))
    config = ClusterConfig(await serve(script), credentials=Rotating("old", "new", "newer"))
    async with Client.connect(config, options=QUICK) as client:
        await VERBS[verb](client)
    tokens = [request.headers["Authorization"] for request in script.requests]
    assert tokens == ["Bearer old", "Bearer new"]


async def test_token_that_stays_rejected_is_an_error(serve: Serve) -> None:
    script = Script(*[lambda _: status(401)] * 9)
    config = ClusterConfig(await serve(script), credentials=Rotating("old", "new", "newer"))
    async with Client.connect(config, options=QUICK) as client:
        with pytest.raises(errors.Unauthorized):
            await VERBS["get"](client)
    assert len(script.requests) == 2


async def test_requests_in_flight_are_limited_without_watches(serve: Serve) -> None:
    under_way, most, go = 0, 0, asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal under_way, most
        if "watch" in request.query_string:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b'{"type": "ADDED", "object": {}}\n')
            await go.wait()
            return response
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return ok(request)

    options = ClientOptions(max_in_flight=3)
    async with Client.connect(ClusterConfig(await serve(handler)), options=options) as client:
        watches = [client.watch(CONFIG_MAPS) for _ in range(5)]
        for watch in watches:
            await anext(watch)
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(VERBS["get"](client))
        go.set()
        for watch in watches:
            await watch.aclose()
    assert most == 3


async def test_unfenced_client_has_its_own_slots(serve: Serve) -> None:
    busy, go = asyncio.Event(), asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if not busy.is_set():
            busy.set()
            await go.wait()
        return ok(request)

    options = ClientOptions(max_in_flight=1)
    async with Client.connect(ClusterConfig(await serve(handler)), options=options) as client:
        slow = asyncio.create_task(VERBS["get"](client))
        await busy.wait()
        async with asyncio.timeout(5):
            await VERBS["get"](client.unfenced())
        assert not slow.done()
        go.set()
        await slow


async def test_user_agent_is_sent(serve: Serve) -> None:
    script = Script()
    whom = Impersonation("jane", "u1", ("dev", "ops"), (("scopes", "view"),))
    config = ClusterConfig(await serve(script), impersonate=whom)
    async with Client.connect(config) as client:
        await VERBS["get"](client)
    headers = script.requests[0].headers
    assert headers["User-Agent"].startswith("lynq/")
    assert headers["Impersonate-User"] == "jane"
    assert headers["Impersonate-Uid"] == "u1"
    assert headers.getall("Impersonate-Group") == ["dev", "ops"]
    assert headers["Impersonate-Extra-scopes"] == "view"


class Fence:
    """Closes after this number of checks."""

    def __init__(self, holds: int) -> None:
        self.holds = holds

    def __call__(self) -> None:
        self.holds -= 1
        if self.holds < 0:
            raise errors.Fenced("the lease is lost")


@pytest.mark.parametrize("verb", WRITES)
async def test_closed_fence_blocks_every_write(serve: Serve, verb: str) -> None:
    script = Script()
    with pytest.raises(errors.Fenced):
        await call(serve, script, verb, fence=Fence(0))
    assert script.requests == []


@pytest.mark.parametrize("verb", WRITES)
async def test_fence_is_checked_before_every_retry(serve: Serve, verb: str) -> None:
    script = Script(lambda _: status(429))
    with pytest.raises(errors.Fenced):
        await call(serve, script, verb, fence=Fence(1))
    assert len(script.requests) == 1


async def test_closed_fence_blocks_neither_reads_nor_the_unfenced_client(serve: Serve) -> None:
    script = Script()
    config = ClusterConfig(await serve(script))
    async with Client.connect(config, fence=Fence(0)) as client:
        await VERBS["get"](client)
        await VERBS["replace"](client.unfenced())
        with pytest.raises(errors.Fenced):
            await VERBS["replace"](client.unfenced().fenced(Fence(0)))
    assert len(script.requests) == 2


async def test_fence_is_checked_after_the_interceptors(serve: Serve) -> None:
    fence = Fence(1)

    async def slow(request: Request, send: Send) -> Response:
        fence.holds = 0  # the lease is lost while this interceptor waits
        return await send(request)

    script = Script()
    with pytest.raises(errors.Fenced):
        await call(serve, script, "apply", fence=fence, interceptors=(slow,))
    assert script.requests == []


async def test_interceptors_wrap_every_attempt(serve: Serve) -> None:
    log: list[str] = []

    def named(name: str) -> Any:
        async def interceptor(request: Request, send: Send) -> Response:
            log.append(f"{name} > {request.verb}")
            response = await send(request)
            log.append(f"{name} < {response.status}")
            return response

        return interceptor

    script = Script(lambda _: status(503))
    await call(serve, script, interceptors=(named("outer"), named("inner")))
    attempt = ["outer > get", "inner > get"]
    assert log == [*attempt, "inner < 503", "outer < 503", *attempt, "inner < 200", "outer < 200"]


async def test_interceptor_can_respond_and_fail_instead_of_the_server(serve: Serve) -> None:
    faults: list[errors.KubeError | Response] = [
        errors.ConnectionFailed("injected"),
        Response(503),
        Response(409, body=b'{"code": 409, "reason": "AlreadyExists"}'),
    ]

    async def inject(_: Request, __: Send) -> Response:
        fault = faults.pop(0)
        if isinstance(fault, Response):
            return fault
        raise fault

    with pytest.raises(errors.AlreadyExists):
        await call(serve, Script(), interceptors=(inject,))
    assert faults == []


async def test_client_that_is_not_open_is_an_error() -> None:
    client = Client.connect(ClusterConfig("http://127.0.0.1:1"), options=ClientOptions(attempts=1))
    with pytest.raises(errors.ConnectionFailed, match="not connected"):
        await VERBS["get"](client)


async def test_connect_timeout_includes_tls() -> None:
    """The time between the check of the fence and the request must fit into the lease's reserve."""
    connected = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        connected.set()
        await reader.read()
        writer.close()

    proxy = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    config = ClusterConfig("https://k8s.invalid", proxy=address)
    options = ClientOptions(timeout=5, connect_timeout=0.2, attempts=1)
    async with proxy, Client.connect(config, options=options) as client:
        with pytest.raises(errors.ConnectionFailed, match="cannot connect in time") as caught:
            await VERBS["create"](client)
    assert connected.is_set()
    assert not caught.value.sent


@pytest.mark.parametrize("token", ["hunter2\n", "hunter\r\n2", "hunter2\0"])
async def test_token_with_control_characters_is_an_error(serve: Serve, token: str) -> None:
    credentials = StaticCredentials(Credential(token))
    config = ClusterConfig(await serve(Script()), credentials=credentials)
    async with Client.connect(config, options=QUICK) as client:
        with pytest.raises(errors.CredentialError, match="control character") as caught:
            await VERBS["get"](client)
    assert "hunter" not in str(caught.value)
