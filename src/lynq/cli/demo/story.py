"""The demo's story: five changes of the table, and what becomes of each in the cluster.

Each chapter ends when the cluster is as the rows want it. If it does not become so in time, the
demo has failed, and says where.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from lynq.api import LynqNode, ResourceState
from lynq.api.conditions import is_true
from lynq.api.names import ANNOTATION_EXTRA, ANNOTATION_ROLLOUT_UPDATE_START, LABEL_UID
from lynq.api.reasons import ConditionType
from lynq.cli.demo.rows import TenantTable
from lynq.cli.demo.view import Nodes, View
from lynq.cluster import ClusterError
from lynq.core.readiness.verdict import ReadinessReason
from lynq.kube import Client
from lynq.kube.resource import resource_of

NAMESPACE: Final = "default"
NODES: Final = resource_of(LynqNode.definition)

_CHAPTER_SECONDS: Final = 90.0
_GLANCE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Chapter:
    """A change of the table, and what has to come of it."""

    title: str
    statement: str
    """What is done to the table; "" if nothing."""
    until: Callable[[Nodes], bool]


def _ready(*tenants: str, with_value: str = "") -> Callable[[Nodes], bool]:
    """Wait for tenants that are ready with what their rows say."""

    def so(nodes: Nodes) -> bool:
        return all(name in nodes and _is_ready(nodes[name], with_value) for name in tenants)

    return so


def _is_ready(node: LynqNode, value: str) -> bool:
    annotations = node.metadata.annotations
    return (
        is_true(node.status.conditions, ConditionType.READY)
        and node.status.observed_update_start == annotations.get(ANNOTATION_ROLLOUT_UPDATE_START)
        and value in annotations.get(ANNOTATION_EXTRA, "")
    )


def _tells_why(node: LynqNode) -> bool:
    """Return whether a node says what it waits for, and not only that something was begun."""
    return any(
        each.message and each.reason != ReadinessReason.GENERATION_NOT_OBSERVED
        for each in node.status.resources
        if each.state is ResourceState.PROGRESSING
    )


CHAPTERS: Final[Sequence[Chapter]] = (
    Chapter("Three rows, one form: three tenants", "", _ready("acme", "beta", "corp")),
    Chapter(
        "acme buys the pro plan and two more replicas",
        "UPDATE tenants SET plan = 'pro', replicas = 3 WHERE name = 'acme'",
        _ready("acme", with_value='"replicas":"3"'),
    ),
    Chapter(
        "beta leaves: its row is deactivated, and everything it had goes",
        "UPDATE tenants SET active = 0 WHERE name = 'beta'",
        lambda nodes: "beta" not in nodes,
    ),
    Chapter(
        "corp gets an image that does not exist; its node says what is wrong, nobody else suffers",
        "UPDATE tenants SET image = 'shop/nonexistent:9' WHERE name = 'corp'",
        lambda nodes: "corp" in nodes and _tells_why(nodes["corp"]) and _ready("acme")(nodes),
    ),
    Chapter(
        "corp's row is repaired",
        "UPDATE tenants SET image = 'shop/web:1.1' WHERE name = 'corp'",
        _ready("corp", with_value="shop/web:1.1"),
    ),
)


class Story:
    """Tells the story to a console."""

    def __init__(self, console: Console, client: Client, table: TenantTable) -> None:
        self._console = console
        self._client = client
        self._table = table

    async def tell(self) -> None:
        """Go through all chapters; raises ClusterError if one does not end well."""
        for number, chapter in enumerate(CHAPTERS, start=1):
            self._console.print(f"\n[bold]{number}. {chapter.title}[/bold]", soft_wrap=True)
            if chapter.statement:
                self._console.print(f"   [cyan]{chapter.statement}[/cyan]", highlight=False)
                self._table.change(chapter.statement)
            took = await self._play(chapter)
            self._console.print(f"   done in {took:.1f} s", style="green", highlight=False)

    async def _play(self, chapter: Chapter) -> float:
        with View(self._console) as view:
            while True:
                nodes = await self._nodes()
                view.show(self._table.rows(), nodes)
                if chapter.until(nodes):
                    return view.elapsed
                if view.elapsed > _CHAPTER_SECONDS:
                    raise ClusterError(f"this did not come true in time: {chapter.title}")
                await asyncio.sleep(_GLANCE_SECONDS)

    async def _nodes(self) -> Nodes:
        found = await self._client.list(NODES, NAMESPACE, into=LynqNode)
        return {node.metadata.labels.get(LABEL_UID, ""): node for node in found}
