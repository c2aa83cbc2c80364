"""Which manager owns which fields: server-side apply, and the traces of other writes.

The rules are those of structured-merge-diff. Each manager has one entry per operation, subresource
and, for an Update, apiVersion. An apply owns the fields of its manifest; a field that is no longer
in it is removed, unless another manager owns it. An apply that changes a field of another manager
is a conflict. Any other write takes the fields that it changes.

A difference from the API server: the number of Update entries is not limited to ten.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from memory.field_sets import (
    FieldSet,
    compare,
    decoded,
    fields_of,
    merged,
    named_members,
    without,
)
from memory.kinds import ServedKind
from memory.statuses import apply_conflict

Body = dict[str, Any]

APPLY: Final = "Apply"
UPDATE: Final = "Update"
_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_SYSTEM: Final = FieldSet(
    {"f:apiVersion", "f:kind", "f:metadata"},
    {
        "f:metadata": FieldSet(
            {
                f"f:{key}"
                for key in (
                    "creationTimestamp",
                    "deletionGracePeriodSeconds",
                    "deletionTimestamp",
                    "generation",
                    "managedFields",
                    "name",
                    "namespace",
                    "resourceVersion",
                    "selfLink",
                    "uid",
                )
            }
        )
    },
)
"""The fields that no manager owns."""


class Manager(NamedTuple):
    """The identity of an entry of managedFields."""

    name: str
    operation: str
    subresource: str = ""
    api_version: str = ""
    """Of an Update; an Apply has one entry, whatever its version."""

    def __str__(self) -> str:
        """Return the manager as a conflict names it."""
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


@dataclass(frozen=True, slots=True)
class _Entry:
    fields: FieldSet
    api_version: str
    time: str


_Entries = dict[Manager, _Entry]


@dataclass(frozen=True, slots=True)
class Writer:
    """The manager that writes, the version of its manifest, and the time."""

    manager: str
    api_version: str
    time: str
    subresource: str = ""


def applied(
    kind: ServedKind, live: Body | None, config: Body, writer: Writer, *, force: bool
) -> Body:
    """Return the live object with an applied manifest, and its managedFields.

    Raises Refused with the fields of other managers that would change.
    """
    me = Manager(writer.manager, APPLY, writer.subresource)
    before = _content(live or kind.blank)
    entries = _entries_of(live or {})
    if live is not None and not entries:
        all_fields = fields_of(before, kind.fields) - _SYSTEM
        first = Manager(_BEFORE_FIRST_APPLY, UPDATE, "", writer.api_version)
        entries[first] = _Entry(all_fields, writer.api_version, writer.time)
    last = entries.get(me)
    fields = (fields_of(config, kind.fields) - _SYSTEM).outside(
        kind.reset_fields(writer.subresource)
    )
    entries[me] = _Entry(fields, writer.api_version, writer.time)
    content = merged(before, config, kind.fields)
    if last is not None:
        content = _pruned(content, last.fields, entries, kind)
    change = compare(kind.typed(before), kind.typed(content), kind.fields)
    others = [manager for manager in entries if manager != me]
    if not force:
        conflicts = [
            (str(manager), path)
            for manager in sorted(others)
            for path in (entries[manager].fields & change.written).paths()
        ]
        if conflicts:
            raise apply_conflict(conflicts)
    _take(entries, others, change.written | change.removed)
    if not fields:
        del entries[me]
    elif not (change.written or change.removed):
        # Only a write that changes a value sets the time.
        time = last.time if last else ""
        entries[me] = _Entry(fields, writer.api_version, time)
    return _with_entries(content, entries)


def updated(kind: ServedKind, live: Body | None, new: Body, writer: Writer) -> Body:
    """Return an object that is created, replaced or patched, and its managedFields.

    managedFields in the new object replace those of the live one, unless a subresource is written.
    """
    me = Manager(writer.manager, UPDATE, writer.subresource, writer.api_version)
    sent = new.get("metadata", {}).get("managedFields")
    if sent == [{}] or (live is not None and sent == [] and not writer.subresource):
        # A reset: nothing is tracked until the next apply.
        return _with_entries(_content(new), {})
    entries = _entries_of(new) if sent and not writer.subresource and live else {}
    entries = entries or _entries_of(live or {})
    if live is not None and not entries:
        return _with_entries(_content(new), {})
    before, after = _content(live or kind.blank), _content(new)
    change = compare(kind.typed(before), kind.typed(after), kind.fields)
    written = (change.written - _SYSTEM).outside(kind.reset_fields(writer.subresource))
    _take(entries, list(entries), written | change.removed)
    if written:
        previous = entries.get(me)
        fields = written | previous.fields if previous else written
        entries[me] = _Entry(fields, writer.api_version, writer.time)
    return _with_entries(after, entries)


def differs(old: Body, new: Body) -> bool:
    """Return whether an object differs in more than the times of its managedFields."""
    return _without_times(old) != _without_times(new)


def _without_times(obj: Body) -> Body:
    metadata = dict(obj.get("metadata", {}))
    entries = metadata.pop("managedFields", ())
    metadata["managedFields"] = [{**entry, "time": ""} for entry in entries]
    metadata.pop("resourceVersion", None)
    return {**obj, "metadata": metadata}


def _pruned(content: Body, last: FieldSet, entries: _Entries, kind: ServedKind) -> Body:
    """Return the object without the fields that the manager gave up and that no other owns."""
    managed = FieldSet()
    for entry in entries.values():
        managed = managed | entry.fields
    managed = named_members(managed, kind.fields)
    gone = named_members(last, kind.fields) - managed - _SYSTEM
    result: Body | None = without(content, gone, kind.fields)
    return result or {}


def _take(entries: _Entries, managers: Iterable[Manager], fields: FieldSet) -> None:
    """Remove fields from the entries of these managers, and the entries that become empty."""
    for manager in managers:
        left = entries[manager].fields - fields
        if left:
            entry = entries[manager]
            entries[manager] = _Entry(left, entry.api_version, entry.time)
        else:
            del entries[manager]


def _content(obj: Body) -> Body:
    """Return the object without managedFields."""
    metadata = {
        key: value for key, value in (obj.get("metadata") or {}).items() if key != "managedFields"
    }
    return {**obj, "metadata": metadata}


def _entries_of(obj: Body) -> _Entries:
    entries: _Entries = {}
    for entry in obj.get("metadata", {}).get("managedFields") or ():
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        manager = Manager(
            entry.get("manager", ""),
            operation,
            entry.get("subresource", ""),
            version if operation == UPDATE else "",
        )
        fields = decoded(entry.get("fieldsV1") or {})
        entries[manager] = _Entry(fields, version, entry.get("time", ""))
    return entries


def _with_entries(obj: Body, entries: Mapping[Manager, _Entry]) -> Body:
    def order(item: tuple[Manager, _Entry]) -> tuple[str, ...]:
        manager, entry = item
        return (manager.operation, entry.time, manager.name, entry.api_version, manager.subresource)

    listed = []
    for manager, entry in sorted(entries.items(), key=order):
        encoded: Body = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": entry.api_version,
            **({"time": entry.time} if entry.time else {}),
            "fieldsType": "FieldsV1",
            "fieldsV1": entry.fields.encoded(),
        }
        if manager.subresource:
            encoded["subresource"] = manager.subresource
        listed.append(encoded)
    metadata = {**obj["metadata"], **({"managedFields": listed} if listed else {})}
    return {**obj, "metadata": metadata}
