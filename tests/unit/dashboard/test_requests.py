"""Requests of strangers, of other sites, and of viewers who take more than their share."""

import asyncio
import gzip
import ipaddress
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDict
from structlog.testing import capture_logs
from yarl import URL

from dashboard_client import Clock, FakeClient
from lynq.dashboard.app import App
from lynq.dashboard.options import AuthMode, DashboardOptions, DashboardTiming
from lynq.dashboard.projection import Projection
from lynq.dashboard.server import runner_of
from lynq.dashboard.types.details import PlanView
from lynq.dashboard.viewers import Viewers
from lynq.telemetry import Address
from lynq.tls.context import CertificateFiles
from waiting import eventually, stays

PROXIED = DashboardOptions(
    auth=AuthMode.PROXY, trusted_proxies=(ipaddress.ip_network("127.0.0.0/8"),)
)
CERTIFICATE = CertificateFiles(Path("tls.crt"), Path("tls.key"))


class Browser:
    """Sends requests to a dashboard on a fake API server."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self.url = url
        self.http = http

    async def get(self, path: str, *headers: tuple[str, str]) -> tuple[int, dict[str, Any]]:
        named = CIMultiDict(headers)
        url = URL(f"{self.url}/api/v2{path}", encoded=True)
        async with self.http.get(url, headers=named) as response:
            return response.status, await response.json()

    async def login(self, token: str, scheme: str = "http") -> aiohttp.ClientResponse:
        origin = self.url.replace("http:", f"{scheme}:")
        path = f"{self.url}/api/v2/login"
        async with self.http.post(path, json={"token": token}, headers={"Origin": origin}) as it:
            await it.read()
            return it

    @asynccontextmanager
    async def stream(self, **headers: str) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self.http.get(f"{self.url}/api/v2/stream", headers=headers) as response:
            assert response.status == 200, await response.text()
            yield response


class PlannerOfNothing:
    """Returns an empty plan when it may."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()

    async def of_hub(self, *_: object) -> PlanView:
        await self.may_end.wait()
        return PlanView(plan={"changes": "of rows"}, denials=())

    async def of_form(self, *_: object) -> PlanView:
        raise NotImplementedError


@asynccontextmanager
async def dashboard(
    options: DashboardOptions, client: FakeClient, clock: Clock, planner: object = None
) -> AsyncIterator[str]:
    fake = cast("Any", client)
    viewers = Viewers(options, fake, fake, clock)
    app = App.of(options, Projection(fake), viewers, fake)
    app = replace(app, planner=cast("Any", planner or app.planner))
    runner = runner_of(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def browsing(
    options: DashboardOptions,
    client: FakeClient | None = None,
    clock: Clock | None = None,
    planner: object = None,
) -> AsyncIterator[Browser]:
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        dashboard(options, client or FakeClient(), clock or Clock(), planner) as url,
        aiohttp.ClientSession(cookie_jar=jar) as http,
    ):
        yield Browser(url, http)


TOKEN = DashboardOptions(timing=DashboardTiming(session=100.0, heartbeat=0.05))
OWN = DashboardOptions(auth=AuthMode.KUBECONFIG)


async def test_wrong_logins_of_an_address_are_limited() -> None:
    client, clock = FakeClient(), Clock()
    async with browsing(TOKEN, client, clock) as browser:
        statuses = [(await browser.login(f"wrong-{number}")).status for number in range(100)]
        assert statuses == sorted(statuses)
        assert set(statuses) == {401, 429}
        assert client.identified <= 30
        assert (await browser.login("ann-1")).status == 429
        clock.now += 60.0
        assert (await browser.login("ann-1")).status == 200


async def test_compressed_body_is_not_expanded() -> None:
    client = FakeClient()
    async with browsing(TOKEN, client) as browser:
        body = gzip.compress(json.dumps({"token": "ann-1"}).encode())
        headers = {"Origin": browser.url, "Content-Encoding": "gzip"}
        path = f"{browser.url}/api/v2/login"
        async with browser.http.post(path, data=body, headers=headers) as response:
            assert response.status == 400
    assert client.identified == 0


async def test_valid_logins_are_not_limited() -> None:
    async with browsing(TOKEN) as browser:
        assert {(await browser.login(f"ann-{number}")).status for number in range(100)} == {200}


