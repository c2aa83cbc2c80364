"""`lynq tree`: a hub, its forms, its nodes and their objects, each with its state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click

from lynq.api import LynqForm, LynqHub, LynqNode, ResourceStatus
from lynq.api.names import LABEL_HUB
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import CommandError
from lynq.cli.lookup import FORMS, NODES, list_allowed
from lynq.cli.output import (
    REPORT_FORMATS,
    OutputFormat,
    Text,
    output_option,
    print_data,
    print_line,
    print_rows,
    styled,
)
from lynq.cli.target import find_target
from lynq.core.explain.summary import READY, Summary, form_summary, hub_summary, node_summary

_FORMATS: Final = (*REPORT_FORMATS, OutputFormat.NAME)


@dataclass(frozen=True, slots=True)
class _Branch:
    """An object of the tree, and the objects below it."""

    kind: str
    name: str
    namespace: str
    state: str
    detail: str = ""
    id: str = ""
    """The id of a resource in its form."""
    branches: Sequence["_Branch"] = field(default_factory=tuple)


@click.command()
@click.argument("target", metavar="HUB|NODE")
@click.option("--all", "show_all", is_flag=True, help="Show the objects of ready nodes, too.")
@output_option(_FORMATS)
@cluster_command
async def tree(cluster: Cluster, target: str, *, show_all: bool, output: OutputFormat) -> None:
    """Show a hub or a node with everything below it.

    A hub shows its forms, their nodes, and the objects of the nodes that are not ready. A node
    shows all of its objects. All formats but the table have the objects of all nodes.

    \b
    Examples:
      lynq tree hub/tenants
      lynq tree acme
      lynq tree tenants --all
      lynq tree tenants -o json
    """
    found = await find_target(cluster, target)
    if isinstance(found, LynqForm):
        raise CommandError(f'"{target}" is a form. Write the name of a hub or a node.')
    show_all = show_all or not output.is_table
    if isinstance(found, LynqNode):
        branch = _node_branch(found, show_all=True)
    else:
        branch = await _hub_branch(cluster, found, show_all=show_all)
    if output is OutputFormat.NAME:
        for name in _names(branch):
            print_line(name)
    elif output.is_table:
        print_rows(list(_rows(branch, "", "", branch.namespace)))
    else:
        print_data(_data(branch), output)


async def _hub_branch(cluster: Cluster, hub: LynqHub, *, show_all: bool) -> _Branch:
    name, namespace = hub.metadata.name, hub.metadata.namespace
    forms = await list_allowed(cluster, FORMS, LynqForm, namespace)
    nodes = await list_allowed(cluster, NODES, LynqNode, namespace, labels=f"{LABEL_HUB}={name}")
    by_form: dict[str, list[LynqNode]] = {
        form.metadata.name: [] for form in forms or () if form.spec.hub_id == name
    }
    for node in sorted(nodes or (), key=lambda node: node.metadata.name):
        by_form.setdefault(node.spec.template_ref, []).append(node)
    known = {form.metadata.name: form_summary(form) for form in forms or ()}
    missing = "the form may not be read" if forms is None else "the form does not exist"
    branches = [
        _Branch(
            LynqForm.definition.kind,
            form,
            namespace,
            *_state(known.get(form), missing),
            branches=[_node_branch(node, show_all=show_all) for node in own],
        )
        for form, own in sorted(by_form.items())
    ]
    return _Branch(hub.kind, name, namespace, *_state(hub_summary(hub)), branches=branches)


def _state(summary: Summary | None, missing: str = "") -> tuple[str, str]:
    """Return the state of a hub or a form, and its details; `missing` says why it has none."""
    if summary is None:
        return "Unknown", missing
    count = f"{summary.ready}/{summary.desired} nodes ready"
    return summary.state, "; ".join(filter(None, (count, summary.cause, summary.message)))


def _node_branch(node: LynqNode, *, show_all: bool) -> _Branch:
    summary = node_summary(node)
    entries = node.status.resources if show_all or summary.state != READY else ()
    return _Branch(
        node.kind,
        summary.name,
        summary.namespace,
        summary.state,
        f"{summary.ready}/{summary.desired} resources ready",
        branches=[_object_branch(entry) for entry in entries],
    )


def _object_branch(entry: ResourceStatus) -> _Branch:
    return _Branch(entry.kind, entry.name, entry.namespace, entry.state, entry.message, id=entry.id)


def _rows(
    branch: _Branch, first: str, rest: str, namespace: str
) -> Iterator[tuple[str, Text, str]]:
    """Yield the lines of a branch; `namespace` is that of the root."""
    color = (
        "green" if branch.state == READY else "red" if branch.state != "Progressing" else "yellow"
    )
    name = f"{branch.kind}/{branch.name}" if branch.name else branch.kind
    resource = f" ({branch.id})" if branch.id else ""
    elsewhere = f" in {branch.namespace}" if branch.namespace not in ("", namespace) else ""
    yield f"{first}{name}{resource}{elsewhere}", styled(branch.state, color), branch.detail
    for position, below in enumerate(branch.branches, start=1):
        is_last = position == len(branch.branches)
        yield from _rows(
            below,
            rest + ("└─ " if is_last else "├─ "),
            rest + ("   " if is_last else "│  "),
            namespace,
        )


def _names(branch: _Branch) -> Iterator[str]:
    """Yield KIND/NAME of all objects; kinds of Lynq as its commands take them."""
    if branch.name:
        yield f"{branch.kind.removeprefix('Lynq').lower()}/{branch.name}"
    for below in branch.branches:
        yield from _names(below)


def _data(branch: _Branch) -> dict[str, Any]:
    resource = {"id": branch.id} if branch.id else {}
    own = {
        "kind": branch.kind,
        "namespace": branch.namespace,
        "name": branch.name,
        **resource,
        "state": branch.state,
        "detail": branch.detail,
    }
    return own if branch.id else {**own, "children": [_data(below) for below in branch.branches]}
