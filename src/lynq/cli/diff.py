"""`lynq diff`: the live objects of a node against the desired ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from lynq.api import (
    CreationPolicy,
    LynqNode,
    PatchStrategy,
    ResourceState,
    ResourceStatus,
    TResource,
)
from lynq.api.names import ANNOTATION_CREATED_ONCE, FIELD_MANAGER, TRUE
from lynq.api.resource import all_resources
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.evidence import EvidenceReader
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.installation_key import installation_key, key_option
from lynq.cli.lookup import find_node
from lynq.cli.output import (
    REPORT_FORMATS,
    OutputFormat,
    output_option,
    print_data,
    print_note,
    styled,
)
from lynq.core.explain.drift import FieldDrift, field_drifts
from lynq.core.guard.protection import keeps_objects
from lynq.core.node.desired_object import ignores_fields, prepare
from lynq.core.node.objects import ObjectRef, Owner, owner_of, ref_of
from lynq.core.node.render import Renderer, RenderError
from lynq.core.node.variables import VariablesError, variables_of
from lynq.kube import Discovery, Resource
from lynq.kube.errors import Conflict, KubeError, NotFound

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What was found out about one resource."""

    title: str
    drifts: tuple[FieldDrift, ...] = ()
    is_missing: bool = False
    is_deleting: bool = False
    """Whether the object is no longer desired, and is being deleted."""
    error: str = ""
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether the live object is not as desired."""
        return bool(self.drifts) or self.is_missing or self.is_deleting


@click.command()
@click.argument("node")
@key_option
@output_option(REPORT_FORMATS)
@cluster_command
async def diff(cluster: Cluster, node: str, operator_namespace: str, output: OutputFormat) -> None:
    """Compare the live objects of a node with the desired ones.

    The manifests are rendered as the operator renders them, and the API server says by a dry run
    what a write would change. Each live value is shown with the field managers that own it. Values
    of Secrets are not shown. The dry run needs the right to patch the objects.

    Exit code 0: no difference; 1: differences; 2: an object could not be compared.

    \b
    Examples:
      lynq diff acme-web
      lynq diff acme -n shop
      lynq diff acme -o json
    """
    found = await find_node(cluster, node)
    try:
        variables = variables_of(found)
    except VariablesError as error:
        raise CommandError(f"{error}.") from None
    key = await installation_key(cluster, operator_namespace)
    reader = EvidenceReader.of(cluster)
    owner = owner_of(found, is_protected=keeps_objects(found, [await reader.hub_of(found)]))
    renderer = Renderer.of(found, variables, key)
    differ = _Differ(cluster, found, owner, renderer, reader.discovery)
    results = [await differ.compare(resource) for resource in all_resources(found.spec)]
    results += _deleting(found)
    if output.is_table:
        for result in results:
            _print(result)
    else:
        print_data([_data(result) for result in results], output)
    if any(result.error for result in results):
        raise click.exceptions.Exit(ExitCode.ERROR)
    if any(result.differs for result in results):
        raise click.exceptions.Exit(ExitCode.DIFFERENT)


@dataclass(frozen=True, slots=True)
class _Differ:
    """Compares the resources of one node."""

    cluster: Cluster
    node: LynqNode
    owner: Owner
    renderer: Renderer
    discovery: Discovery

    async def compare(self, resource: TResource) -> _Comparison:
        kind = str(resource.spec.get("kind", ""))
        try:
            return await self._compare(resource)
        except RenderError as error:
            return _Comparison(f"{kind} ({resource.id})", error=str(error))
        except KubeError as error:
            title = f"{kind} {resource.name_template} ({resource.id})"
            return _Comparison(title, error=str(error))

    async def _compare(self, resource: TResource) -> _Comparison:
        api_version, kind = (str(resource.spec.get(key, "")) for key in ("apiVersion", "kind"))
        served = await self.discovery.resource(api_version, kind)
        rendered = self.renderer.render(resource, namespaced=served.namespaced)
        ref = rendered.ref
        title = f"{ref} ({resource.id})"
        live = await self._live(served, ref)
        if live is not None and _is_written_once(resource, live):
            return _Comparison(title, note="written once: its body is not compared")
        body = live if ignores_fields(resource) else None
        entries = self._entries(ref)
        is_adopted = any(entry.adopted_uid for entry in entries)
        desired = prepare(rendered, resource, self.owner, body, is_adopted=is_adopted)
        if live is None and any(entry.completed for entry in entries):
            return _Comparison(title, note="completed: it is not created again")
        if live is None:
            return _Comparison(title, field_drifts(None, desired.obj), is_missing=True)
        written, note = await self._dry_run(served, resource, desired.obj, live)
        return _Comparison(title, field_drifts(live, written), note=note)

    async def _live(self, served: Resource, ref: ObjectRef) -> Object | None:
        try:
            return await self.cluster.client.get(served, ref.name, ref.namespace or None)
        except NotFound:
            return None

    def _entries(self, ref: ObjectRef) -> list[ResourceStatus]:
        """Return what the status of the node says about an object."""
        entries = self.node.status.resources
        return [entry for entry in entries if ref_of(entry).identity == ref.identity]

    async def _dry_run(
        self, served: Resource, resource: TResource, obj: Object, live: Object
    ) -> tuple[Object, str]:
        """Return the object as the write would make it, and a note about conflicts."""
        client, metadata = self.cluster.client, obj["metadata"]
        match resource.patch_strategy:
            case PatchStrategy.MERGE:
                name, namespace = metadata["name"], metadata.get("namespace")
                written = await client.patch(
                    served, name, obj, namespace, manager=FIELD_MANAGER, dry_run=True
                )
            case PatchStrategy.REPLACE:
                pin = {"resourceVersion": live["metadata"]["resourceVersion"]}
                pinned = {**obj, "metadata": {**metadata, **pin}}
                written = await client.replace(served, pinned, manager=FIELD_MANAGER, dry_run=True)
            case PatchStrategy.APPLY:
                return await self._dry_apply(served, resource, obj)
        return written, ""

    async def _dry_apply(
        self, served: Resource, resource: TResource, obj: Object
    ) -> tuple[Object, str]:
        client = self.cluster.client
        try:
            written = await client.apply(served, obj, manager=FIELD_MANAGER, dry_run=True)
        except Conflict as conflict:
            written = await client.apply(
                served, obj, manager=FIELD_MANAGER, force=True, dry_run=True
            )
            fields = ", ".join(f"{each.field} of {each.manager}" for each in conflict.fields)
            policy = resource.conflict_policy
            return written, f"conflict over {fields}; conflictPolicy is {policy}"
        return written, ""


def _deleting(node: LynqNode) -> Iterator[_Comparison]:
    for entry in node.status.resources:
        if entry.state is ResourceState.DELETING:
            title = f"{ref_of(entry)} ({entry.id})"
            yield _Comparison(title, is_deleting=True, note=entry.message)


def _is_written_once(resource: TResource, live: Mapping[str, Any]) -> bool:
    annotations = live["metadata"].get("annotations") or {}
    is_once = resource.creation_policy is CreationPolicy.ONCE
    return is_once and annotations.get(ANNOTATION_CREATED_ONCE) == TRUE


def _print(result: _Comparison) -> None:
    if result.error:
        print_note(f"{result.title}: {result.error}")
        return
    if result.is_deleting:
        click.echo(f"{styled('-', 'red')} {result.title}: {result.note}")
        return
    if not result.differs:
        return
    click.echo(f"{result.title}{': does not exist' if result.is_missing else ''}")
    if result.note:
        click.echo(f"  {result.note}")
    for drift in result.drifts:
        change = drift.change
        if change.before is not None:
            owner = f"   (by {', '.join(drift.managers)})" if drift.managers else ""
            click.echo(f"  {styled('-', 'red')} {change.path}: {_value(change.before)}{owner}")
        if change.after is not None:
            click.echo(f"  {styled('+', 'green')} {change.path}: {_value(change.after)}")


def _data(result: _Comparison) -> dict[str, Any]:
    return {
        "object": result.title,
        "missing": result.is_missing,
        "deleting": result.is_deleting,
        "error": result.error,
        "note": result.note,
        "fields": [
            {
                "path": drift.change.path,
                "live": drift.change.before,
                "desired": drift.change.after,
                "managers": list(drift.managers),
            }
            for drift in result.drifts
        ],
    }


def _value(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
