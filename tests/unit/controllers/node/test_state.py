"""WriteHistory: the record of our own writes, and the back-off of repeated and rejected ones."""

from datetime import timedelta

from msgspec.structs import replace

from lynq.controllers.node.state import (
    GoneObjects,
    NodePass,
    NodeState,
    NodeStates,
    PruneState,
    WriteHistory,
)
from lynq.core.node.objects import ObjectRef
from lynq.core.node.state import LastWrite, WriteCause, WriteRejection
from unit.core.node.nodes import NOW, a_node

REF = ObjectRef("v1", "ConfigMap", "shop", "acme-config")


def backoff(last_write: LastWrite, elapsed: timedelta = timedelta(0)) -> float:
    """Return the seconds until the same content may be written again."""
    not_before = last_write.not_before
    return (not_before - NOW - elapsed).total_seconds() if not_before else 0.0


def test_first_write_has_no_backoff() -> None:
    history = WriteHistory()
    assert backoff(history.record_write(REF, "hash", b"digest", WriteCause.MISSING, NOW)) == 0


def test_reverted_write_is_repeated_with_growing_backoff() -> None:
    history = WriteHistory()
    history.record_write(REF, "hash", b"", WriteCause.MISSING, NOW)
    backoffs = [
        backoff(history.record_write(REF, "hash", b"", WriteCause.FIELDS_TAKEN, NOW))
        for _ in range(8)
    ]
    assert backoffs == [1, 2, 4, 8, 16, 32, 60, 60]


def test_new_content_has_no_backoff() -> None:
    history = WriteHistory()
    history.record_write(REF, "hash", b"", WriteCause.MISSING, NOW)
    history.record_write(REF, "hash", b"", WriteCause.FIELDS_TAKEN, NOW)
    assert backoff(history.record_write(REF, "other", b"", WriteCause.CHANGED, NOW)) == 0


def test_revert_after_a_quiet_time_starts_a_new_backoff() -> None:
    history, later = WriteHistory(), timedelta(minutes=6)
    history.record_write(REF, "hash", b"", WriteCause.MISSING, NOW)
    for _ in range(5):
        history.record_write(REF, "hash", b"", WriteCause.FIELDS_TAKEN, NOW)
    last_write = history.record_write(REF, "hash", b"", WriteCause.FIELDS_TAKEN, NOW + later)
    assert backoff(last_write, later) == 1


def test_rejected_write_is_retried_with_growing_backoff() -> None:
    history = WriteHistory()
    backoffs = [
        backoff(history.record_rejection(REF, "hash", WriteRejection("no"), NOW)) for _ in range(7)
    ]
    assert backoffs == [1, 2, 4, 8, 16, 30, 30]
    assert backoff(history.record_rejection(REF, "other", WriteRejection("no"), NOW)) == 1


def test_new_generation_forgets_rejections() -> None:
    state, node, other = NodeState("1"), a_node(), REF._replace(name="other")
    state.reset_on_new_generation(node)
    state.writes.record_rejection(REF, "hash", WriteRejection("no"), NOW)
    state.writes.record_write(other, "hash", b"", WriteCause.MISSING, NOW)
    state.reset_on_new_generation(node)
    assert state.writes.last_write(REF) is not None
    newer = replace(node.metadata, generation=node.metadata.generation + 1)
    state.reset_on_new_generation(replace(node, metadata=newer))
    assert state.writes.last_write(REF) is None
    assert state.writes.last_write(other) is not None


def test_objects_that_left_the_node_are_forgotten() -> None:
    history, other = WriteHistory(), REF._replace(name="other")
    for ref in (REF, other):
        history.record_write(ref, "hash", b"", WriteCause.MISSING, NOW)
    history.keep_only({REF})
    assert history.last_write(REF) is not None
    assert history.last_write(other) is None


def test_forgotten_node_starts_with_empty_state() -> None:
    states, node = NodeStates(), a_node()
    states.of(node).writes.record_write(REF, "hash", b"", WriteCause.MISSING, NOW)
    assert states.of(node).writes.last_write(REF) is not None
    states.forget(node.metadata.key)
    assert states.of(node).writes.last_write(REF) is None


def test_rejection_counts_as_transient_for_thirty_seconds() -> None:
    history, transient = WriteHistory(), WriteRejection("503", is_transient=True)
    rejections = [
        history.record_rejection(REF, "a", transient, NOW + timedelta(seconds=seconds)).rejection
        for seconds in (0, 10, 29, 31, 60)
    ]
    assert [rejection and rejection.is_transient for rejection in rejections] == [
        True,
        True,
        True,
        False,
        False,
    ]
    history.record_write(REF, "a", b"", WriteCause.REJECTED, NOW + timedelta(seconds=61))
    later = history.record_rejection(REF, "a", transient, NOW + timedelta(seconds=90)).rejection
    assert later == transient


def test_finalizer_goes_on_with_the_objects_that_a_reconcile_found_gone() -> None:
    state, node = NodeState("1"), a_node()
    NodePass.for_reconcile(node, state, 0.0).gone.absent.add(REF)
    assert NodePass.for_finalizer(node, state, 0.0).gone.absent == {REF}
    NodePass.for_finalizer(node, state, 0.0).gone.released.add("2")
    assert NodePass.for_finalizer(node, state, 0.0).gone.released == {"2"}


def test_reconcile_begins_with_no_object_that_is_gone() -> None:
    state, node = NodeState("1"), a_node()
    NodePass.for_reconcile(node, state, 0.0).gone.absent.add(REF)
    assert NodePass.for_reconcile(node, state, 0.0).gone == GoneObjects()


def test_kind_is_unserved_when_two_complete_discoveries_agree() -> None:
    state, ref = PruneState(), ObjectRef("example.com/v1", "Gadget", "space", "one")
    assert not state.is_confirmed_unserved(ref, 100.0)
    assert not state.is_confirmed_unserved(ref, 104.9)
    assert not state.is_confirmed_unserved(ref, None)
    assert state.is_confirmed_unserved(ref, 105.0)