async def test_reviews_of_concurrent_logins_are_bounded() -> None:
    client = FakeClient()
    client.answers = asyncio.Event()
    async with browsing(TOKEN, client) as browser, asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(browser.login(f"wrong-{number}"))
        await eventually(lambda: client.most_at_once > 0)
        await asyncio.sleep(0.2)
        assert client.most_at_once <= 4
        client.answers.set()
    assert client.identified <= 40


@pytest.mark.parametrize("path", ["/session", "/stream", "/hubs/a/b/plan?progress=true"])
@pytest.mark.parametrize(
    "header",
    [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
    ],
)
async def test_page_of_another_site_cannot_start_a_read(path: str, header: tuple[str, str]) -> None:
    client = FakeClient("")
    async with browsing(OWN, client) as browser:
        status, body = await browser.get(path, header)
        assert (status, "another page" in body["error"]) == (403, True)
    assert client.identified == 0


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_own_page_and_address_bar_can_read(site: str) -> None:
    async with browsing(OWN) as browser:
        own = ("Origin", browser.url)
        assert (await browser.get("/session", ("Sec-Fetch-Site", site), own))[0] == 200
        foreign = {"Sec-Fetch-Site": "cross-site"}
        # A link on another page may lead to a page of ours.
        async with browser.http.get(f"{browser.url}/nodes", headers=foreign) as page:
            assert page.status == 200


@pytest.mark.parametrize("name", ["X-Forwarded-User", "X-Forwarded-Groups"])
async def test_repeated_header_of_a_proxy_is_refused(name: str) -> None:
    client = FakeClient()
    headers = CIMultiDict({"X-Forwarded-User": "eve", "X-Forwarded-Groups": "team"})
    headers.add(name, "admin")
    async with browsing(PROXIED, client) as browser:
        status, body = await browser.get("/session", *headers.items())
        assert (status, name in body["error"]) == (401, True)
    assert client.acted_as == []


async def test_header_per_group_is_one_group_each() -> None:
    client = FakeClient()
    options = replace(PROXIED, groups_separator="")
    groups = [("X-Forwarded-Groups", "a,admins"), ("X-Forwarded-Groups", "b")]
    async with browsing(options, client) as browser:
        assert (await browser.get("/session", ("X-Forwarded-User", "eve"), *groups))[0] == 200
        single = groups[:1]
        assert (await browser.get("/session", ("X-Forwarded-User", "eve"), *single))[0] == 200
    assert client.acted_as == [("eve", ("a,admins", "b")), ("eve", ("a,admins",))]


async def test_groups_that_look_alike_when_joined_are_other_viewers() -> None:
    client = FakeClient()
    async with browsing(replace(PROXIED, groups_separator=""), client) as browser:
        for groups in (("a", "b"), ("a,b",)):
            headers = [("X-Forwarded-Groups", group) for group in groups]
            await browser.get("/session", ("X-Forwarded-User", "eve"), *headers)
    assert client.acted_as == [("eve", ("a", "b")), ("eve", ("a,b",))]


async def test_long_list_of_groups_is_not_cut() -> None:
    client = FakeClient()
    many, last = "g" * 4089, "admins-of-nothing"
    async with browsing(PROXIED, client) as browser:
        headers = [("X-Forwarded-User", "eve"), ("X-Forwarded-Groups", f"{many},{last}")]
        assert (await browser.get("/session", *headers))[0] == 200
    assert client.acted_as == [("eve", (last, many))]


async def test_groups_without_end_are_refused() -> None:
    client = FakeClient()
    groups = [("X-Forwarded-Groups", f"{number}{'g' * 4000}") for number in range(9)]
    async with browsing(replace(PROXIED, groups_separator=""), client) as browser:
        assert (await browser.get("/session", ("X-Forwarded-User", "eve"), *groups))[0] == 401
    assert client.acted_as == []


async def test_separator_of_groups_can_be_chosen() -> None:
    client = FakeClient()
    async with browsing(replace(PROXIED, groups_separator="|"), client) as browser:
        groups = ("X-Forwarded-Groups", "a,admins|b")
        await browser.get("/session", ("X-Forwarded-User", "eve"), groups)
    assert client.acted_as == [("eve", ("a,admins", "b"))]


