"""One operator with tenants in one namespace, and one dashboard, for all tests of this folder."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest
from structlog.testing import capture_logs

from cluster.cli.tenants import running_tenants
from cluster.controllers.node.test_impersonation import create_account
from lynq.cluster.local import kubectl
from lynq.dashboard.options import AuthMode, DashboardOptions, DashboardTiming
from lynq.dashboard.server import running_dashboard
from lynq.kube import Client, load_config
from lynq.kube.resource import NAMESPACES
from lynq.telemetry import Address
from operated.environment import Environment

T = TypeVar("T")

READ = {
    "apiGroups": ["operator.lynq.sh"],
    "resources": ["lynqhubs", "lynqforms", "lynqnodes"],
    "verbs": ["get", "list"],
}


@asynccontextmanager
async def in_own_task(context: Callable[[], AbstractAsyncContextManager[T]]) -> AsyncIterator[T]:
    """Enter and leave a context in one task; a fixture is torn down in another one."""
    entered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()

    async def hold() -> None:
        try:
            async with context() as value:
                entered.set_result(value)
                await stop.wait()
        except BaseException as error:
            if not entered.done():
                entered.set_exception(error)
            raise

    task = asyncio.ensure_future(hold())
    try:
        yield await entered
    finally:
        stop.set()
        await task


@dataclass(frozen=True, slots=True)
class Browser:
    """Sends requests as a page of the dashboard does."""

    http: aiohttp.ClientSession
    url: str

    async def get(self, path: str, **headers: str) -> aiohttp.ClientResponse:
        """Send a GET; the body is read."""
        response = await self.http.get(f"{self.url}{path}", headers=headers, allow_redirects=False)
        await response.read()
        return response

    async def json(self, path: str) -> Any:
        """Return the body of a successful GET below /api/v2."""
        response = await self.get(f"/api/v2{path}")
        assert response.status == 200, await response.text()
        return await response.json()

    async def post(self, path: str, body: object = None, **headers: str) -> aiohttp.ClientResponse:
        """Send a POST with our own Origin, unless another one is given."""
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        sent = {"Origin": self.url} | named
        response = await self.http.post(f"{self.url}/api/v2{path}", json=body, headers=sent)
        await response.read()
        return response

    async def login(self, token: str) -> "Browser":
        """Log in; return the same browser."""
        response = await self.post("/login", {"token": token})
        assert response.status == 200, await response.text()
        return self


@asynccontextmanager
async def browsing(url: str) -> AsyncIterator[Browser]:
    """Return a browser with cookies of its own."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as http:
        yield Browser(http, url)


@asynccontextmanager
async def shared_environment(
    client: Client,
    rows: Path,
    running: Callable[[Environment], AbstractAsyncContextManager[object]],
) -> AsyncIterator[Environment]:
    """Run an operator in a namespace of its own, for all tests of a folder."""
    name = f"dashboard-{uuid.uuid4().hex[:6]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    env = Environment(client, name, rows)
    await create_account(env, "viewer", READ)
    with capture_logs():
        async with in_own_task(lambda: running(env)):
            yield env
    await client.delete(NAMESPACES, name)


@pytest.fixture(scope="package")
async def env(
    client: Client,
    crds: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Environment]:
    """A running operator with the tenants acme, which is ready, and beta, which is not."""
    rows = tmp_path_factory.mktemp("rows")
    async with shared_environment(client, rows, running_tenants) as env:
        await create_account(env, "stranger")
        yield env


@pytest.fixture(scope="package")
def token_of(env: Environment, kubeconfig: Path) -> Callable[[str], str]:
    """Return tokens of service accounts in the namespace of the tenants."""

    def token(account: str) -> str:
        answer = kubectl(kubeconfig, "create", "token", account, "-n", env.namespace)
        return answer.stdout.strip()

    return token


Serve = Callable[..., AbstractAsyncContextManager[str]]


@pytest.fixture(scope="package")
def serve(kubeconfig: Path) -> Serve:
    """Run a dashboard with these options; its URL is the value."""

    @asynccontextmanager
    async def run(**options: Any) -> AsyncIterator[str]:
        timing = DashboardTiming(grace=0.0, rights=0.5)
        chosen: dict[str, Any] = {"auth": AuthMode.TOKEN, "timing": timing} | options
        settings = DashboardOptions(address=Address("127.0.0.1", 0), **chosen)
        config = load_config(kubeconfig=kubeconfig)
        async with in_own_task(lambda: running_dashboard(config, settings)) as address:
            yield f"http://127.0.0.1:{address.port}"

    return run


@pytest.fixture(scope="package")
async def dashboard(serve: Serve, env: Environment) -> AsyncIterator[str]:
    """The URL of a dashboard with login by token."""
    async with serve(allow_actions=True, operator_namespace=env.namespace) as url:
        yield url


@pytest.fixture
async def anonymous(dashboard: str) -> AsyncIterator[Browser]:
    """A browser without login."""
    async with browsing(dashboard) as browser:
        yield browser


@pytest.fixture
async def viewer(dashboard: str, token_of: Callable[[str], str]) -> AsyncIterator[Browser]:
    """The browser of an account that may only read the tenants' hub, forms and nodes."""
    async with browsing(dashboard) as browser:
        yield await browser.login(token_of("viewer"))


@pytest.fixture
async def stranger(dashboard: str, token_of: Callable[[str], str]) -> AsyncIterator[Browser]:
    """The browser of an account without any right."""
    async with browsing(dashboard) as browser:
        yield await browser.login(token_of("stranger"))


@pytest.fixture
async def admin(serve: Serve) -> AsyncIterator[Browser]:
    """A browser of a dashboard with the rights of the kubeconfig."""
    async with serve(auth=AuthMode.KUBECONFIG, allow_actions=True) as url, browsing(url) as browser:
        yield browser
