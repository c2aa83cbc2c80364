"""Shows rows, nodes and resources side by side: live on a terminal, line by line elsewhere."""

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
from lynq.cli.demo.rows import Tenant

Nodes = Mapping[str, LynqNode]
"""The nodes by the tenant they belong to."""

_SIGNS: Final = {
    ResourceState.READY: ("✓", "green"),
    ResourceState.PROGRESSING: ("…", "yellow"),
    ResourceState.WAITING: ("·", "dim"),
    ResourceState.DELETING: ("…", "dim"),
}
_WRONG: Final = ("✗", "red")


class View:
    """One chapter of the story on the screen."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, transient=False) if console.is_terminal else None
        self._began = time.monotonic()
        self._said: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the last picture standing."""
        if self._live:
            self._live.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since the chapter began."""
        return time.monotonic() - self._began

    def show(self, rows: Sequence[Tenant], nodes: Nodes) -> None:
        """Show how things are now."""
        if self._live:
            self._live.update(Group(_grid(rows, nodes)))
        else:
            self._say(rows, nodes)

    def _say(self, rows: Sequence[Tenant], nodes: Nodes) -> None:
        """Print a line for each tenant of which there is something new to say."""
        for name in sorted({row.name for row in rows} | nodes.keys()):
            line = f"{name}: {_node_words(nodes.get(name))}"
            if self._said.get(name) != line:
                self._said[name] = line
                said = f"  {self.elapsed:5.1f} s  {line}"
                self._console.print(said, highlight=False, soft_wrap=True)


def _grid(rows: Sequence[Tenant], nodes: Nodes) -> Grid:
    grid = Grid("tenant", "row", "node", "resources", "why not ready", box=None, pad_edge=False)
    known = {row.name: row for row in rows}
    for name in sorted(known.keys() | nodes.keys()):
        node = nodes.get(name)
        grid.add_row(
            name, _row_words(known.get(name)), _state(node), _resources(node), Text(_why(node))
        )
    return grid


def _row_words(row: Tenant | None) -> Text:
    if row is None:
        return Text("-")
    text = f"{row.plan}, {row.replicas} × {row.image}"
    return Text(text if row.active else f"{text}, inactive", style="" if row.active else "dim")


def _state(node: LynqNode | None) -> Text:
    if node is None:
        return Text("-", style="dim")
    ready = find_condition(node.status.conditions, ConditionType.READY)
    if is_deleting(node):
        return Text("going", style="yellow")
    if ready is None:
        return Text("new", style="yellow")
    is_ready = ready.status is ConditionStatus.TRUE
    return Text("ready" if is_ready else "not ready", style="green" if is_ready else "yellow")


def _resources(node: LynqNode | None) -> Text:
    text = Text()
    for each in node.status.resources if node else ():
        sign, style = _SIGNS.get(each.state, _WRONG)
        text.append(f"{' ' if text else ''}{sign}{each.kind}", style=style)
    return text


def _why(node: LynqNode | None) -> str:
    told = [each.message for each in node.status.resources if each.message] if node else []
    return told[0] if told else ""


def _node_words(node: LynqNode | None) -> str:
    if node is None:
        return "no node"
    states = ", ".join(f"{each.kind} {each.state}" for each in node.status.resources)
    why = f" ({_why(node)})" if _why(node) else ""
    return f"node {_state(node)}{': ' if states else ''}{states}{why}"
