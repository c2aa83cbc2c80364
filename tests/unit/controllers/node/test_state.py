"""What is remembered of our own writes, and how often the same is written again."""

from datetime import timedelta

from msgspec.structs import replace

from lynq.controllers.node.state import NodeState, NodeStates
from lynq.core.node.objects import ObjectRef
from lynq.core.node.state import LastWrite, WriteCause, WriteRejection
from unit.core.node.nodes import NOW, a_node

REF = ObjectRef("v1", "ConfigMap", "shop", "acme-config")


def pause(memory: LastWrite, now: timedelta = timedelta(0)) -> float:
    """Return the seconds until the same content may be written again."""
    return (memory.not_before - NOW - now).total_seconds() if memory.not_before else 0.0


def test_a_first_write_needs_no_pause() -> None:
    memory = NodeState("1")
    assert pause(memory.took(REF, "hash", b"digest", WriteCause.MISSING, NOW)) == 0


def test_what_others_undo_is_written_at_growing_intervals() -> None:
    memory = NodeState("1")
    memory.took(REF, "hash", b"", WriteCause.MISSING, NOW)
    undone = [pause(memory.took(REF, "hash", b"", WriteCause.FIELDS_TAKEN, NOW)) for _ in range(8)]
    assert undone == [1, 2, 4, 8, 16, 32, 60, 60]


def test_new_content_is_no_fight() -> None:
    memory = NodeState("1")
    memory.took(REF, "hash", b"", WriteCause.MISSING, NOW)
    memory.took(REF, "hash", b"", WriteCause.FIELDS_TAKEN, NOW)
    assert pause(memory.took(REF, "other", b"", WriteCause.CHANGED, NOW)) == 0


def test_after_a_quiet_time_a_change_of_others_is_undone_at_once() -> None:
    memory, later = NodeState("1"), timedelta(minutes=6)
    memory.took(REF, "hash", b"", WriteCause.MISSING, NOW)
    for _ in range(5):
        memory.took(REF, "hash", b"", WriteCause.FIELDS_TAKEN, NOW)
    assert pause(memory.took(REF, "hash", b"", WriteCause.FIELDS_TAKEN, NOW + later), later) == 1


def test_what_is_refused_is_tried_at_growing_intervals() -> None:
    memory = NodeState("1")
    refused = [pause(memory.refused(REF, "hash", WriteRejection("no"), NOW)) for _ in range(7)]
    assert refused == [1, 2, 4, 8, 16, 30, 30]
    assert pause(memory.refused(REF, "other", WriteRejection("no"), NOW)) == 1


def test_what_was_refused_under_another_spec_is_tried_again_at_once() -> None:
    memory, node, other = NodeState("1"), a_node(), REF._replace(name="other")
    memory.begin(node)
    memory.refused(REF, "hash", WriteRejection("no"), NOW)
    memory.took(other, "hash", b"", WriteCause.MISSING, NOW)
    memory.begin(node)
    assert memory.of(REF) is not None
    newer = replace(node.metadata, generation=node.metadata.generation + 1)
    memory.begin(replace(node, metadata=newer))
    assert memory.of(REF) is None
    assert memory.of(other) is not None


def test_objects_that_are_not_the_nodes_any_more_are_forgotten() -> None:
    memory, other = NodeState("1"), REF._replace(name="other")
    for ref in (REF, other):
        memory.took(ref, "hash", b"", WriteCause.MISSING, NOW)
    memory.keep_only({REF})
    assert memory.of(REF) is not None
    assert memory.of(other) is None


def test_a_node_made_anew_starts_without_memory() -> None:
    memories, node = NodeStates(), a_node()
    memories.of(node).took(REF, "hash", b"", WriteCause.MISSING, NOW)
    assert memories.of(node).of(REF) is not None
    memories.forget(node.metadata.key)
    assert memories.of(node).of(REF) is None


def test_a_hiccup_is_put_up_with_for_half_a_minute() -> None:
    memory, passing = NodeState("7"), WriteRejection("503", is_passing=True)
    borne = [
        memory.refused(REF, "a", passing, NOW + timedelta(seconds=seconds)).refusal
        for seconds in (0, 10, 29, 31, 60)
    ]
    assert [each and each.is_passing for each in borne] == [True, True, True, False, False]
    memory.took(REF, "a", b"", WriteCause.REFUSED, NOW + timedelta(seconds=61))
    again = memory.refused(REF, "a", passing, NOW + timedelta(seconds=90)).refusal
    assert again == passing
