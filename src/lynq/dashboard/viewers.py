"""Who looks at the dashboard: logins, sessions and the headers of an authenticating proxy.

A session id is random, lives in an HttpOnly cookie, and names an entry in this process only. A
restart ends all sessions. The token of the viewer stays in memory and goes to the API server alone.
"""

import ipaddress
import secrets
import time
from collections import Counter, OrderedDict
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
SECURE_COOKIE: Final = "__Host-lynq_session"
"""The name over HTTPS: browsers take such a cookie only from this host, and only over HTTPS."""
_MAX_TOKEN: Final = 16 * 1024
_MAX_HEADER: Final = 32 * 1024
"""Characters of all groups, or of a user; aiohttp takes 8 KiB in one header."""
_SYSTEM: Final = "system:"
_NO_USER: Final = "Log in at the proxy in front of the dashboard."


class Unauthenticated(Exception):  # noqa: N818 - read as a sentence
    """The request has no viewer; the message says how to log in."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person, and the client that acts with exactly their rights."""

    user: str
    groups: tuple[str, ...]
    client: Client
    rights: Rights
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
        self.clock = clock
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._identity: Viewer | None = None

    async def of(self, request: web.Request, *, is_use: bool = True) -> Viewer:
        """Return the viewer of a request; raises Unauthenticated or KubeError.

        A session that is not used for long ends; a stream, which a page opens by itself, is no use.
        """
        match self._options.auth:
            case AuthMode.KUBECONFIG:
                return await self._own_viewer()
            case AuthMode.PROXY:
                return self._proxied(request)
            case AuthMode.TOKEN:
                return self._logged_in(self.session_id(request), is_use=is_use)

    def session_id(self, request: web.Request) -> str:
        """Return the session that the cookie of a request names, or ""."""
        secure = request.cookies.get(SECURE_COOKIE, "")
        # Another host of the domain can set the other one.
        return secure if secure or self._options.certificate else request.cookies.get(COOKIE, "")

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
        self._add(session_id, self._viewer(subject, client))
        return session_id

    def logout(self, session_id: str) -> None:
        """End a session."""
        self._sessions.pop(session_id, None)

    def _add(self, session_id: str, viewer: Viewer) -> None:
        now = self.clock()
        ends = now + self._options.timing.longest_session
        self._sessions[session_id] = _Session(viewer, ends, now)
        self._sessions.move_to_end(session_id)
        while len(self._sessions) > MAX_SESSIONS:
            self._evict()

    def _evict(self) -> None:
        """End the oldest session of the user with the most, so that none ends those of others."""
        users = {each: session.viewer.user for each, session in self._sessions.items()}
        [(most, _)] = Counter(users.values()).most_common(1)
        del self._sessions[next(each for each, user in users.items() if user == most)]

    def _logged_in(self, session_id: str, *, is_use: bool) -> Viewer:
        session = self._sessions.get(session_id)
        if session is None:
            raise Unauthenticated("Log in with a token of the cluster.")
        now = self.clock()
        if now > session.ends or now - session.used > self._options.timing.session:
            self.logout(session_id)
            raise Unauthenticated("The session has expired: log in again.")
        if is_use:
            session.used = now
            self._sessions.move_to_end(session_id)
        return session.viewer

    async def _own_viewer(self) -> Viewer:
        if self._identity is None:
            subject = await own_identity(self._own)
            self._identity = self._viewer(subject, self._own)
        return self._identity

    def _proxied(self, request: web.Request) -> Viewer:
        if not self._is_trusted(request.remote or ""):
            raise Unauthenticated(_NO_USER)
        user, groups = self._named_user(request), self._named_groups(request)
        # Neither contains a line break.
        key = "\n".join((user, *groups))
        session = self._sessions.get(key)
        if session is None or self.clock() > session.ends:
            client = self._own.acting_as(user, groups)
            self._add(key, self._viewer(Subject(username=user, groups=groups), client))
        self._sessions.move_to_end(key)
        return self._sessions[key].viewer

    def _named_user(self, request: web.Request) -> str:
        user = _only(request, self._options.user_header)
        if not user:
            raise Unauthenticated(_NO_USER)
        if user.startswith(_SYSTEM):
            raise Unauthenticated(f"A user of the proxy must not begin with {_SYSTEM}")
        return user

    def _named_groups(self, request: web.Request) -> tuple[str, ...]:
        """Return the groups in their order; the joined list of a proxy has one header."""
        name, separator = self._options.groups_header, self._options.groups_separator
        groups = _only(request, name).split(separator) if separator else _values(request, name)
        stripped = {group.strip() for group in groups}
        # The API server adds system:authenticated; no proxy grants the other system groups.
        return tuple(sorted(each for each in stripped if each and not each.startswith(_SYSTEM)))

    def _is_trusted(self, remote: str) -> bool:
        try:
            address = ipaddress.ip_address(remote)
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self._options.trusted_proxies)

    def _viewer(self, subject: Subject, client: Client) -> Viewer:
        rights = Rights(client, self._options.timing, self.clock)
        return Viewer(subject.username, tuple(subject.groups), client, rights)


def _only(request: web.Request, name: str) -> str:
    """Return the value of a header, "" without it.

    Of two, one can be the client's: the proxy has added its own instead of replacing it.
    """
    values = _values(request, name)
    if len(values) > 1:
        raise Unauthenticated(f"The request has the header {name} more than once.")
    return values[0] if values else ""


def _values(request: web.Request, name: str) -> list[str]:
    values = request.headers.getall(name, [])
    # A value that is cut would name another user or group.
    if sum(map(len, values)) > _MAX_HEADER or not "".join(values).isprintable():
        raise Unauthenticated(f"The header {name} is too long, or not text.")
    return values
