"""Fields that belong to our field manager: their digest, and the migration from Update to Apply."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from lynq.api import Metadata
from lynq.api.metadata import ManagedFields
from lynq.core.node.managed_fields import (
    has_other_managers,
    has_update_entry,
    migration_patch,
    owned_fields,
    owned_fields_digest,
    unignored_fields_digest,
)

FIELDS = '{"f:a":{},"f:b":{}}'


def entry(
    fields: str = FIELDS,
    *,
    manager: str = "lynq-operator",
    operation: str = "Apply",
    subresource: str = "",
    hour: int = 0,
) -> ManagedFields:
    return ManagedFields(
        manager=manager,
        operation=operation,
        api_version="v1",
        subresource=subresource,
        time=datetime(2026, 1, 1, hour, tzinfo=UTC),
        fields_v1=msgspec.Raw(fields.encode()),
    )


def metadata_with(*entries: ManagedFields) -> Metadata:
    return Metadata(managed_fields=list(entries), resource_version="7")


OWN_DIGEST = owned_fields_digest(metadata_with(entry()))
FOREIGN = entry('{"f:b":{}}', manager="kubectl-edit", operation="Update")
STATUS = entry('{"f:status":{}}', subresource="status", operation="Update")


@pytest.mark.parametrize(
    "metadata",
    [
        metadata_with(entry(hour=5)),
        metadata_with(entry(), FOREIGN),
        metadata_with(FOREIGN, entry()),
        metadata_with(entry(), STATUS),
    ],
    ids=["later time", "foreign entry", "foreign entry first", "our status entry"],
)
def test_digest_is_unchanged_while_our_entries_are(metadata: Metadata) -> None:
    assert owned_fields_digest(metadata) == OWN_DIGEST


@pytest.mark.parametrize(
    "metadata",
    [
        metadata_with(entry('{"f:a":{}}'), FOREIGN),
        metadata_with(entry(operation="Update")),
        metadata_with(entry(), entry("{}")),
    ],
    ids=["field taken", "by Update", "two entries"],
)
def test_digest_changes_with_our_entries(metadata: Metadata) -> None:
    assert owned_fields_digest(metadata) not in {OWN_DIGEST, b""}


@pytest.mark.parametrize(
    "metadata", [metadata_with(), metadata_with(FOREIGN), metadata_with(STATUS)]
)
def test_digest_is_empty_without_entries_of_ours(metadata: Metadata) -> None:
    assert owned_fields_digest(metadata) == b""


def test_only_our_own_update_entry_counts() -> None:
    assert has_update_entry(metadata_with(entry(operation="Update")))
    assert not has_update_entry(metadata_with(entry(), FOREIGN, STATUS))


def test_other_managers_are_those_with_fields_outside_of_subresources() -> None:
    assert has_other_managers(metadata_with(entry(), FOREIGN))
    status = entry(manager="kube-controller-manager", operation="Update", subresource="status")
    assert not has_other_managers(metadata_with(entry(), status))


def test_owned_fields_are_the_union_of_apply_and_update() -> None:
    updated = entry('{"f:a":{"f:x":{}}}', operation="Update")
    assert owned_fields(metadata_with(entry(), updated, FOREIGN, STATUS)) == {
        "f:a": {"f:x": {}},
        "f:b": {},
    }


@pytest.mark.parametrize("metadata", [metadata_with(entry(), FOREIGN, STATUS), metadata_with()])
def test_nothing_is_migrated_without_an_update_entry(metadata: Metadata) -> None:
    assert migration_patch(metadata) is None


def test_migration_joins_our_entries_and_keeps_the_others() -> None:
    updated = entry('{"f:c":{}}', operation="Update", hour=3)
    patch = migration_patch(metadata_with(FOREIGN, entry(), updated, STATUS))
    assert patch is not None
    assert patch["metadata"]["resourceVersion"] == "7"
    own, *others = patch["metadata"]["managedFields"]
    assert (own["manager"], own["operation"]) == ("lynq-operator", "Apply")
    assert own["fieldsV1"] == {"f:a": {}, "f:b": {}, "f:c": {}}
    assert [(other["manager"], other.get("subresource", "")) for other in others] == [
        ("kubectl-edit", ""),
        ("lynq-operator", "status"),
    ]


def test_migrated_metadata_has_nothing_left_to_migrate() -> None:
    patch = migration_patch(metadata_with(entry(operation="Update"), FOREIGN))
    assert patch is not None
    migrated = msgspec.json.decode(msgspec.json.encode(patch["metadata"]), type=Metadata)
    assert not has_update_entry(migrated)


OWNED = '{"f:spec":{"f:replicas":{},"f:paused":{}}}'
REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}


def without_ignored(fields: str, ignored: dict[str, Any]) -> bytes:
    return unignored_fields_digest(metadata_with(entry(fields)), ignored)


def test_digest_is_unchanged_when_an_ignored_field_is_taken() -> None:
    taken = without_ignored('{"f:spec":{"f:paused":{}}}', REPLICAS)
    assert taken == without_ignored(OWNED, REPLICAS)
    assert taken != without_ignored(OWNED, {})


def test_digest_changes_when_another_field_is_taken() -> None:
    taken = without_ignored('{"f:spec":{"f:replicas":{}}}', REPLICAS)
    assert taken != without_ignored(OWNED, REPLICAS)
    assert unignored_fields_digest(metadata_with(FOREIGN), REPLICAS) == b""


def test_digest_without_ignored_fields_changes_when_fields_are_owned_by_update() -> None:
    updated = metadata_with(entry(OWNED, operation="Update"))
    assert unignored_fields_digest(updated, REPLICAS) != without_ignored(OWNED, REPLICAS)


@pytest.mark.parametrize(
    "mark", ['"f:labels":{"f:lynq.sh/node":{}}', '"f:annotations":{"f:lynq.sh/deletion-policy":{}}']
)
def test_our_labels_and_annotations_are_never_ignored(mark: str) -> None:
    ignored: dict[str, Any] = {"f:metadata": {}}
    marked = without_ignored(f'{{"f:metadata":{{{mark}}}}}', ignored)
    assert marked != without_ignored('{"f:metadata":{}}', ignored)
    other = '{"f:metadata":{"f:labels":{"f:team":{}}}}'
    assert without_ignored(other, ignored) == without_ignored('{"f:metadata":{}}', ignored)
