"""The routes of the dashboard, and what their handlers share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import structlog
from aiohttp import web

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.nesting import depth_checked
from lynq.core.explain.model import Cause
from lynq.core.node.objects import ObjectRef
from lynq.dashboard import query
from lynq.dashboard.actions import perform
from lynq.dashboard.guards import (
    RequestRefused,
    check_action,
    guarded,
    json_response,
    security_headers,
    sent,
)
from lynq.dashboard.legacy import LegacyApi
from lynq.dashboard.login_limit import LoginLimit
from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.options import (
    MAX_BODY,
    MAX_REQUESTS,
    MAX_USER_REQUESTS,
    AuthMode,
    DashboardOptions,
)
from lynq.dashboard.plan_stream import send_plan
from lynq.dashboard.projection import NODES, Projection
from lynq.dashboard.static_files import StaticFiles
from lynq.dashboard.stream import Streams
from lynq.dashboard.types.details import ActionRequest, PlanView
from lynq.dashboard.types.lists import LoginRequest
from lynq.dashboard.user_slots import UserSlots
from lynq.dashboard.viewers import COOKIE, SECURE_COOKIE, Viewer, Viewers
from lynq.dashboard.views.fleet_page import fleet_view
from lynq.dashboard.views.form import form_view, preview_view
from lynq.dashboard.views.hub import hub_view, row_page
from lynq.dashboard.views.nodes import node_page
from lynq.dashboard.views.objects import object_view
from lynq.dashboard.views.orphans import visible_orphans
from lynq.dashboard.views.plan import Planner
from lynq.dashboard.views.problems import groups_of, problems_view
from lynq.dashboard.views.search import search
from lynq.dashboard.views.session import session_view
from lynq.dashboard.views.tenant import first_cause, tenant_view
from lynq.dashboard.views.topology import TopologyQuery, topology_view
from lynq.dashboard.visible import Visible
from lynq.inspection.evidence import EvidenceReader
from lynq.kube import Client, Discovery
from lynq.telemetry import is_loopback

_API: Final = "/api/v2"

_log = structlog.get_logger("dashboard")

View = Callable[[web.Request, Viewer], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class App:
    """The handlers of the routes."""

    options: DashboardOptions
    projection: Projection
    viewers: Viewers
    discovery: Discovery
    """The kinds that the API server serves, which all viewers may know."""
    streams: Streams
    planner: Planner
    logins: LoginLimit
    users: UserSlots
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    @classmethod
    def of(
        cls, options: DashboardOptions, projection: Projection, viewers: Viewers, client: Client
    ) -> "App":
        """Return the application; the client is the server's own."""
        streams = Streams(projection, options.timing)
        planner = Planner(options.operator_namespace)
        logins = LoginLimit(options.timing, viewers.clock)
        users = UserSlots(MAX_REQUESTS, MAX_USER_REQUESTS, "requests")
        return cls(options, projection, viewers, Discovery(client), streams, planner, logins, users)

    def application(self) -> web.Application:
        """Return the application of aiohttp."""
        on_loopback = is_loopback(self.options.address.host)
        has_tls = self.options.certificate is not None
        guard = guarded(self.options.timing, on_loopback=on_loopback, has_tls=has_tls)
        app = web.Application(middlewares=[guard], client_max_size=MAX_BODY)
        app.on_response_prepare.append(security_headers(has_tls=has_tls))
        app.router.add_get("/healthz", _healthy)
        app.router.add_get("/readyz", self._ready)
        app.router.add_post(f"{_API}/login", self._login)
        app.router.add_post(f"{_API}/logout", self._logout)
        app.router.add_post(f"{_API}/actions/{{action}}", self._act)
        app.router.add_get(f"{_API}/stream", self._stream)
        for path, view in self._views().items():
            app.router.add_get(f"{_API}{path}", self._viewed(view))
        app.router.add_get(f"{_API}/forms/{{namespace}}/{{name}}/plan", self._form_plan)
        app.router.add_get(f"{_API}/hubs/{{namespace}}/{{name}}/plan", self._hub_plan)
        for path, view in LegacyApi(self.projection, self.discovery).views().items():
            app.router.add_get(f"/api/v1{path}", self._viewed(view))
        app.router.add_route("*", "/api/{path:.*}", _unknown)
        app.router.add_get("/{path:.*}", StaticFiles().serve)
        return app

    def _views(self) -> dict[str, View]:
        return {
            "/session": self._session,
            "/problems": self._problems,
            "/fleet": self._fleet,
            "/nodes": self._nodes,
            "/search": self._search,
            "/topology": self._topology,
            "/objects": self._object,
            "/tenants/{namespace}/{uid}": self._tenant,
            "/forms/{namespace}/{name}": self._form,
            "/forms/{namespace}/{name}/preview": self._preview,
            "/hubs/{namespace}/{name}": self._hub,
            "/hubs/{namespace}/{name}/rows": self._rows,
        }

    def _viewed(self, view: View) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            viewer = await self.viewers.of(request)
            async with self.users.of(viewer.user):
                # Also while it is sent: an answer that is not read takes memory.
                return await sent(request, json_response(await view(request, viewer)))

        return handle

    async def _visible(self, request: web.Request, viewer: Viewer) -> Visible:
        return await Visible.to(viewer, self.projection, query.text(request, "namespace"))

    async def _session(self, _request: web.Request, viewer: Viewer) -> object:
        return await session_view(viewer, self.projection, self.options)

    async def _problems(self, request: web.Request, viewer: Viewer) -> object:
        visible = await self._visible(request, viewer)
        timing = self.options.timing
        groups = groups_of(visible, self.now(), timing.grace)
        of_nodes: Any = [group for group in groups if group.key.kind == "node"]
        reader = EvidenceReader(viewer.client, self.discovery)

        async def read(node: NodeEntry) -> Cause | None:
            return await first_cause(reader, node.namespace, node.name)

        headlines = await viewer.causes.headlines(of_nodes, read, timing.evidence)
        return problems_view(visible, groups, headlines)

    async def _fleet(self, request: web.Request, viewer: Viewer) -> object:
        return fleet_view(await self._visible(request, viewer), self.now())

    async def _search(self, request: web.Request, viewer: Viewer) -> object:
        return search(await self._visible(request, viewer), query.text(request, "q"))

    async def _topology(self, request: web.Request, viewer: Viewer) -> object:
        visible = await self._visible(request, viewer)
        asked = TopologyQuery(
            text=query.text(request, "q"),
            problems=query.flag(request, "problems"),
            focus=query.text(request, "focus"),
        )
        kind, _, place = asked.focus.partition(":")
        focused = None
        if kind == "node":
            namespace, _, name = place.partition("/")
            focused = await viewer.client.get(NODES, name, namespace, into=LynqNode)
        orphans = [] if asked.focus else await visible_orphans(viewer, visible, self.discovery)
        return topology_view(visible, asked, focused, orphans)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        async def visible() -> Visible:
            # Raises when the session has ended.
            return await self._visible(request, await self.viewers.of(request, is_use=False))

        viewer = await self.viewers.of(request, is_use=False)
        # Only the proxy knows whether its session has ended.
        is_proxied = self.options.auth is AuthMode.PROXY
        seconds = self.options.timing.proxied_stream if is_proxied else None
        return await self.streams.serve(request, viewer, visible, seconds)

    async def _object(self, request: web.Request, viewer: Viewer) -> object:
        parts = (query.text(request, name) for name in ("apiVersion", "kind", "namespace", "name"))
        ref = ObjectRef(*parts)
        namespace, _, name = query.text(request, "node").rpartition("/")
        node = ObjectKey(namespace or ref.namespace, name) if name else None
        return await object_view(
            viewer,
            self.projection,
            self.discovery,
            ref,
            node,
            operator_namespace=self.options.operator_namespace,
        )

    async def _tenant(self, request: web.Request, viewer: Viewer) -> object:
        namespace, uid = request.match_info["namespace"], request.match_info["uid"]
        visible = await Visible.to(viewer, self.projection, namespace)
        return await tenant_view(viewer, visible, self.discovery, namespace, uid)

    async def _form(self, request: web.Request, viewer: Viewer) -> object:
        key, visible = await self._named(request, viewer)
        return await form_view(viewer, visible, *key)

    async def _preview(self, request: web.Request, viewer: Viewer) -> object:
        key, visible = await self._named(request, viewer)
        return await preview_view(viewer, visible, key, query.text(request, "uid"), self.now())

    async def _form_plan(self, request: web.Request) -> web.StreamResponse:
        return await self._planned(request, self.planner.of_form)

    async def _hub(self, request: web.Request, viewer: Viewer) -> object:
        key, visible = await self._named(request, viewer)
        return await hub_view(viewer, visible, *key)

    async def _hub_plan(self, request: web.Request) -> web.StreamResponse:
        return await self._planned(request, self.planner.of_hub)

    async def _planned(
        self, request: web.Request, plan: Callable[..., Awaitable[PlanView]]
    ) -> web.StreamResponse:
        viewer = await self.viewers.of(request)
        key = ObjectKey(request.match_info["namespace"], request.match_info["name"])
        visible = await Visible.to(viewer, self.projection)
        if not query.flag(request, "progress"):
            return json_response(await plan(viewer, visible, key))
        return await send_plan(
            request,
            lambda report: plan(viewer, visible, key, report),
            lambda: self.viewers.of(request, is_use=False),
            self.options.timing,
        )

    async def _rows(self, request: web.Request, viewer: Viewer) -> object:
        key, visible = await self._named(request, viewer)
        return await row_page(
            viewer,
            visible,
            key,
            text=query.text(request, "q"),
            after=query.text(request, "after"),
            size=query.limit(request, 50),
        )

    async def _named(self, request: web.Request, viewer: Viewer) -> tuple[ObjectKey, Visible]:
        """Return the key in the path, and what the viewer sees of its namespace."""
        key = ObjectKey(request.match_info["namespace"], request.match_info["name"])
        return key, await Visible.to(viewer, self.projection, key.namespace)

    async def _act(self, request: web.Request) -> web.Response:
        viewer = await self.viewers.of(request)
        if not self.options.allow_actions:
            raise RequestRefused(403, "Actions are off: start the dashboard with --allow-actions.")
        check_action(request)
        asked = msgspec.json.decode(depth_checked(await request.read()), type=ActionRequest)
        action = request.match_info["action"]
        result = await perform(viewer.client, action, asked, self.now())
        _log.info(
            "action",
            action=action,
            user=viewer.user,
            kind=asked.kind,
            namespace=asked.namespace,
            name=asked.name,
        )
        return json_response(result)

    async def _nodes(self, request: web.Request, viewer: Viewer) -> object:
        visible = await self._visible(request, viewer)
        return node_page(visible, request, self.now(), self.options.timing.grace)

    async def _login(self, request: web.Request) -> web.Response:
        login = msgspec.json.decode(depth_checked(await request.read()), type=LoginRequest)
        async with self.logins.login(request.remote or ""):
            session_id = await self.viewers.login(login.token)
        response = json_response({})
        is_secure = request.headers.get("Origin", "").startswith("https:")
        response.set_cookie(
            SECURE_COOKIE if is_secure else COOKIE,
            session_id,
            httponly=True,
            samesite="Strict",
            secure=is_secure,
            path="/",
        )
        return response

    async def _logout(self, request: web.Request) -> web.Response:
        self.viewers.logout(self.viewers.session_id(request))
        response = json_response({})
        for name in (COOKIE, SECURE_COOKIE):
            if name in request.cookies:
                response.del_cookie(name, path="/", secure=name == SECURE_COOKIE or None)
        return response

    async def _ready(self, _request: web.Request) -> web.Response:
        if not self.projection.has_synced:
            return json_response({"status": "syncing"}, 503)
        return json_response({"status": "ready"})


async def _healthy(_request: web.Request) -> web.Response:
    return json_response({"status": "ok"})


async def _unknown(_request: web.Request) -> web.Response:
    raise RequestRefused(404, "There is no such endpoint.")
