"""The fields in which two versions of an object differ.

Elements of a list are matched by `name`, as most lists of the API have it, and else by position.
Values of Secrets are never part of the result.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lynq.api import LynqNode
from lynq.api.names import PREFIX
from lynq.api.node_metadata import SHARD_LABELS

HIDDEN: Final = "(changed)"
"""Stands for a value of a Secret."""

_SERVER_FIELDS: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)
"""Fields of the metadata that the API server sets."""
_SECRET_FIELDS: Final = frozenset({"data", "stringData"})
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field: its path and its values; None if it is absent."""

    path: str
    before: Any
    after: Any

    @property
    def is_bookkeeping(self) -> bool:
        """Whether the field is a label or annotation of Lynq, which people need not review."""
        _, found, key = self.path.partition("[")
        return self.path.startswith("metadata.") and bool(found) and key.startswith(PREFIX)


def field_changes(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> tuple[FieldChange, ...]:
    """Return the fields that differ, in the order of their paths.

    The status and the labels of nodes for shards do not count.
    """
    old, new = _content(before), _content(after)
    changes = _differences("", old, new)
    if (new or old).get("kind") == "Secret":
        changes = map(_without_value, changes)
    return tuple(sorted(changes, key=lambda change: change.path))


def _content(obj: Mapping[str, Any] | None) -> dict[str, Any]:
    if obj is None:
        return {}
    content = {key: value for key, value in obj.items() if key != "status"}
    metadata = content.get("metadata")
    if isinstance(metadata, Mapping):
        content["metadata"] = {
            key: value for key, value in metadata.items() if key not in _SERVER_FIELDS
        }
        if content.get("kind") == LynqNode.definition.kind:
            labels = metadata.get("labels") or {}
            kept = {key: value for key, value in labels.items() if key not in SHARD_LABELS}
            content["metadata"]["labels"] = kept or None
    return content


def _differences(path: str, before: Any, after: Any) -> Iterator[FieldChange]:  # noqa: ANN401
    if before == after:
        return
    old, new = _children(before), _children(after)
    if old is None or new is None or not (old or new):
        yield FieldChange(path, before, after)
        return
    for key in {**old, **new}:
        yield from _differences(_joined(path, key), old.get(key), new.get(key))


def _children(value: Any) -> dict[str, Any] | None:  # noqa: ANN401
    """Return the parts of a mapping or list by the end of their path; None for a scalar."""
    match value:
        case None:
            return {}
        case Mapping():
            return {str(key): child for key, child in value.items()}
        case list() if value and all(
            isinstance(item, Mapping) and "name" in item for item in value
        ):
            return {f"[name={item['name']}]": item for item in value}
        case list():
            return {f"[{number}]": item for number, item in enumerate(value)}
        case _:
            return None


def _joined(path: str, key: str) -> str:
    if key.startswith("["):
        return f"{path}{key}"
    if "." in key or "/" in key:
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _without_value(change: FieldChange) -> FieldChange:
    top = change.path.partition(".")[0].partition("[")[0]
    if top not in _SECRET_FIELDS and _LAST_APPLIED not in change.path:
        return change
    return FieldChange(
        change.path,
        None if change.before is None else HIDDEN,
        None if change.after is None else HIDDEN,
    )
