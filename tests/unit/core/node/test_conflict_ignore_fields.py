"""Conflicts of objects with ignoreFields: live values are read before a write."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import ConflictPolicy, PatchStrategy
from lynq.core.node.conflict import (
    Accepted,
    ObserveAgain,
    Refetch,
    on_accepted,
    on_error,
    on_metadata,
    on_refetched,
)
from lynq.core.node.state import ResourceFacts, WriteCause, WriteMethod
from unit.core.node.decisions import but
from unit.core.node.fixtures import desired_by
from unit.core.node.write_attempts import (
    FORCE,
    FOREIGN,
    IGNORED,
    OUTDATED,
    UPDATED,
    begun,
    drifted,
    observed,
    rejection,
    sent,
    sent_version,
)


def test_ignored_values_are_read_again_before_fields_are_forced() -> None:
    facts = drifted(conflict_policy=FORCE, ignore_fields=IGNORED)
    attempt = on_error(begun(facts), FOREIGN)
    assert attempt.action == Refetch()
    rebased = on_refetched(attempt, observed(facts, "2"))
    assert sent(rebased) == (WriteMethod.APPLY, False)
    assert on_accepted(rebased).action == Accepted()
    assert sent(on_error(rebased, FOREIGN)) == (WriteMethod.APPLY, True)


@pytest.mark.parametrize("version", ["1", "gone"])
def test_unchanged_object_with_ignored_fields_is_forced_or_rejected(version: str) -> None:
    for policy in ConflictPolicy:
        facts = drifted(conflict_policy=policy, ignore_fields=IGNORED)
        current = None if version == "gone" else observed(facts, version)
        attempt = on_refetched(on_error(begun(facts), FOREIGN), current)
        if policy is FORCE:
            assert sent(attempt) == (WriteMethod.APPLY, True)
        else:
            assert rejection(attempt) == (True, False)


def unread(**resource: Any) -> ResourceFacts:
    """Return a resource with ignored fields whose live values are unknown."""
    facts = drifted(ignore_fields=IGNORED, **resource)
    return replace(facts, desired=desired_by(facts.resource))


def test_live_values_are_read_before_the_write() -> None:
    facts = unread()
    attempt = begun(facts)
    assert attempt.action == Refetch()
    live = {"data": {"plan": "theirs"}, "metadata": {}}
    read = replace(facts, desired=desired_by(facts.resource, live))
    attempt = on_refetched(attempt, observed(read, "1"))
    assert sent(attempt) == (WriteMethod.APPLY, False)
    assert sent_version(attempt) == "1"
    assert attempt.write.obj["data"] == {"plan": "theirs"}
    assert attempt.write.cause is WriteCause.HASH_LOST


@pytest.mark.parametrize(
    ("strategy", "method"),
    [(PatchStrategy.APPLY, WriteMethod.APPLY_NEW), (PatchStrategy.MERGE, WriteMethod.CREATE)],
)
def test_missing_object_is_created_without_live_values(
    strategy: PatchStrategy, method: WriteMethod
) -> None:
    attempt = begun(replace(unread(patch_strategy=strategy), live=None))
    assert sent(attempt) == (method, False)
    assert not attempt.is_pinned


@pytest.mark.parametrize("change", ["deleted", "re-created", "unread"])
def test_object_without_live_values_is_never_written(change: str) -> None:
    facts = unread()
    read = replace(facts, desired=desired_by(facts.resource, {"metadata": {}}))
    current = {
        "deleted": None,
        "re-created": observed(but(read, uid="2"), "2"),
        "unread": observed(facts, "2"),
    }[change]
    assert isinstance(on_refetched(begun(facts), current).action, ObserveAgain)


def test_outdated_forced_apply_is_decided_again() -> None:
    facts = drifted(conflict_policy=FORCE, ignore_fields=IGNORED)
    forced = on_refetched(on_error(begun(facts), FOREIGN), observed(facts, "1"))
    assert sent(forced) == (WriteMethod.APPLY, True)
    assert sent_version(forced) == "1"
    retried = on_refetched(on_error(forced, OUTDATED), observed(facts, "2"))
    assert sent(retried) == (WriteMethod.APPLY, False)
    again = on_error(retried, FOREIGN)
    assert sent(again) == (WriteMethod.APPLY, True)
    assert sent_version(again) == "2"


def test_apply_after_our_own_migration_is_decided_again() -> None:
    """The migration changes the resourceVersion that the apply is pinned to."""
    facts = drifted(ignore_fields=IGNORED)
    attempt = on_accepted(on_metadata(begun(facts, updated=True), UPDATED))
    retried = on_refetched(on_error(attempt, OUTDATED), observed(facts, "2"))
    assert sent_version(retried) == "2"