async def test_stream_does_not_keep_its_session() -> None:
    clock = Clock()
    async with browsing(TOKEN, clock=clock) as browser:
        await browser.login("ann-1")
        for _ in range(3):
            clock.now += 40.0
            async with browser.http.get(f"{browser.url}/api/v2/stream") as response:
                if clock.now > 100.0:
                    assert response.status == 401
                    break
                # The second heartbeat follows a check of the session.
                for _ in range(2):
                    await response.content.readuntil(b": alive\n\n")
        else:
            pytest.fail("the session did not expire")


@pytest.mark.parametrize("end", ["logout", "expiry"])
async def test_stream_ends_with_its_session(end: str) -> None:
    clock = Clock()
    async with browsing(TOKEN, clock=clock) as browser:
        await browser.login("ann-1")
        async with browser.stream() as response:
            await response.content.readuntil(b": alive\n\n")
            if end == "logout":
                headers = {"Origin": browser.url}
                await browser.http.post(f"{browser.url}/api/v2/logout", headers=headers)
            else:
                clock.now += 101.0
            async with asyncio.timeout(5):
                with pytest.raises(aiohttp.ClientError):
                    await response.read()


async def test_proxied_stream_ends_after_a_while() -> None:
    timing = DashboardTiming(heartbeat=0.05, proxied_stream=0.3)
    async with (
        browsing(replace(PROXIED, timing=timing)) as browser,
        browser.stream(**{"X-Forwarded-User": "ann"}) as response,
        asyncio.timeout(5),
    ):
        assert b": alive" in await response.read()


async def test_streams_are_counted_by_user_and_not_by_session() -> None:
    async with (
        browsing(TOKEN) as browser,
        aiohttp.ClientSession() as http,
        AsyncExitStack() as stack,
    ):
        statuses = []
        for number in range(21):
            login = await browser.login(f"eve-{number}")
            cookie = {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}
            stream = http.get(f"{browser.url}/api/v2/stream", headers=cookie)
            statuses.append((await stack.enter_async_context(stream)).status)
    assert statuses == [200] * 20 + [429]


async def test_streams_that_open_at_once_are_counted() -> None:
    async with browsing(PROXIED) as browser, aiohttp.ClientSession() as http:
        url, headers = f"{browser.url}/api/v2/stream", {"X-Forwarded-User": "eve"}
        streams = await asyncio.gather(*(http.get(url, headers=headers) for _ in range(60)))
        assert sorted(stream.status for stream in streams) == [200] * 20 + [429] * 40
        for stream in streams:
            stream.close()


async def test_viewer_with_many_requests_leaves_room_for_others() -> None:
    client = FakeClient("")
    client.hubs = asyncio.Event()
    async with browsing(PROXIED, client) as browser:
        eve, ann = (("X-Forwarded-User", user) for user in ("eve", "ann"))
        flood = [asyncio.ensure_future(browser.get("/hubs/a/b", eve)) for _ in range(90)]
        await eventually(lambda: client.reads["eve"] > 5)
        await stays(lambda: client.reads["eve"] == 6, seconds=0.3)
        assert (await browser.get("/session", ann))[0] == 200
        refused = [task.result()[0] for task in flood if task.done()]
        assert refused == [429] * 30
        client.hubs.set()
        await asyncio.gather(*flood)


async def test_unread_answers_are_bounded_and_end() -> None:
    # Each answer is far larger than what the sockets take, and six of them take seconds to begin.
    options = replace(PROXIED, context="x" * 20_000_000, timing=DashboardTiming(request=8.0))
    async with browsing(options) as browser, AsyncExitStack() as stack:
        url, headers = f"{browser.url}/api/v2/session", {"X-Forwarded-User": "eve"}
        unread = [
            await stack.enter_async_context(browser.http.get(url, headers=headers))
            for _ in range(6)
        ]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await browser.http.get(url, headers=headers)

        async def is_answered() -> bool:
            async with browser.http.get(url, headers=headers) as response:
                return response.status == 200 and len(await response.read()) > 20_000_000

        await eventually(is_answered)
        # The first one made room.
        with pytest.raises(aiohttp.ClientPayloadError):
            await unread[0].read()


async def test_text_of_a_path_is_in_no_header_and_in_no_log() -> None:
    class Broken:
        async def of_hub(self, *_: object) -> PlanView:
            raise ValueError

    async with browsing(OWN, planner=Broken()) as browser:
        status, body = await browser.get("/a%0DSet-Cookie:%20b")
        assert (status, body["error"]) == (404, "There is no such endpoint.")
        with capture_logs() as logs:
            assert (await browser.get("/hubs/a%1B%5B2Jb/c/plan"))[0] == 500
        assert logs[0]["path"] == "/api/v2/hubs/a%1B%5B2Jb/c/plan"


