"""Hides what a viewer may have the right to read, and what is not shown all the same.

The dashboard, plans and comparisons show objects through `masked`. The data of Secrets is hidden,
and so is the row in the annotations of a LynqNode: in plans, which end in files and pull requests,
all of it, and on the dashboard the columns that a Secret reads.
"""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from lynq.api import LynqForm, LynqNode
from lynq.api.names import ANNOTATION_ACTIVATE, ANNOTATION_EXTRA, ANNOTATION_HOST_OR_URL
from lynq.api.nesting import depth_checked

HIDDEN: Final = "••••••"
_SECRET: Final = "Secret"  # noqa: S105 - a kind
_DATA: Final = ("data", "stringData")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_COPIED: Final = frozenset({_SECRET, LynqForm.definition.kind, LynqNode.definition.kind})
"""Kinds whose annotation of kubectl may repeat the data of a Secret."""
_ROW: Final = {
    "activate": ANNOTATION_ACTIVATE,
    "hostOrUrl": ANNOTATION_HOST_OR_URL,
}
"""The variables that have an annotation of their own."""

Object = dict[str, Any]


def masked(obj: Mapping[str, Any], hidden: Collection[str] | None = None) -> Object:
    """Return an object without the data of a Secret, and a node without hidden variables.

    Without `hidden`, all variables of the row are.
    """
    shown = _masked_data(obj, lambda _: HIDDEN)
    metadata = dict(obj.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    if obj.get("kind") in _COPIED:
        annotations.pop(_LAST_APPLIED, None)
    if obj.get("kind") == LynqNode.definition.kind:
        for variable, annotation in _ROW.items():
            if annotation in annotations and (hidden is None or variable in hidden):
                annotations[annotation] = HIDDEN
        if ANNOTATION_EXTRA in annotations:
            annotations[ANNOTATION_EXTRA] = _masked_extra(annotations[ANNOTATION_EXTRA], hidden)
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    shown["metadata"] = metadata
    return _masked_manifests(shown)


def masked_manifest(manifest: Mapping[str, Any]) -> Object:
    """Return the manifest of a form's resource without literal data of a Secret."""
    return _masked_data(manifest, lambda value: value if "{{" in str(value) else HIDDEN)


def _masked_data(obj: Mapping[str, Any], mask: Callable[[object], object]) -> Object:
    shown = dict(obj)
    for field in _DATA if obj.get("kind") == _SECRET else ():
        data = obj.get(field)
        if isinstance(data, Mapping):
            shown[field] = {key: mask(value) for key, value in data.items()}
        elif data is not None:
            shown[field] = HIDDEN
    return shown


def _masked_manifests(obj: Object) -> Object:
    """Return a form or node whose Secrets have templates, and no literal data."""
    spec = obj.get("spec")
    if not str(obj.get("apiVersion", "")).startswith("operator.lynq.sh/"):
        return obj
    if not isinstance(spec, Mapping):
        return obj
    lists = {
        name: [
            {**item, "spec": masked_manifest(item["spec"])}
            if isinstance(item, Mapping) and isinstance(item.get("spec"), Mapping)
            else item
            for item in items
        ]
        for name, items in spec.items()
        if name in ("secrets", "manifests") and isinstance(items, list)
    }
    return {**obj, "spec": {**spec, **lists}}


def _masked_extra(text: str, hidden: Collection[str] | None) -> str:
    if hidden is not None and not hidden:
        return text
    try:
        values = json.loads(depth_checked(text))
    except ValueError:
        return HIDDEN
    if not isinstance(values, dict):
        return HIDDEN
    return json.dumps(
        {
            name: HIDDEN if hidden is None or name in hidden else value
            for name, value in values.items()
        },
        ensure_ascii=False,
    )
