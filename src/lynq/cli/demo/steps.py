"""The steps of the demo: changes of the table, and their expected effects in the cluster.

A step ends when the cluster has reached the expected state. If it does not within the timeout, the
demo fails.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from lynq.api import LynqNode, ResourceState
from lynq.api.conditions import is_true
from lynq.api.names import ANNOTATION_EXTRA, ANNOTATION_ROLLOUT_UPDATE_START, LABEL_UID
from lynq.api.reasons import ConditionType, ReadinessReason
from lynq.cli.demo.rows import TenantTable
from lynq.cli.demo.view import Nodes, View
from lynq.cluster import ClusterError
from lynq.kube import Client
from lynq.kube.resource import resource_of

NAMESPACE: Final = "default"
NODES: Final = resource_of(LynqNode.definition)

_STEP_TIMEOUT: Final = 90.0
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class DemoStep:
    """A change of the table, and the expected state."""

    title: str
    statement: str
    """The SQL statement; "" for none."""
    until: Callable[[Nodes], bool]


def _ready(*tenants: str, with_value: str = "") -> Callable[[Nodes], bool]:
    """Return whether the nodes of tenants are ready with the current values of their rows."""

    def are_ready(nodes: Nodes) -> bool:
        return all(name in nodes and _is_ready(nodes[name], with_value) for name in tenants)

    return are_ready


def _is_ready(node: LynqNode, value: str) -> bool:
    annotations = node.metadata.annotations
    return (
        is_true(node.status.conditions, ConditionType.READY)
        and node.status.observed_update_start == annotations.get(ANNOTATION_ROLLOUT_UPDATE_START)
        and value in annotations.get(ANNOTATION_EXTRA, "")
    )


def _reports_problem(node: LynqNode) -> bool:
    """Return whether the status of a node contains why a resource is not ready."""
    return any(
        resource.message and resource.reason != ReadinessReason.GENERATION_NOT_OBSERVED
        for resource in node.status.resources
        if resource.state is ResourceState.PROGRESSING
    )


STEPS: Final[Sequence[DemoStep]] = (
    DemoStep("Three rows and one form create three tenants", "", _ready("acme", "beta", "corp")),
    DemoStep(
        "acme upgrades to the pro plan with three replicas",
        "UPDATE tenants SET plan = 'pro', replicas = 3 WHERE name = 'acme'",
        _ready("acme", with_value='"replicas":"3"'),
    ),
    DemoStep(
        "beta is deactivated: its LynqNode and all resources are deleted",
        "UPDATE tenants SET active = 0 WHERE name = 'beta'",
        lambda nodes: "beta" not in nodes,
    ),
    DemoStep(
        "corp gets an image that does not exist: its LynqNode reports why, the others stay ready",
        "UPDATE tenants SET image = 'shop/nonexistent:9' WHERE name = 'corp'",
        lambda nodes: "corp" in nodes and _reports_problem(nodes["corp"]) and _ready("acme")(nodes),
    ),
    DemoStep(
        "corp gets a valid image and is ready again",
        "UPDATE tenants SET image = 'shop/web:1.1' WHERE name = 'corp'",
        _ready("corp", with_value="shop/web:1.1"),
    ),
)


class DemoRun:
    """Runs the steps and prints them to a console."""

    def __init__(self, console: Console, client: Client, table: TenantTable) -> None:
        self._console = console
        self._client = client
        self._table = table

    async def run(self) -> None:
        """Run all steps; raises ClusterError if one times out."""
        for number, step in enumerate(STEPS, start=1):
            self._console.print(f"\n[bold]{number}. {step.title}[/bold]", soft_wrap=True)
            if step.statement:
                self._console.print(f"   [cyan]{step.statement}[/cyan]", highlight=False)
                self._table.change(step.statement)
            seconds = await self._run_step(step)
            self._console.print(f"   done in {seconds:.1f} s", style="green", highlight=False)

    async def _run_step(self, step: DemoStep) -> float:
        with View(self._console) as view:
            while True:
                nodes = await self._nodes()
                view.show(self._table.rows(), nodes)
                if step.until(nodes):
                    return view.elapsed
                if view.elapsed > _STEP_TIMEOUT:
                    raise ClusterError(f"timed out after {_STEP_TIMEOUT:.0f} s: {step.title}")
                await asyncio.sleep(_POLL_SECONDS)

    async def _nodes(self) -> Nodes:
        nodes = await self._client.list(NODES, NAMESPACE, into=LynqNode)
        return {node.metadata.labels.get(LABEL_UID, ""): node for node in nodes}
