"""Displays rows, nodes and resources: a live table on a terminal, else lines."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from lynq.api import ConditionStatus, LynqNode, ResourceState
from lynq.api.conditions import find_condition
from lynq.api.node_metadata import is_deleting
from lynq.api.reasons import ConditionType
from lynq.api.text import shown
from lynq.cli.demo.rows import Tenant

Nodes = Mapping[str, LynqNode]
"""The nodes by tenant."""

_SYMBOLS: Final = {
    ResourceState.READY: ("✓", "green"),
    ResourceState.PROGRESSING: ("…", "yellow"),
    ResourceState.WAITING: ("·", "dim"),
    ResourceState.DELETING: ("…", "dim"),
}
_FAILED_SYMBOL: Final = ("✗", "red")


class View:
    """The display of one step."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, transient=False) if console.is_terminal else None
        self._started = time.monotonic()
        self._printed: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Start the display."""
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the display; its last state remains visible."""
        if self._live:
            self._live.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since the start of the step."""
        return time.monotonic() - self._started

    def show(self, rows: Sequence[Tenant], nodes: Nodes) -> None:
        """Display the current state."""
        if self._live:
            self._live.update(Group(_grid(rows, nodes)))
        else:
            self._print_changes(rows, nodes)

    def _print_changes(self, rows: Sequence[Tenant], nodes: Nodes) -> None:
        """Print a line for each tenant whose state changed."""
        for name in sorted({row.name for row in rows} | nodes.keys()):
            line = f"{name}: {_node_summary(nodes.get(name))}"
            if self._printed.get(name) != line:
                self._printed[name] = line
                text = f"  {self.elapsed:5.1f} s  {line}"
                self._console.print(Text(shown(text)), soft_wrap=True)


def _grid(rows: Sequence[Tenant], nodes: Nodes) -> Grid:
    grid = Grid("TENANT", "ROW", "NODE", "RESOURCES", "MESSAGE", box=None, pad_edge=False)
    rows_by_name = {row.name: row for row in rows}
    for name in sorted(rows_by_name.keys() | nodes.keys()):
        node = nodes.get(name)
        grid.add_row(
            Text(shown(name)),
            _row_summary(rows_by_name.get(name)),
            _state(node),
            _resources(node),
            Text(_message(node)),
        )
    return grid


def _row_summary(row: Tenant | None) -> Text:
    if row is None:
        return Text("-")
    text = shown(f"{row.plan}, {row.replicas} × {row.image}")
    return Text(text if row.active else f"{text}, inactive", style="" if row.active else "dim")


def _state(node: LynqNode | None) -> Text:
    if node is None:
        return Text("-", style="dim")
    ready = find_condition(node.status.conditions, ConditionType.READY)
    if is_deleting(node):
        return Text("deleting", style="yellow")
    if ready is None:
        return Text("new", style="yellow")
    is_ready = ready.status is ConditionStatus.TRUE
    return Text("ready" if is_ready else "not ready", style="green" if is_ready else "yellow")


def _resources(node: LynqNode | None) -> Text:
    text = Text()
    for resource in node.status.resources if node else ():
        symbol, style = _SYMBOLS.get(resource.state, _FAILED_SYMBOL)
        text.append(f"{' ' if text else ''}{symbol}{shown(resource.kind)}", style=style)
    return text


def _message(node: LynqNode | None) -> str:
    resources = node.status.resources if node else ()
    return shown(next((resource.message for resource in resources if resource.message), ""))


def _node_summary(node: LynqNode | None) -> str:
    if node is None:
        return "no node"
    states = ", ".join(f"{resource.kind} {resource.state}" for resource in node.status.resources)
    message = f" ({_message(node)})" if _message(node) else ""
    return f"node {_state(node)}{': ' if states else ''}{states}{message}"
