"""A client of an API server that knows tokens, for unit tests of the dashboard."""

import asyncio
from collections import Counter
from typing import Any

from lynq.kube.errors import Unauthorized, plain_status


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeClient:
    """Answers reviews like an API server: the token "ann-1" is one of the user "ann"."""

    def __init__(self, *namespaces: str) -> None:
        """Let viewers list in these namespaces; "" is all."""
        self.namespaces = {*namespaces}
        self.reviews = 0
        """The number of reviews of rights."""
        self.identified = 0
        """The number of reviews of tokens."""
        self.most_at_once = 0
        self.answers: asyncio.Event | None = None
        """Set when tokens are reviewed; None: at once."""
        self.hubs: asyncio.Event | None = None
        """Set when hubs are read; None: at once."""
        self.reads: Counter[str] = Counter()
        """The reads of hubs that are under way, by user."""
        self.acted_as: list[tuple[str, tuple[str, ...]]] = []
        self._at_once = 0

    def authenticated_by(self, token: str) -> Any:
        """Return a client with a token."""
        return _Identified(self, token.partition("-")[0])

    def acting_as(self, user: str, groups: tuple[str, ...]) -> Any:
        """Return a client that impersonates."""
        self.acted_as.append((user, groups))
        return _Identified(self, user)

    async def create(self, resource: Any, obj: dict[str, Any]) -> dict[str, Any]:
        """Answer as the server's own user."""
        return await self.answer("server", resource, obj)

    async def get(self, resource: Any, *_: Any, **__: Any) -> Any:
        """Return a hub; a Secret, which a plan reads first, never."""
        return await _Identified(self, "server").get(resource)

    async def answer(self, user: str, resource: Any, obj: dict[str, Any]) -> dict[str, Any]:
        """Review a token or a right."""
        if resource.kind == "SelfSubjectReview":
            await self._identify()
            if user == "wrong":
                raise Unauthorized(plain_status(401, ""), verb="create", path="/reviews")
            return {"status": {"userInfo": {"username": user, "groups": ["team"]}}}
        self.reviews += 1
        await asyncio.sleep(0.01)
        namespace = obj["spec"]["resourceAttributes"]["namespace"]
        return {"status": {"allowed": namespace in self.namespaces}}

    async def _identify(self) -> None:
        self.identified += 1
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self.answers:
                await self.answers.wait()
        finally:
            self._at_once -= 1


class _Identified:
    def __init__(self, server: FakeClient, user: str) -> None:
        self._server = server
        self._user = user

    async def create(self, resource: Any, obj: dict[str, Any]) -> dict[str, Any]:
        return await self._server.answer(self._user, resource, obj)

    async def get(self, resource: Any, *_: Any, **__: Any) -> Any:
        if resource.kind != "LynqHub":
            await asyncio.Event().wait()
        self._server.reads[self._user] += 1
        if self._server.hubs:
            await self._server.hubs.wait()
        self._server.reads[self._user] -= 1
        return object()
