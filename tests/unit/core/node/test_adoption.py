"""Writes that depend on the metadata of the live object: which, and what becomes of them."""

from typing import Any

import msgspec
import pytest

from lynq.api import ConflictPolicy, CreationPolicy, DeletionPolicy, Metadata, PatchStrategy
from lynq.api.metadata import ManagedFields
from lynq.core.node.adoption import (
    adapted_to,
    needs_dry_run,
    needs_metadata,
    replaces_other_managers,
)
from lynq.core.node.decide import decide
from lynq.core.node.state import ResourceFacts, Write
from unit.core.node.decisions import CONTEXT, adopted_by, but, foreign, settled, without
from unit.core.node.nodes import a_resource, an_owner

MERGE, REPLACE = PatchStrategy.MERGE, PatchStrategy.REPLACE
OTHERS = Metadata(
    resource_version="7",
    managed_fields=[
        ManagedFields(manager=manager, operation="Apply", fields_v1=msgspec.Raw(fields))
        for manager, fields in (("helm", b"{}"), ("lynq-operator", b'{"f:data":{"f:old":{}}}'))
    ],
)


def write_of(facts: ResourceFacts) -> Write:
    write = decide(facts, CONTEXT).write
    assert write is not None
    return write


def drifted(**resource: Any) -> ResourceFacts:
    return without(settled(**resource), "applied-hash")


def retained_with_reference(**resource: Any) -> ResourceFacts:
    """Return a resource whose object has our owner reference, and became Retain."""
    facts = drifted(deletion_policy=DeletionPolicy.RETAIN, **resource)
    return but(facts, owner_uids=(an_owner().uid,))


def orphaned(**resource: Any) -> ResourceFacts:
    return but(settled(**resource), labels={"lynq.sh/orphaned": "true"})


def existing(**resource: Any) -> ResourceFacts:
    return adopted_by(a_resource(**resource), foreign())


@pytest.mark.parametrize(
    ("facts", "needed"),
    [
        pytest.param(orphaned(), True, id="orphan"),
        pytest.param(existing(), False, id="foreign, apply reports conflicts"),
        pytest.param(existing(patch_strategy=MERGE), True, id="foreign, merge"),
        pytest.param(existing(patch_strategy=REPLACE), True, id="foreign, replace"),
        pytest.param(
            existing(patch_strategy=MERGE, conflict_policy=ConflictPolicy.FORCE),
            False,
            id="foreign, forced",
        ),
        pytest.param(retained_with_reference(patch_strategy=MERGE), True, id="merge releases"),
        pytest.param(retained_with_reference(), False, id="apply releases by itself"),
        pytest.param(drifted(patch_strategy=MERGE), False, id="reference stays"),
        pytest.param(
            drifted(patch_strategy=MERGE, deletion_policy=DeletionPolicy.RETAIN),
            False,
            id="no reference to release",
        ),
    ],
)
def test_write_needs_metadata_to_adopt_and_to_release(
    facts: ResourceFacts, *, needed: bool
) -> None:
    assert needs_metadata(write_of(facts), facts, an_owner()) is needed


def test_orphan_that_is_written_once_keeps_its_body() -> None:
    facts = orphaned(creation_policy=CreationPolicy.ONCE)
    write = write_of(facts)
    assert "data" not in write.obj
    assert adapted_to(write, facts, an_owner(), OTHERS) == write


def test_orphan_that_is_written_again_loses_our_dropped_fields() -> None:
    facts = orphaned()
    adapted = adapted_to(write_of(facts), facts, an_owner(), OTHERS)
    assert adapted.obj["data"] == {"plan": "acme", "old": None}


def test_foreign_object_is_written_as_decided() -> None:
    facts = existing(patch_strategy=MERGE)
    assert adapted_to(write_of(facts), facts, an_owner(), OTHERS) == write_of(facts)


@pytest.mark.parametrize(
    ("facts", "needed"),
    [
        pytest.param(orphaned(), True, id="orphan"),
        pytest.param(orphaned(patch_strategy=MERGE), False, id="orphan, merge overwrites"),
        pytest.param(orphaned(conflict_policy=ConflictPolicy.FORCE), False, id="orphan, forced"),
        pytest.param(existing(patch_strategy=MERGE), True, id="foreign, merge"),
        pytest.param(existing(patch_strategy=REPLACE), False, id="foreign, replace"),
        pytest.param(retained_with_reference(patch_strategy=MERGE), False, id="release"),
        pytest.param(retained_with_reference(), False, id="own object"),
    ],
)
def test_dry_run_detects_fields_that_others_own(facts: ResourceFacts, *, needed: bool) -> None:
    write = write_of(facts)
    assert needs_dry_run(write, facts, OTHERS) is needed
    assert not needs_dry_run(write, facts, without_others(OTHERS))


def without_others(metadata: Metadata) -> Metadata:
    """Return the metadata with our own entries only."""
    own = [entry for entry in metadata.managed_fields if entry.manager == "lynq-operator"]
    return msgspec.structs.replace(metadata, managed_fields=own)


@pytest.mark.parametrize(
    ("facts", "refused"),
    [
        (existing(patch_strategy=REPLACE), True),
        (existing(patch_strategy=MERGE), False),
        (drifted(patch_strategy=REPLACE), False),
    ],
)
def test_only_a_foreign_object_is_not_replaced_while_others_own_fields(
    facts: ResourceFacts, *, refused: bool
) -> None:
    write = write_of(facts)
    assert replaces_other_managers(write, OTHERS) is refused
    assert not replaces_other_managers(write, without_others(OTHERS))
