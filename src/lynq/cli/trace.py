"""`lynq trace`: from any object back to its row."""

from collections.abc import AsyncIterator

import click
import msgspec

from lynq.api import LynqNode, Metadata
from lynq.api.names import LABEL_HUB
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.kinds import find_kind
from lynq.cli.lookup import NODES
from lynq.cli.output import (
    REPORT_FORMATS,
    OutputFormat,
    output_option,
    print_data,
    print_note,
    print_rows,
)
from lynq.core.explain.trace import (
    TraceStep,
    controller_of,
    entry_of,
    is_orphan,
    node_in_marks,
    object_step,
    orphan_sentence,
    steps_to_row,
)
from lynq.core.node.objects import ObjectRef
from lynq.inspection.evidence import EvidenceReader
from lynq.kube import PartialObject, Resource
from lynq.kube.errors import NotFound


@click.command()
@click.argument("target", metavar="KIND/NAME")
@output_option(REPORT_FORMATS)
@cluster_command
async def trace(cluster: Cluster, target: str, output: OutputFormat) -> None:
    """Trace an object back to its row.

    Shows the LynqNode of the object, the entry of the LynqForm, the LynqHub with its table, and the
    row. Of an object that a controller made, such as a pod, the controllers come first.

    Exit code 0: the object has a row; 4: no LynqNode manages it.

    \b
    Examples:
      lynq trace deployment/acme-web -n tenant-acme
      lynq trace pod/acme-web-6d4cf56db6-x2x7p -n tenant-acme
      lynq trace clusterroles/acme -o json
    """
    kind, separator, name = target.partition("/")
    if not kind or not separator or not name:
        raise CommandError(f'"{target}" is not KIND/NAME, for example deployment/acme-web.')
    reader = EvidenceReader.of(cluster.client)
    resource = await find_kind(cluster.client, kind)
    steps = [step async for step in _steps(cluster, reader, resource, name)]
    if output.is_table:
        _print(steps)
        for denial in reader.denials:
            print_note(denial)
    else:
        print_data([msgspec.to_builtins(step) for step in steps], output)


async def _steps(
    cluster: Cluster, reader: EvidenceReader, resource: Resource, name: str
) -> AsyncIterator[TraceStep]:
    metadata = await _metadata(cluster, resource, name)
    ref = _ref(resource, metadata)
    while (key := node_in_marks(metadata)) is None and (owner := controller_of(metadata)):
        yield TraceStep(ref.kind, ref.name, ref.namespace, f"controlled by {owner.kind}")
        resource = await reader.discovery.resource(owner.api_version, owner.kind)
        metadata = await _metadata(cluster, resource, owner.name)
        ref = _ref(resource, metadata)
    if key is None:
        problem = orphan_sentence(metadata) if is_orphan(metadata) else "has no mark of a LynqNode"
        raise _NotManagedError(f"{ref} {problem}: it is not managed.")
    try:
        node = await cluster.client.get(NODES, key.name, key.namespace, into=LynqNode)
    except NotFound:
        raise _NotManagedError(f"{ref} names LynqNode {key}, which does not exist.") from None
    entry = entry_of(node, ref, metadata)
    if entry is None:
        raise _NotManagedError(
            f"{ref} names LynqNode {key}, which does not list it: the marks were copied or edited."
        )
    yield object_step(ref, metadata)
    form, hub = await reader.form_of(node), await reader.hub_of(node)
    for step in steps_to_row(node, entry, form, hub, node.metadata.labels.get(LABEL_HUB, "")):
        yield step


class _NotManagedError(CommandError):
    """No node manages the object."""

    exit_code = ExitCode.NOT_MANAGED


async def _metadata(cluster: Cluster, resource: Resource, name: str) -> Metadata:
    namespace = cluster.namespace if resource.namespaced else None
    obj = await cluster.client.get(resource, name, namespace, into=PartialObject)
    return obj.metadata


def _ref(resource: Resource, metadata: Metadata) -> ObjectRef:
    return ObjectRef(resource.api_version, resource.kind, metadata.namespace, metadata.name)


def _print(steps: list[TraceStep]) -> None:
    print_rows([_cells(step, depth) for depth, step in enumerate(steps)])


def _cells(step: TraceStep, depth: int) -> tuple[str, str, str]:
    branch = f"{'   ' * (depth - 1)}└─ " if depth else ""
    separator = " " if step.kind == "row" else "/"
    return f"{branch}{step.kind}{separator}{step.name}", step.namespace, step.detail
