"""A Namespace is deleted only if nothing in it has to stay, and before nothing is released."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import DeletionPolicy
from lynq.api.reasons import OrphanReason
from lynq.core.graph.model import Entry
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.namespace_use import (
    UNUSED,
    NamespaceUse,
    Resident,
    combined,
    unreadable,
    use_of,
)
from lynq.core.node.objects import LiveObject, ObjectRef
from lynq.core.node.ownership import tracking_id
from lynq.core.node.prune import (
    ObjectDeletion,
    PruneCandidate,
    PruneStep,
    next_prune_step,
    with_uses,
)
from lynq.core.readiness.verdict import READY
from unit.core.node.nodes import an_owner

SPACE = ObjectRef("v1", "Namespace", "", "acme")
REF = ObjectRef("v1", "PersistentVolumeClaim", "acme", "data")
OWNER = an_owner()
ORPHAN: dict[str, Any] = {"labels": {"lynq.sh/orphaned": "true"}}
ADOPTED: dict[str, Any] = {"annotations": {"lynq.sh/adopted": "true"}}
RETAINED: dict[str, Any] = {"annotations": {"lynq.sh/deletion-policy": "Retain"}}


def live(ref: ObjectRef = REF, **more: Any) -> LiveObject:
    """Return an object of the node."""
    proof = {"lynq.sh/tracking-id": tracking_id(ref, OWNER)}
    annotations = proof | more.pop("annotations", {})
    return LiveObject(uid=ref.name, readiness=READY, annotations=annotations, **more)


def candidate(ref: ObjectRef = REF, **more: Any) -> PruneCandidate:
    return PruneCandidate(InventoryItem(ref.name, ref), live(ref), **more)


@pytest.mark.parametrize(
    ("resident", "use"),
    [
        (Resident(REF, live()), UNUSED),
        (Resident(REF, live(**ORPHAN)), NamespaceUse(f"{REF} was retained")),
        (Resident(REF, live(**ADOPTED)), NamespaceUse(f"{REF} existed before")),
        (Resident(REF, live(**RETAINED)), NamespaceUse(f"{REF} has deletionPolicy Retain")),
        (
            Resident(REF, live(**RETAINED), 'LynqNode "shop/b"'),
            NamespaceUse(held_until=f'{REF} is gone, which belongs to LynqNode "shop/b"'),
        ),
        (
            Resident(REF, live(), is_own=True),
            NamespaceUse(held_until=f"{REF} is gone, which this LynqNode desires"),
        ),
        (Resident(REF, live(is_deleting=True, **ORPHAN)), UNUSED),
    ],
)
def test_object_keeps_its_namespace(resident: Resident, use: NamespaceUse) -> None:
    assert use_of([Resident(REF, live()), resident]) == use


def test_what_stays_for_good_comes_first() -> None:
    held, kept = NamespaceUse(held_until="later"), NamespaceUse(retained_for="data")
    assert combined([held, kept, UNUSED]) == combined([kept, held]) == kept
    assert combined([UNUSED, held]) == held
    assert combined([]) == UNUSED


def test_namespace_that_cannot_be_read_stays() -> None:
    assert unreadable("forbidden").held_until == "the objects in it can be read: forbidden"


@pytest.mark.parametrize(
    ("use", "deletions", "message"),
    [
        (UNUSED, [(False, "")], "being deleted"),
        (
            NamespaceUse("data stays"),
            [(True, "data stays")],
            "being retained as an orphan, because data stays",
        ),
        (NamespaceUse(held_until="later"), [], "no longer desired; kept until later"),
    ],
)
def test_use_decides_about_the_namespace(
    use: NamespaceUse, deletions: list[tuple[bool, str]], message: str
) -> None:
    candidates = with_uses([candidate(SPACE)], {SPACE: use})
    step = next_prune_step((), candidates, OWNER, OrphanReason.LYNQ_NODE_DELETED)
    assert [(each.retain, each.retained_for) for each in step.deletions] == deletions
    assert [outcome.message for outcome in step.outcomes] == [message]
    assert bool(step.deleted_namespaces(())) == (use == UNUSED)
    assert step.deleted_namespaces({SPACE}) == ()


def step_of(*candidates: PruneCandidate) -> PruneStep:
    return next_prune_step((), candidates, OWNER, OrphanReason.LYNQ_NODE_DELETED)


def test_namespace_that_is_held_stays_without_a_use() -> None:
    step = step_of(candidate(SPACE, held_until="later"))
    assert step.deletions == ()
    assert [outcome.message for outcome in step.outcomes] == ["no longer desired; kept until later"]


def test_object_that_is_being_deleted_keeps_no_namespace() -> None:
    going = replace(candidate(), live=live(is_deleting=True, **RETAINED))
    assert step_of(candidate(SPACE), going).deleted_namespaces(()) == (SPACE,)


def test_namespace_that_stays_by_itself_stays_for_no_object() -> None:
    kept = candidate(policy=DeletionPolicy.RETAIN)
    own = candidate(SPACE, policy=DeletionPolicy.RETAIN)
    adopted = replace(candidate(SPACE), live=live(SPACE, **ADOPTED))
    for space in (own, adopted):
        (deletion,) = step_of(space, kept).deletions
        assert (deletion.item.ref, deletion.retained_for) == (SPACE, "")
        assert (deletion.retain, deletion.release) == (space is own, space is adopted)
        assert step_of(space).deleted_namespaces(()) == ()


FATES = ["deleted", "retained", "adopted", "held", "unobserved", "handed over"]


def with_fate(fate: str, ref: ObjectRef) -> PruneCandidate:
    """Return an object in the Namespace that the node prunes."""
    if fate == "adopted":
        return replace(candidate(ref), live=live(ref, **ADOPTED))
    changes: dict[str, dict[str, Any]] = {
        "retained": {"policy": DeletionPolicy.RETAIN},
        "held": {"held_until": "later"},
        "unobserved": {"live": None, "is_unobserved": True, "problem": "no watch"},
        "handed over": {"contender": 'LynqNode "shop/b"'},
    }
    return replace(candidate(ref), **changes.get(fate, {}))


OTHERS: dict[str, Resident] = {
    "nothing": Resident(REF, live(is_deleting=True)),
    "an orphan": Resident(REF, live(**ORPHAN)),
    "another node's": Resident(REF, live(), 'LynqNode "shop/b"'),
}


@given(
    fates=st.dictionaries(st.sampled_from("abcd"), st.sampled_from(FATES)),
    other=st.sampled_from([*OTHERS]),
    depends=st.booleans(),
    has_ids=st.booleans(),
)
def test_namespace_outlives_what_has_to_stay(
    *, fates: dict[str, str], other: str, depends: bool, has_ids: bool
) -> None:
    """The Namespace is the node's; so is what is in it, but one object that is read."""
    entries = [Entry("acme"), *(Entry(name, ("acme",) if depends else ()) for name in fates)]
    candidates = {name: with_fate(fate, REF._replace(name=name)) for name, fate in fates.items()}
    candidates["acme"] = candidate(SPACE)
    if not has_ids:
        # Objects that no inventory lists have no id.
        candidates = {
            name: replace(each, item=InventoryItem("", each.item.ref, is_listed=False))
            for name, each in candidates.items()
        }
    stay = {name for name, fate in fates.items() if fate in ("retained", "adopted")}
    gone: dict[str, str] = {}
    while True:
        known = list(candidates.values())
        step = next_prune_step(entries, known, OWNER, OrphanReason.LYNQ_NODE_DELETED)
        if step.deleted_namespaces(()):
            known = with_uses(known, {SPACE: use_of([OTHERS[other]])})
            step = next_prune_step(entries, known, OWNER, OrphanReason.LYNQ_NODE_DELETED)
        if not step.deletions:
            break
        pruned = {each.item.ref.name: _verb(each) for each in step.deletions}
        # A process may be killed between any two requests of a wave.
        assert not stay & pruned.keys() or gone.get("acme") == "retain"
        gone |= pruned
        candidates = {name: each for name, each in candidates.items() if name not in pruned}
        if "handed over" in {fates.get(name) for name in pruned}:
            other = "an orphan"
    if stay:
        assert gone["acme"] == "retain"
    elif {"held", "unobserved"} & set(fates.values()) or other == "another node's":
        assert "acme" not in gone
    else:
        assert gone["acme"] == ("retain" if other == "an orphan" else "delete")


def _verb(deletion: ObjectDeletion) -> str:
    return "retain" if deletion.retain else "release" if deletion.release else "delete"
