"""Whose the fields of an object are, and when the digest of ours is another."""

from datetime import UTC, datetime

import msgspec
import pytest

from lynq.api import Metadata
from lynq.api.metadata import ManagedFields
from lynq.controllers.managed_fields import digest_of_ours, updated_by_us, written_by_others

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


def of(*entries: ManagedFields) -> Metadata:
    return Metadata(managed_fields=list(entries))


OURS = digest_of_ours(of(entry()))
THEIRS = entry('{"f:b":{}}', manager="kubectl-edit", operation="Update")
STATUS = entry('{"f:status":{}}', subresource="status", operation="Update")


@pytest.mark.parametrize(
    "known",
    [of(entry(hour=5)), of(entry(), THEIRS), of(THEIRS, entry()), of(entry(), STATUS)],
    ids=["later", "theirs too", "theirs first", "our status"],
)
def test_what_takes_nothing_from_us_leaves_the_digest(known: Metadata) -> None:
    assert digest_of_ours(known) == OURS


@pytest.mark.parametrize(
    "known",
    [of(entry('{"f:a":{}}'), THEIRS), of(entry(operation="Update")), of(entry(), entry("{}"))],
    ids=["a field taken", "by update", "two entries"],
)
def test_what_changes_our_entries_changes_the_digest(known: Metadata) -> None:
    assert digest_of_ours(known) not in {OURS, b""}


@pytest.mark.parametrize("known", [of(), of(THEIRS), of(STATUS)])
def test_an_object_of_which_we_own_nothing_has_none(known: Metadata) -> None:
    assert digest_of_ours(known) == b""


def test_only_an_update_of_ours_counts_as_one() -> None:
    assert updated_by_us(of(entry(operation="Update")))
    assert not updated_by_us(of(entry(), THEIRS, STATUS))


def test_others_are_those_with_fields_beside_the_status() -> None:
    assert written_by_others(of(entry(), THEIRS))
    theirs = entry(manager="kube-controller-manager", operation="Update", subresource="status")
    assert not written_by_others(of(entry(), theirs))
