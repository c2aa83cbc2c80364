"""The fields in which two versions of an object differ.

Elements of a list are matched by `name`, as most lists of the API have it, and else by position.
Values that are masked, such as those of Secrets and the row of a LynqNode, are never part of the
result.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lynq.api import LynqNode
from lynq.api.masking import Mask
from lynq.api.names import PREFIX
from lynq.api.node_metadata import SHARD_LABELS
from lynq.core.plan.masking import masked

CHANGED: Final = "(changed)"
"""Stands for a value that is masked."""

_SERVER_FIELDS: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)
"""Fields of the metadata that the API server sets."""


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
    changes = _differences("", _Version(old, masked(old)), _Version(new, masked(new)))
    return tuple(sorted(changes, key=lambda change: change.path))


def masked_fields(changes: Iterable[FieldChange], masks: Sequence[Mask]) -> tuple[FieldChange, ...]:
    """Return the changes with the names of variables for values that the masks know."""
    return tuple(
        FieldChange(each.path, _masked_value(each.before, masks), _masked_value(each.after, masks))
        if masks
        else each
        for each in changes
    )


def _masked_value(value: Any, masks: Sequence[Mask]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        text = value
        for mask in masks:
            # In quotes, the shortest value is masked, too.
            text = mask(f'"{text}"')[1:-1]
        return text if text or not value else CHANGED
    if isinstance(value, Mapping):
        return {key: _masked_value(item, masks) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked_value(item, masks) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return CHANGED if is_number and _masked_value(str(value), masks) != str(value) else value


def literals(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a manifest of a form that no template renders, by their paths."""
    leaves = field_changes(None, manifest)
    return {each.path: each.after for each in leaves if "{{" not in f"{each.path} {each.after}"}


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


class _Version(NamedTuple):
    """A value, and what is shown of it."""

    value: Any
    shown: Any

    @property
    def text(self) -> Any:  # noqa: ANN401 - any JSON value
        return self.value if self.value is None or self.value == self.shown else CHANGED


def _differences(path: str, before: _Version, after: _Version) -> Iterator[FieldChange]:
    if before.value == after.value:
        return
    old, new = _parts(before), _parts(after)
    if old is None or new is None or not (old or new):
        yield FieldChange(path, before.text, after.text)
        return
    absent = _Version(None, None)
    for key in {**old, **new}:
        yield from _differences(_joined(path, key), old.get(key, absent), new.get(key, absent))


def _parts(version: _Version) -> dict[str, _Version] | None:
    parts, shown = _children(version.value), _children(version.shown) or {}
    if parts is None:
        return None
    return {key: _Version(part, shown.get(key)) for key, part in parts.items()}


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
