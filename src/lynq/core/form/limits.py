"""Checks the literal parts of a form against the limits of the operator and of the form.

The node controller asks the same functions about the rendered objects. What a template renders, and
the scope of custom kinds, only a node can know: its resource fails then.
"""

from collections.abc import Iterator

from lynq.api import FormSpec, TResource
from lynq.api.built_in_kinds import scope_is_namespaced
from lynq.api.metadata import ObjectKey
from lynq.api.problems import Problem
from lynq.core.form.templates import placed_resources
from lynq.core.object_limits import ObjectLimits, ObjectWrite, write_denial


def check_limits(form: ObjectKey, spec: FormSpec, operator: ObjectLimits) -> Iterator[Problem]:
    """Yield the resources that no node of the form may write."""
    limits = (operator, ObjectLimits.of_form(form.name, spec))
    for placed in placed_resources(spec):
        write = _literal_write(placed.resource, form.namespace)
        if write and (denial := write_denial(write, form.namespace, limits)):
            yield Problem(f"{placed.path}.spec", denial)


def _literal_write(resource: TResource, own_namespace: str) -> ObjectWrite | None:
    """Return what is known of the written object; None if its kind or scope is not."""
    version, kind = (_literal(resource.spec.get(field)) for field in ("apiVersion", "kind"))
    if not version or not kind:
        return None
    group = version.rpartition("/")[0]
    is_namespaced = scope_is_namespaced((group, kind))
    if is_namespaced is None:
        return None
    namespace = (_literal(resource.target_namespace) or own_namespace) if is_namespaced else ""
    # The name of a Namespace is limited. One that is rendered counts as allowed here.
    name = _literal(_name_text(resource)) or own_namespace
    manifest = {"metadata": {"labels": _labels(resource)}}
    identity = (group, kind, namespace, name)
    return ObjectWrite.of(identity, manifest, resource.patch_strategy)


def _name_text(resource: TResource) -> object:
    metadata = resource.spec.get("metadata")
    named = metadata.get("name") if isinstance(metadata, dict) else ""
    return resource.name_template or named


def _labels(resource: TResource) -> dict[str, object]:
    """Return the labels; their keys are never templates."""
    metadata = resource.spec.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return {**(labels if isinstance(labels, dict) else {}), **resource.labels_template}


def _literal(text: object) -> str:
    """Return a text that is not rendered; "" for a template, and for anything but a text."""
    return text if isinstance(text, str) and "{{" not in text else ""
