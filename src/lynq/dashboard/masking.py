"""Hides what a viewer may have the right to read, and what a page must not show all the same.

The data of Secrets never leaves the server. A column that a Secret reads is a secret, too: its
value is hidden in the row, also where the annotations of a LynqNode have it.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from lynq.api import LynqForm, LynqNode
from lynq.api.names import ANNOTATION_EXTRA, ANNOTATION_HOST_OR_URL
from lynq.api.nesting import depth_checked
from lynq.core.explain.columns import secret_variables

HIDDEN: Final = "••••••"
_SECRET: Final = "Secret"  # noqa: S105 - a kind
_DATA: Final = ("data", "stringData")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_COPIED: Final = frozenset({_SECRET, LynqForm.definition.kind, LynqNode.definition.kind})
"""Kinds whose annotation of kubectl may repeat the data of a Secret."""
_SHOWN: Final = frozenset({"uid", "activate", "host", "hostOrUrl", "hubId", "templateRef"})
"""Variables that names and addresses are made of; they are shown everywhere."""

Object = dict[str, Any]


def hidden_variables(forms: Collection[LynqForm]) -> frozenset[str]:
    """Return the variables that a Secret of one of the forms reads."""
    names = {name for form in forms for name in secret_variables(form.spec)}
    return frozenset(names - _SHOWN)


def masked(obj: Mapping[str, Any], hidden: Collection[str] = ()) -> Object:
    """Return an object without the data of a Secret, and a node without hidden variables."""
    shown = dict(obj)
    if obj.get("kind") == _SECRET:
        for field in _DATA:
            if isinstance(obj.get(field), Mapping):
                shown[field] = dict.fromkeys(obj[field], HIDDEN)
    metadata = dict(obj.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    if obj.get("kind") in _COPIED:
        annotations.pop(_LAST_APPLIED, None)
    if obj.get("kind") == LynqNode.definition.kind and ANNOTATION_EXTRA in annotations:
        annotations[ANNOTATION_EXTRA] = _masked_extra(annotations[ANNOTATION_EXTRA], hidden)
        if "hostOrUrl" in hidden:
            annotations[ANNOTATION_HOST_OR_URL] = HIDDEN
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    shown["metadata"] = metadata
    return _masked_manifests(shown)


def masked_manifest(manifest: Mapping[str, Any]) -> Object:
    """Return the manifest of a form's resource without literal data of a Secret."""
    shown = dict(manifest)
    if manifest.get("kind") == _SECRET:
        for field in _DATA:
            if isinstance(manifest.get(field), Mapping):
                shown[field] = {
                    key: value if "{{" in str(value) else HIDDEN
                    for key, value in manifest[field].items()
                }
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


def _masked_extra(text: str, hidden: Collection[str]) -> str:
    if not hidden:
        return text
    try:
        values = json.loads(depth_checked(text))
    except ValueError:
        return HIDDEN
    if not isinstance(values, dict):
        return HIDDEN
    return json.dumps(
        {name: HIDDEN if name in hidden else value for name, value in values.items()},
        ensure_ascii=False,
    )
