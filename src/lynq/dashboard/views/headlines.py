"""Names what pods say about the nodes of a problem group, read with the rights of the viewer.

The status of a node knows that a Deployment is not ready; only its pods say ImagePullBackOff. The
start page does not wait for them for long: what is not read in time is left out.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from lynq.core.explain.groups import Group, common_headline
from lynq.core.explain.model import Cause, CauseKind
from lynq.dashboard.node_entry import NodeEntry

_SAMPLES: Final = 3
"""Members of a group whose pods are read."""
_MAX_READ: Final = 24
"""Nodes whose pods are read for one answer."""
_KEPT: Final = 15.0
"""Seconds for which a cause is used."""

ReadCause = Callable[[NodeEntry], Awaitable[Cause | None]]
"""Returns the first cause of a node with live evidence; None if it cannot be read."""


class Headline(NamedTuple):
    """What the pods of a group's sample agree on."""

    word: str
    cause: str
    message: str


class CauseCache:
    """The causes that were read for one viewer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._causes: dict[NodeEntry, tuple[float, Cause | None]] = {}

    async def headlines(
        self, groups: Sequence[Group[NodeEntry]], read: ReadCause, seconds: float
    ) -> dict[str, Headline]:
        """Return the headlines by the key of their group, as far as they are read in time."""
        now = self._clock()
        self._causes = {node: kept for node, kept in self._causes.items() if kept[0] > now}
        vague = [group for group in groups if group.key.cause_kind == CauseKind.NOT_READY]
        samples = [node for group in vague for node in group.members[:_SAMPLES]]
        unread = [node for node in samples if node not in self._causes][:_MAX_READ]
        tasks = {asyncio.ensure_future(read(node)): node for node in unread}
        if tasks:
            done, pending = await asyncio.wait(tasks, timeout=seconds)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
            for task in done:
                cause = None if task.exception() else task.result()
                self._causes[tasks[task]] = (now + _KEPT, cause)
        headlines = {str(group.key): self._headline(group) for group in vague}
        return {key: headline for key, headline in headlines.items() if headline}

    def _headline(self, group: Group[NodeEntry]) -> Headline | None:
        kept = (self._causes.get(node, (0.0, None))[1] for node in group.members[:_SAMPLES])
        causes = [cause for cause in kept if cause]
        word = common_headline(causes)
        return Headline(word, str(causes[0].kind), causes[0].message) if word else None