PLAN = "/api/v2/hubs/shop/hub/plan?progress=true"


async def opened_plan(stack: AsyncExitStack, browser: Browser, user: str) -> aiohttp.ClientResponse:
    headers = {"X-Forwarded-User": user}
    return await stack.enter_async_context(
        browser.http.get(f"{browser.url}{PLAN}", headers=headers)
    )


async def phase_of(plan: aiohttp.ClientResponse) -> str:
    """Return the phase of a plan when it has had the time to begin."""
    lines = [await plan.content.readline() for _ in range(3)]
    phase: str = json.loads(lines[-1])["progress"]["phase"]
    return phase


async def test_viewer_with_long_plans_does_not_block_others() -> None:
    # The plans never end: the API server does not answer.
    async with browsing(PROXIED, FakeClient("")) as browser, AsyncExitStack() as stack:
        plans = [await opened_plan(stack, browser, "eve") for _ in range(3)]
        phases = sorted([await phase_of(plan) for plan in plans])
        assert phases == ["Reading", "Waiting", "Waiting"]
        assert await phase_of(await opened_plan(stack, browser, "ann")) == "Reading"


async def test_waiting_plans_of_a_viewer_are_limited() -> None:
    async with browsing(PROXIED, FakeClient("")) as browser, AsyncExitStack() as stack:
        statuses = [(await opened_plan(stack, browser, "eve")).status for _ in range(8)]
    assert statuses == [200] * 5 + [429] * 3


async def test_plan_ends_with_its_session() -> None:
    planner = PlannerOfNothing()
    async with browsing(TOKEN, planner=planner) as browser:
        await browser.login("ann-1")
        async with browser.http.get(f"{browser.url}{PLAN}") as response:
            await response.content.readline()
            await browser.http.post(f"{browser.url}/api/v2/logout", headers={"Origin": browser.url})
            planner.may_end.set()
            async with asyncio.timeout(5):
                last = (await response.content.read()).decode().splitlines()[-1]
    assert "Log in" in last
    assert "of rows" not in last


async def test_cookie_over_https_is_bound_to_this_host() -> None:
    async with browsing(TOKEN) as browser:
        login = await browser.login("ann-1", scheme="https")
        cookie = login.headers["Set-Cookie"]
        assert cookie.startswith("__Host-lynq_session=")
        assert {"Secure", "HttpOnly", "Path=/", "SameSite=Strict"} <= {*cookie.split("; ")}
        assert "Domain" not in cookie
        planted = await browser.login("eve-1")
        both = "; ".join(each.headers["Set-Cookie"].partition(";")[0] for each in (planted, login))
        async with aiohttp.ClientSession() as http:
            path = f"{browser.url}/api/v2/session"
            async with http.get(path, headers={"Cookie": both}) as response:
                assert (await response.json())["user"] == "ann"


async def test_server_with_tls_takes_no_cookie_that_another_host_can_set() -> None:
    async with browsing(replace(TOKEN, certificate=CERTIFICATE)) as browser:
        assert (await browser.login("ann-1", scheme="http")).status == 403
        login = await browser.login("ann-1", scheme="https")
        value = login.headers["Set-Cookie"].partition(";")[0].partition("=")[2]
        async with aiohttp.ClientSession() as http:
            for name, status in (("lynq_session", 401), ("__Host-lynq_session", 200)):
                headers = {"Cookie": f"{name}={value}"}
                path = f"{browser.url}/api/v2/session"
                async with http.get(path, headers=headers) as response:
                    assert response.status == status


async def test_server_with_tls_asks_browsers_to_use_it_always() -> None:
    listening = replace(TOKEN, address=Address("", 0))
    for options, host, expected in (
        (replace(listening, certificate=CERTIFICATE), "lynq.example:8090", True),
        # A browser would ask for TLS from all servers of this name.
        (replace(listening, certificate=CERTIFICATE), "localhost:8090", False),
        (listening, "lynq.example", False),
    ):
        async with browsing(options) as browser:
            for path in ("/", "/api/v2/session"):
                async with browser.http.get(
                    f"{browser.url}{path}", headers={"Host": host}
                ) as response:
                    assert ("Strict-Transport-Security" in response.headers) is expected
