"""What a viewer may see: answers of the API server to SelfSubjectAccessReviews, for 30 seconds.

The lists of the dashboard come from the server's own watch, so they are filtered here: a namespace
is shown only if the viewer may list the kind in it. Objects are read with the viewer's credentials.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from lynq.dashboard.options import MAX_NAMESPACES, DashboardTiming
from lynq.dashboard.projection import FORMS, HUBS, NODES
from lynq.kube import Client, Resource
from lynq.kube.access_review import may_use_oneself

_CONCURRENT: Final = 16
_RESOURCES: Final = {"Hub": HUBS, "Form": FORMS, "Node": NODES}


@dataclass(frozen=True, slots=True)
class Scope:
    """The namespaces in which a viewer may list a kind."""

    namespaces: frozenset[str] | None
    """None: all."""
    denial: str = ""
    """What is not shown, and the right that is missing."""

    def has(self, namespace: str) -> bool:
        """Return whether objects of a namespace are shown."""
        return self.namespaces is None or namespace in self.namespaces


class Rights:
    """The rights of one viewer."""

    def __init__(
        self,
        client: Client,
        timing: DashboardTiming = DashboardTiming(),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._timing = timing
        self._clock = clock
        self._answers: dict[tuple[str, str, str], tuple[float, bool]] = {}
        # One request asks, the others of the same page use its answer.
        self._lock = asyncio.Lock()

    async def scope(self, kind: str, namespaces: Collection[str]) -> Scope:
        """Return where the viewer may list a kind, Hub, Form or Node; raises KubeError.

        `namespaces` are those that have objects of the kind.
        """
        resource = _RESOURCES[kind]
        async with self._lock:
            if await self._may(resource, ""):
                return Scope(None)
            checked = sorted(namespaces)[:MAX_NAMESPACES]
            slots = asyncio.Semaphore(_CONCURRENT)

            async def is_allowed(namespace: str) -> bool:
                async with slots:
                    return await self._may(resource, namespace)

            allowed = await asyncio.gather(*map(is_allowed, checked))
        visible = frozenset(name for name, answer in zip(checked, allowed, strict=True) if answer)
        return Scope(visible, _denial(resource, visible, namespaces))

    async def _may(self, resource: Resource, namespace: str) -> bool:
        key = ("list", resource.name, namespace)
        now = self._clock()
        expires, answer = self._answers.get(key, (0.0, False))
        if now < expires:
            return answer
        answer = await may_use_oneself(self._client, "list", resource, namespace)
        if len(self._answers) > 4 * MAX_NAMESPACES:
            self._answers.clear()
        self._answers[key] = (now + self._timing.rights, answer)
        return answer


def _denial(resource: Resource, visible: Collection[str], namespaces: Collection[str]) -> str:
    right = f"grant the verb list on {resource.name}"
    if namespaces and not visible:
        return f"No {resource.kind} is shown: {right} in the namespaces to see."
    if len(visible) < len(namespaces):
        return f"{resource.kind}s of some namespaces are not shown: {right} in them."
    return ""
