"""Plans on a cluster, and offline from files."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lynq.api import LynqForm, LynqHub
from lynq.cli.connection import Cluster
from lynq.cli.exit_codes import CommandError
from lynq.cli.form_files import load_form_files
from lynq.cli.form_preview import FormPreview, preview_forms, rows_in_file
from lynq.cli.installation_key import installation_key
from lynq.cli.lookup import HUBS, find_hub
from lynq.cli.manifest_files import ManifestFileError, read_documents
from lynq.cli.output import print_progress
from lynq.cli.row_file import read_rows
from lynq.controllers.hub.source_config import SourceConfigLoader
from lynq.controllers.options import Options
from lynq.core.explain.columns import secret_masks
from lynq.core.plan.changes import (
    Action,
    FailedResource,
    Plan,
    PlannedChange,
    PlannedRejection,
)
from lynq.core.plan.fields import field_changes, masked_fields
from lynq.kube import Client, PartialObject
from lynq.kube.errors import Forbidden
from lynq.plan.simulation import Progress, Rows, Simulation
from lynq.sources import Settings, open_source
from lynq.sources.settings import ServerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """The options of `lynq plan`."""

    files: tuple[Path, ...] = ()
    hub_name: str | None = None
    statement: str | None = None
    sql_user: str | None = None
    rows_file: Path | None = None
    sample: int | None = None
    sqlite_dir: Path | None = None
    operator_namespace: str

    @property
    def is_offline(self) -> bool:
        """Whether everything that the plan needs is in files."""
        return bool(self.files and self.rows_file and not self.hub_name)


async def plan_on_cluster(cluster: Cluster, request: PlanRequest) -> Plan:
    """Return the plan of forms, rows or a statement against the cluster."""
    manifests = _forms(request.files, cluster.namespace)
    hub = await find_hub(cluster, _hub_name(request.hub_name, manifests))
    key = await installation_key(cluster, request.operator_namespace)
    namespaces = await _watched_namespaces(cluster)
    options = Options(sqlite_directory=request.sqlite_dir, namespaces=namespaces)
    simulation = Simulation(cluster.client, key, options)
    async with simulation.running():
        for manifest in manifests:
            await simulation.write_form(manifest)
        rows = await _rows(cluster, request, hub, simulation)
        plan = await simulation.plan(hub, rows, _progress(), sample=request.sample)
    notes = [f'only objects in the namespace "{name}" are compared' for name in namespaces]
    return replace(plan, notes=(*plan.notes, *notes))


async def _watched_namespaces(cluster: Cluster) -> tuple[str, ...]:
    """Return the only namespace that the caller may list; empty if it is all of them."""
    try:
        await cluster.client.list(HUBS, into=PartialObject)
    except Forbidden:
        return (cluster.namespace,)
    return ()


def plan_offline(request: PlanRequest) -> Plan:
    """Return the plan of forms and rows in files: every object is created."""
    if request.rows_file is None:
        raise AssertionError("an offline plan has a file of rows")
    rows = rows_in_file(request.rows_file)
    previews = preview_forms(load_form_files(request.files), rows, datetime.now(UTC))
    return Plan(
        changes=[change for preview in previews for change in _created(preview)],
        rejected=[
            PlannedRejection(rejection.uid, rejection.message)
            for each in previews
            for rejection in each.preview.rejections
        ],
        failed=[
            FailedResource(error.node, error.resource, error.message)
            for each in previews
            for error in each.preview.errors
        ],
        notes=["nothing was validated by an API server"],
    )


def _created(preview: FormPreview) -> Iterator[PlannedChange]:
    form = preview.form.object
    for node in preview.preview.nodes:
        masks = secret_masks([node.node] if node.node else [])
        for each in node.objects:
            yield PlannedChange(
                action=Action.CREATE,
                api_version=str(each.obj.get("apiVersion", "")),
                kind=str(each.obj.get("kind", "")),
                namespace=each.obj["metadata"].get("namespace", ""),
                name=each.obj["metadata"]["name"],
                hub=form.spec.hub_id,
                form=form.metadata.name,
                node=node.name,
                fields=masked_fields(field_changes(None, each.obj), masks),
            )


async def _rows(
    cluster: Cluster, request: PlanRequest, hub: LynqHub, simulation: Simulation
) -> Rows:
    if request.rows_file:
        return Rows(rows=read_rows(request.rows_file, hub.spec))
    if request.files and not request.hub_name and not request.statement:
        # A changed form is planned without its database.
        return simulation.rows_of_nodes(hub)
    database = _Database(cluster.client, request.sqlite_dir, request.sql_user)
    return await database.read(hub, request.statement, simulation.uids(hub))


def _forms(paths: tuple[Path, ...], namespace: str) -> list[dict[str, Any]]:
    """Return the forms of files; other kinds are ignored, as they are not planned."""
    forms = []
    for document in read_documents(paths):
        if document.kind != LynqForm.definition.kind:
            continue
        if not document.name:
            raise ManifestFileError(document.path, document.line_of(""), "the form has no name")
        metadata = {"namespace": namespace, **document.value["metadata"]}
        forms.append({**document.value, "metadata": metadata})
    if paths and not forms:
        raise CommandError("There is no LynqForm among the files.")
    return forms


def _hub_name(hub_name: str | None, manifests: list[dict[str, Any]]) -> str:
    names = {str((form.get("spec") or {}).get("hubId", "")) for form in manifests}
    if hub_name:
        return hub_name
    if len(names) != 1:
        raise CommandError("Name the hub: --hub NAME, or -f FILE with forms of one hub.")
    return names.pop()


@dataclass(frozen=True, slots=True)
class _Database:
    """The database of a hub, with the rights of the caller."""

    client: Client
    sqlite_dir: Path | None
    user: str | None

    async def read(self, hub: LynqHub, statement: str | None, uids: frozenset[str]) -> Rows:
        """Read all rows, as a statement would leave them if there is one."""
        loader = SourceConfigLoader(self.client, self.sqlite_dir)
        config = await loader.load(hub.spec, hub.metadata.namespace)
        source = open_source(self._settings(config.settings))
        try:
            reading = (
                source.read_after(statement, config.query, tracked=uids)
                if statement
                else source.read(config.query, tracked=uids)
            )
            async with reading:
                rows = [row async for page in reading for row in page]
        finally:
            await source.close()
        summary = reading.summary
        return Rows(rows=rows, identity=summary.identity.digest, inactive=summary.inactive)

    def _settings(self, settings: Settings) -> Settings:
        if not self.user:
            return settings
        if not isinstance(settings, ServerSettings):
            raise CommandError("--sql-user is for MySQL and PostgreSQL.")
        return replace(
            settings, username=self.user, password=os.environ.get("LYNQ_SQL_PASSWORD", "")
        )


def _progress() -> Progress:
    """Return a callback that prints the progress on a terminal."""
    if not sys.stderr.isatty():
        return lambda *_: None

    def show(done: int, total: int) -> None:
        print_progress(f"planned {done} of {total} nodes", last=done == total)

    return show
