"""`lynq tree`: a hub, its forms, its nodes and their objects, each with its state."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import click

from lynq.api import LynqForm, LynqHub, LynqNode, ResourceStatus
from lynq.api.names import LABEL_HUB
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import CommandError
from lynq.cli.lookup import FORMS, NODES
from lynq.cli.output import print_rows, styled
from lynq.cli.target import find_target
from lynq.core.explain.summary import READY, Summary, form_summary, hub_summary, node_summary


@dataclass(frozen=True, slots=True)
class _TreeLine:
    """One line of the tree, and the lines below it."""

    name: str
    state: str
    detail: str = ""
    branches: Sequence["_TreeLine"] = field(default_factory=tuple)


@click.command()
@click.argument("target", metavar="HUB|NODE")
@click.option("--all", "show_all", is_flag=True, help="Show the objects of ready nodes, too.")
@cluster_command
async def tree(cluster: Cluster, target: str, *, show_all: bool) -> None:
    """Show a hub or a node with everything below it.

    A hub shows its forms, their nodes, and the objects of the nodes that are not ready. A node
    shows all of its objects.

    \b
    Examples:
      lynq tree hub/tenants
      lynq tree acme
      lynq tree tenants --all
    """
    found = await find_target(cluster, target)
    if isinstance(found, LynqForm):
        raise CommandError(f'"{target}" is a form. Write the name of a hub or a node.')
    if isinstance(found, LynqNode):
        branch = _node_branch(found, show_all=True)
    else:
        branch = await _hub_branch(cluster, found, show_all=show_all)
    print_rows(list(_rows(branch, "", "")))


async def _hub_branch(cluster: Cluster, hub: LynqHub, *, show_all: bool) -> _TreeLine:
    client, name, namespace = cluster.client, hub.metadata.name, hub.metadata.namespace
    forms = await client.list(FORMS, namespace, into=LynqForm)
    nodes = await client.list(NODES, namespace, into=LynqNode, labels=f"{LABEL_HUB}={name}")
    by_form: dict[str, list[LynqNode]] = {
        form.metadata.name: [] for form in forms if form.spec.hub_id == name
    }
    for node in sorted(nodes, key=lambda node: node.metadata.name):
        by_form.setdefault(node.spec.template_ref, []).append(node)
    known = {form.metadata.name: form_summary(form) for form in forms}
    branches = [
        _branch(
            f"LynqForm/{form}",
            known.get(form),
            (_node_branch(node, show_all=show_all) for node in own),
        )
        for form, own in sorted(by_form.items())
    ]
    return _branch(f"LynqHub/{name}", hub_summary(hub), branches)


def _branch(name: str, summary: Summary | None, branches: Iterable[_TreeLine]) -> _TreeLine:
    if summary is None:
        return _TreeLine(name, "Missing", "the form does not exist", tuple(branches))
    count = f"{summary.ready}/{summary.desired} nodes ready"
    detail = "; ".join(filter(None, (count, summary.cause, summary.message)))
    return _TreeLine(name, summary.state, detail, tuple(branches))


def _node_branch(node: LynqNode, *, show_all: bool) -> _TreeLine:
    summary = node_summary(node)
    entries = node.status.resources if show_all or summary.state != READY else ()
    return _TreeLine(
        f"LynqNode/{summary.name}",
        summary.state,
        f"{summary.ready}/{summary.desired} resources ready",
        tuple(_object_branch(entry, node.metadata.namespace) for entry in entries),
    )


def _object_branch(entry: ResourceStatus, namespace: str) -> _TreeLine:
    name = f"{entry.kind}/{entry.name}" if entry.name else entry.kind
    elsewhere = f" in {entry.namespace}" if entry.namespace not in ("", namespace) else ""
    return _TreeLine(f"{name} ({entry.id}){elsewhere}", entry.state, entry.message)


def _rows(branch: _TreeLine, first: str, rest: str) -> Iterator[tuple[str, str, str]]:
    color = (
        "green" if branch.state == READY else "red" if branch.state != "Progressing" else "yellow"
    )
    yield f"{first}{branch.name}", styled(branch.state, color), branch.detail
    for position, below in enumerate(branch.branches, start=1):
        is_last = position == len(branch.branches)
        yield from _rows(
            below, rest + ("└─ " if is_last else "├─ "), rest + ("   " if is_last else "│  ")
        )
