"""The routes of the dashboard, and what their handlers share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from aiohttp import web

from lynq.dashboard import query
from lynq.dashboard.guards import guarded, is_loopback, json_response
from lynq.dashboard.options import MAX_BODY, DashboardOptions
from lynq.dashboard.projection import Projection
from lynq.dashboard.static_files import StaticFiles
from lynq.dashboard.types.lists import LoginRequest
from lynq.dashboard.viewers import COOKIE, Viewer, Viewers
from lynq.dashboard.views.nodes import node_page
from lynq.dashboard.views.problems import groups_of, problems_view
from lynq.dashboard.views.session import session_view
from lynq.dashboard.visible import Visible
from lynq.kube import Client

_API: Final = "/api/v2"

View = Callable[[web.Request, Viewer], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class App:
    """The handlers of the routes."""

    options: DashboardOptions
    projection: Projection
    viewers: Viewers
    client: Client
    """With the server's own rights; for discovery only."""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def application(self) -> web.Application:
        """Return the application of aiohttp."""
        on_loopback = is_loopback(self.options.address.host)
        guard = guarded(self.options.timing, on_loopback=on_loopback)
        app = web.Application(middlewares=[guard], client_max_size=MAX_BODY)
        app.router.add_get("/healthz", _healthy)
        app.router.add_get("/readyz", self._ready)
        app.router.add_post(f"{_API}/login", self._login)
        app.router.add_post(f"{_API}/logout", self._logout)
        for path, view in self._views().items():
            app.router.add_get(f"{_API}{path}", self._viewed(view))
        app.router.add_route("*", "/api/{path:.*}", _unknown)
        app.router.add_get("/{path:.*}", StaticFiles().serve)
        return app

    def _views(self) -> dict[str, View]:
        return {
            "/session": self._session,
            "/problems": self._problems,
            "/nodes": self._nodes,
        }

    def _viewed(self, view: View) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            result = await view(request, await self.viewers.of(request))
            return result if isinstance(result, web.StreamResponse) else json_response(result)

        return handle

    async def _visible(self, request: web.Request, viewer: Viewer) -> Visible:
        return await Visible.to(viewer, self.projection, query.text(request, "namespace"))

    async def _session(self, _request: web.Request, viewer: Viewer) -> object:
        return await session_view(viewer, self.projection, self.options)

    async def _problems(self, request: web.Request, viewer: Viewer) -> object:
        visible = await self._visible(request, viewer)
        groups = groups_of(visible, self.now(), self.options.timing.grace)
        return problems_view(visible, groups, {})

    async def _nodes(self, request: web.Request, viewer: Viewer) -> object:
        visible = await self._visible(request, viewer)
        return node_page(visible, request, self.now(), self.options.timing.grace)

    async def _login(self, request: web.Request) -> web.Response:
        login = msgspec.json.decode(await request.read(), type=LoginRequest)
        session_id = await self.viewers.login(login.token)
        response = json_response({})
        is_secure = request.headers.get("Origin", "").startswith("https:")
        response.set_cookie(
            COOKIE, session_id, httponly=True, samesite="Strict", secure=is_secure, path="/"
        )
        return response

    async def _logout(self, request: web.Request) -> web.Response:
        self.viewers.logout(request.cookies.get(COOKIE, ""))
        response = json_response({})
        response.del_cookie(COOKIE, path="/")
        return response

    async def _ready(self, _request: web.Request) -> web.Response:
        if not self.projection.has_synced:
            return json_response({"status": "syncing"}, 503)
        return json_response({"status": "ready"})


async def _healthy(_request: web.Request) -> web.Response:
    return json_response({"status": "ok"})


async def _unknown(request: web.Request) -> web.Response:
    raise web.HTTPNotFound(reason=f"There is no endpoint {request.path}.")
