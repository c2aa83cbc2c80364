"""What an outline keeps of an object, and when its digest changes."""

from datetime import UTC, datetime

import msgspec
import pytest

from lynq.kube.objects import ManagedFields, Metadata, OwnerReference, Partial
from lynq.kube.outline import outline_for

outline = outline_for("lynq-operator")


def entry(
    fields: str,
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


def digest(*entries: ManagedFields) -> bytes:
    return outline(Partial(metadata=Metadata(managed_fields=list(entries)))).digest


def test_an_outline_keeps_what_tells_objects_apart_and_whose_they_are() -> None:
    metadata = Metadata(
        name="a",
        uid="u",
        resource_version="7",
        generation=3,
        labels={"lynq.sh/hub": "red"},
        annotations={"lynq.sh/applied-hash": "abc"},
        owner_references=[OwnerReference(uid="o1"), OwnerReference(uid="o2")],
        finalizers=["lynq.sh/f"],
        deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    )
    found = outline(Partial(metadata=metadata))
    assert (found.uid, found.resource_version, found.generation) == ("u", "7", 3)
    assert found.labels == {"lynq.sh/hub": "red"}
    assert found.annotations == {"lynq.sh/applied-hash": "abc"}
    assert found.owners == ("o1", "o2")
    assert found.finalizers == ("lynq.sh/f",)
    assert found.deleting
    assert found.digest == b""


def test_the_digest_changes_when_a_field_of_ours_is_taken() -> None:
    assert digest(entry('{"f:a":{},"f:b":{}}')) != digest(entry('{"f:a":{}}')) != b""


@pytest.mark.parametrize(
    "other",
    [
        entry("{}", manager="kubectl"),
        entry("{}", operation="Update"),
        entry("{}", subresource="status"),
    ],
)
def test_the_digest_does_not_depend_on_what_others_do(other: ManagedFields) -> None:
    assert digest(entry('{"f:a":{}}'), other) == digest(entry('{"f:a":{}}'))


def test_the_digest_does_not_depend_on_when_we_applied() -> None:
    assert digest(entry('{"f:a":{}}', hour=1)) == digest(entry('{"f:a":{}}', hour=2))


def test_equal_labels_of_different_objects_share_their_strings() -> None:
    first, second = (
        outline(msgspec.json.decode(b'{"metadata":{"labels":{"hub":"customers"}}}', type=Partial))
        for _ in range(2)
    )
    assert first.labels["hub"] is second.labels["hub"]
