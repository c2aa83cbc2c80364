"""`lynq export`: writes a hub, its forms and its ConfigMaps as YAML for Git."""

from pathlib import Path
from typing import Any, Final

import click

from lynq.api import KeyHolder, LynqHub, ObjectKeyRef, SecretKeyRef
from lynq.api.crds import to_yaml
from lynq.api.names import (
    ANNOTATION_APPROVE_DELETION,
    ANNOTATION_FORCE_SYNC,
    FINALIZER_FORM,
    FINALIZER_HUB,
)
from lynq.api.source import DatabaseServer
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import CommandError
from lynq.cli.lookup import FORMS, HUBS, find_hub
from lynq.cli.output import print_line, print_note
from lynq.kube.errors import KubeError
from lynq.kube.resource import CONFIG_MAPS

_SERVER_FIELDS: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Fields of metadata that the API server sets."""
_PASSING_ANNOTATIONS: Final = (
    "kubectl.kubernetes.io/last-applied-configuration",
    ANNOTATION_APPROVE_DELETION,
    ANNOTATION_FORCE_SYNC,
)
"""Annotations that ask for something once. From Git they would ask again."""
_OWN_FINALIZERS: Final = frozenset({FINALIZER_HUB, FINALIZER_FORM})


@click.command()
@click.option("--hub", "hub_name", required=True, metavar="NAME", help="Hub to export.")
@click.option(
    "-o",
    "--output-dir",
    "directory",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory of the files. Existing files of the same names are replaced.",
)
@cluster_command
async def export(cluster: Cluster, *, hub_name: str, directory: Path) -> None:
    """Write a hub, its forms and its ConfigMaps as YAML files.

    The files have no status and nothing that the API server or the operator sets, so that they can
    be committed and applied to another cluster. LynqNodes are not written: the hub creates them.
    Secrets are never written: their names are listed, to be created by other means.

    \b
    Examples:
      lynq export --hub tenants -o tenants/
      lynq export --hub tenants -o tenants/ && kubectl diff -f tenants/
    """
    hub = await find_hub(cluster, hub_name)
    namespace = hub.metadata.namespace
    objects = [await cluster.client.get(HUBS, hub.metadata.name, namespace)]
    forms = (await cluster.client.list(FORMS, namespace)).items
    objects += [form for form in forms if form["spec"].get("hubId") == hub.metadata.name]
    references = _references(hub)
    for name in sorted({ref.name for ref in references if _is_config_map(ref)}):
        try:
            objects.append(await cluster.client.get(CONFIG_MAPS, name, namespace))
        except KubeError as error:
            print_note(f"ConfigMap {name} is not exported: {error}")
    _write(objects, directory)
    for name in sorted({ref.name for ref in references if not _is_config_map(ref)}):
        print_note(f"Secret {name} is not exported; the hub needs it in the namespace {namespace}.")


def cleaned(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object without status, and without what the API server and the operator set."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_FIELDS}
    annotations = metadata.pop("annotations", {})
    if kept := {key: annotations[key] for key in annotations if key not in _PASSING_ANNOTATIONS}:
        metadata["annotations"] = kept
    finalizers = metadata.pop("finalizers", [])
    if others := [name for name in finalizers if name not in _OWN_FINALIZERS]:
        metadata["finalizers"] = others
    body = {
        key: value
        for key, value in obj.items()
        if key not in {"apiVersion", "kind", "metadata", "status"}
    }
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, **body}


def _references(hub: LynqHub) -> tuple[SecretKeyRef | ObjectKeyRef, ...]:
    block = hub.spec.source.block
    return block.references if isinstance(block, DatabaseServer) else ()


def _is_config_map(reference: SecretKeyRef | ObjectKeyRef) -> bool:
    return isinstance(reference, ObjectKeyRef) and reference.kind is KeyHolder.CONFIG_MAP


def _write(objects: list[dict[str, Any]], directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for obj in objects:
            file = directory / f"{obj['kind'].lower()}-{obj['metadata']['name']}.yaml"
            file.write_text(to_yaml(cleaned(obj)), encoding="utf-8")
            print_line(str(file))
    except OSError as error:
        raise CommandError(f"{directory} cannot be written: {error.strerror}.") from None
