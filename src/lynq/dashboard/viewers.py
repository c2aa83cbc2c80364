"""Who looks at the dashboard: logins, sessions and the headers of an authenticating proxy.

A session id is random, lives in an HttpOnly cookie, and names an entry in this process only. A
restart ends all sessions. The token of the viewer stays in memory and goes to the API server alone.
"""

import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from lynq.dashboard.options import MAX_SESSIONS, AuthMode, DashboardOptions
from lynq.dashboard.rights import Rights
from lynq.dashboard.views.headlines import CauseCache
from lynq.kube import Client
from lynq.kube.access_review import Subject, own_identity

COOKIE: Final = "lynq_session"
_MAX_TOKEN: Final = 16 * 1024
_MAX_HEADER: Final = 4096
_SYSTEM: Final = "system:"


class Unauthenticated(Exception):  # noqa: N818 - read as a sentence
    """The request has no viewer; the message says how to log in."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person, and the client that acts with exactly their rights."""

    user: str
    groups: tuple[str, ...]
    client: Client
    rights: Rights
    id: str
    """Identifies the session, for limits per viewer."""
    causes: CauseCache = field(default_factory=CauseCache)


@dataclass(slots=True)
class _Session:
    viewer: Viewer
    ends: float
    used: float


class Viewers:
    """Finds the viewer of a request."""

    def __init__(
        self,
        options: DashboardOptions,
        own: Client,
        anonymous: Client,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take a client with the server's credentials, and one without any."""
        self._options = options
        self._own = own
        self._anonymous = anonymous
        self._clock = clock
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._identity: Viewer | None = None

    async def of(self, request: web.Request) -> Viewer:
        """Return the viewer of a request; raises Unauthenticated or KubeError."""
        match self._options.auth:
            case AuthMode.KUBECONFIG:
                return await self._own_viewer()
            case AuthMode.PROXY:
                return self._proxied(request)
            case AuthMode.TOKEN:
                return self._logged_in(request.cookies.get(COOKIE, ""))

    async def login(self, token: str) -> str:
        """Return the id of a new session; raises KubeError if the token is not valid."""
        token = token.strip()
        if not token or len(token) > _MAX_TOKEN or not token.isprintable() or not token.isascii():
            raise Unauthenticated("The token is not a token of this cluster.")
        client = self._anonymous.authenticated_by(token)
        subject = await own_identity(client)
        if subject.username == "system:anonymous":
            raise Unauthenticated("The token is not a token of this cluster.")
        session_id = secrets.token_urlsafe(32)
        now = self._clock()
        ends = now + self._options.timing.longest_session
        self._sessions[session_id] = _Session(self._viewer(subject, client, session_id), ends, now)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session_id

    def logout(self, session_id: str) -> None:
        """End a session."""
        self._sessions.pop(session_id, None)

    def _logged_in(self, session_id: str) -> Viewer:
        session = self._sessions.get(session_id)
        if session is None:
            raise Unauthenticated("Log in with a token of the cluster.")
        now = self._clock()
        if now > session.ends or now - session.used > self._options.timing.session:
            self.logout(session_id)
            raise Unauthenticated("The session has expired: log in again.")
        session.used = now
        self._sessions.move_to_end(session_id)
        return session.viewer

    async def _own_viewer(self) -> Viewer:
        if self._identity is None:
            subject = await own_identity(self._own)
            self._identity = self._viewer(subject, self._own, "own")
        return self._identity

    def _proxied(self, request: web.Request) -> Viewer:
        user = request.headers.get(self._options.user_header, "")[:_MAX_HEADER]
        groups = request.headers.get(self._options.groups_header, "")[:_MAX_HEADER]
        if not self._is_trusted(request.remote or "") or not user:
            raise Unauthenticated("Log in at the proxy in front of the dashboard.")
        if user.startswith(_SYSTEM) or not user.isprintable():
            raise Unauthenticated(f"A user of the proxy must not begin with {_SYSTEM}")
        listed = tuple(sorted({group.strip() for group in groups.split(",")}))
        # The API server adds system:authenticated; no proxy grants the other system groups.
        named = tuple(each for each in listed if each and not each.startswith(_SYSTEM))
        key = f"{user}\n{','.join(named)}"
        session = self._sessions.get(key)
        now = self._clock()
        if session is None or now > session.ends:
            client = self._own.acting_as(user, named)
            viewer = self._viewer(Subject(username=user, groups=named), client, key)
            session = _Session(viewer, now + self._options.timing.longest_session, now)
            self._sessions[key] = session
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(key)
        return session.viewer

    def _is_trusted(self, remote: str) -> bool:
        try:
            address = ipaddress.ip_address(remote)
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self._options.trusted_proxies)

    def _viewer(self, subject: Subject, client: Client, viewer_id: str) -> Viewer:
        rights = Rights(client, self._options.timing, self._clock)
        return Viewer(subject.username, tuple(subject.groups), client, rights, viewer_id)
