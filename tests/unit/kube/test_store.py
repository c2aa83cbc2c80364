"""The store: merging by resourceVersion, and indexes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import by_label, by_owner_uid
from lynq.api import Metadata, OwnerReference
from lynq.api.metadata import ObjectKey
from lynq.kube import ObjectChange, PartialObject, Store
from lynq.kube.errors import UnexpectedResponse
from lynq.kube.store import IndexFunction, ObjectVersion, version_of

KEY = ObjectKey("space", "thing")


def object_version(version: int, uid: str = "u1", key: ObjectKey = KEY) -> ObjectVersion:
    return ObjectVersion(key, uid, version)


def value(text: str) -> Callable[[], str]:
    return lambda: text


def never() -> str:
    raise AssertionError("stale, so not to be projected")


def store_with(version: int, *, synced: int = 0) -> Store[str]:
    store: Store[str] = Store()
    store.merge(object_version(version), value("held"))
    store.advance(synced)
    return store


def test_newer_object_is_stored_and_reported_with_the_old_one() -> None:
    store = store_with(5)
    assert store.merge(object_version(6), value("new")) == ObjectChange(KEY, "held", "new")
    assert store.get(KEY) == "new"


@pytest.mark.parametrize("version", [4, 5])
def test_older_object_is_ignored_without_projection(version: int) -> None:
    store = store_with(5)
    assert store.merge(object_version(version), never) is None
    assert store.get(KEY) == "held"


def test_versions_are_compared_as_numbers() -> None:
    store: Store[str] = Store()
    store.merge(ObjectVersion.of(Metadata(name="thing", resource_version="9")), value("nine"))
    store.merge(ObjectVersion.of(Metadata(name="thing", resource_version="10")), value("ten"))
    assert store.get(ObjectKey("", "thing")) == "ten"


def test_version_that_is_not_a_number_is_rejected() -> None:
    with pytest.raises(UnexpectedResponse):
        version_of("v1-2")


def test_response_to_a_write_is_visible_before_its_watch_event() -> None:
    store = store_with(5, synced=5)
    assert store.absorb(object_version(7), value("ours")) == ObjectChange(KEY, "held", "ours")
    assert store.merge(object_version(6), never) is None
    assert store.merge(object_version(7), never) is None
    assert store.get(KEY) == "ours"


def test_older_bookmark_does_not_lower_the_synced_version() -> None:
    store = store_with(5, synced=8)
    store.advance(6)
    assert store.synced_version == 8


def test_late_response_does_not_restore_a_deleted_object() -> None:
    store = store_with(5, synced=5)
    store.remove(object_version(8), value("final"))
    store.advance(8)
    assert store.absorb(object_version(7), never) is None
    assert KEY not in store


def test_watched_deletion_has_the_final_state_and_a_list_has_not() -> None:
    store = store_with(5)
    assert store.remove(object_version(8), value("final")) == ObjectChange(
        KEY, "held", None, "final"
    )
    store.merge(object_version(9), value("held"))
    assert store.complete_list((), 10) == [ObjectChange(KEY, "held", None)]


def test_late_watch_event_does_not_restore_our_deleted_object() -> None:
    store = store_with(5, synced=5)
    assert store.absorb_deleted(KEY, "u1") == ObjectChange(KEY, "held", None)
    assert store.merge(object_version(6), never) is None
    assert store.remove(object_version(7), never) is None
    assert KEY not in store
    assert not store._tombstones


def test_late_event_of_an_older_object_is_ignored() -> None:
    store = store_with(5)
    store.absorb_deleted(KEY, "u1")
    store.absorb(object_version(8, "u2"), value("second"))
    store.absorb_deleted(KEY, "u2")
    assert store.merge(object_version(6, "u1"), never) is None
    assert store.merge(object_version(8, "u2"), never) is None


def test_re_created_object_is_stored_after_our_delete() -> None:
    store = store_with(5)
    store.absorb_deleted(KEY, "u1")
    assert store.merge(object_version(9, "u2"), value("second")) == ObjectChange(
        KEY, None, "second"
    )
    assert store.remove(object_version(7, "u1"), never) is None
    assert store.get(KEY) == "second"


def test_delete_of_an_old_uid_keeps_the_re_created_object() -> None:
    store = store_with(5)
    assert store.absorb_deleted(KEY, "an earlier uid") is None
    assert KEY in store


def test_object_that_our_write_unselects_is_removed_and_may_return() -> None:
    store = store_with(5, synced=5)
    assert store.absorb_unselected(object_version(7)) == ObjectChange(KEY, "held", None)
    assert store.absorb_unselected(object_version(7)) is None
    assert store.absorb(object_version(8), value("selected")) is not None


@pytest.mark.parametrize("late", [object_version(4), object_version(7, "another uid")])
def test_unselected_object_removes_no_newer_and_no_other_object(late: ObjectVersion) -> None:
    store = store_with(5)
    assert store.absorb_unselected(late) is None
    assert store.get(KEY) == "held"


def test_end_of_a_list_removes_missing_objects() -> None:
    store = store_with(5)
    other = ObjectKey("space", "other")
    store.merge(object_version(6, "u2", other), value("stays"))
    assert store.complete_list({other}, 9) == [ObjectChange(KEY, "held", None)]
    assert store.keys() == [other]
    assert store.synced_version == 9


def test_end_of_a_list_keeps_newer_writes() -> None:
    store = store_with(5, synced=5)
    store.absorb(object_version(11), value("ours"))
    assert store.complete_list(set(), 9) == []
    assert store.get(KEY) == "ours"


def test_list_without_the_object_clears_its_tombstone() -> None:
    store = store_with(5)
    store.absorb_deleted(KEY, "u1")
    store.complete_list({KEY}, 6)
    assert store._tombstones
    store.complete_list(set(), 9)
    assert not store._tombstones


def test_later_list_shows_an_object_despite_its_tombstone() -> None:
    store = store_with(5)
    store.absorb_deleted(KEY, "u1")
    assert store.merge(object_version(5), value("stale")) is None
    store.begin_list()
    assert store.merge(object_version(5), value("alive")) == ObjectChange(KEY, None, "alive")


def test_list_of_a_restored_cluster_replaces_all_objects() -> None:
    store = store_with(500, synced=500)
    store.reset_versions()
    assert store.get(KEY) == "held"
    assert store.merge(object_version(20), value("restored")) == ObjectChange(
        KEY, "held", "restored"
    )


def object_with(name: str, owner: str, **labels: str) -> PartialObject:
    return PartialObject(
        metadata=Metadata(
            name=name, uid=name, labels=labels, owner_references=[OwnerReference(uid=owner)]
        )
    )


def test_indexes_follow_additions_changes_and_removals() -> None:
    indexes: dict[str, IndexFunction[PartialObject]] = {
        "owner": by_owner_uid,
        "hub": by_label("hub"),
    }
    store: Store[PartialObject] = Store(indexes)
    key = ObjectKey("", "a")
    first, second = object_with("a", "o1", hub="red"), object_with("a", "o2")
    store.merge(object_version(1, "a", key), lambda: first)
    assert store.by("owner", "o1") == store.by("hub", "red") == [first]
    store.merge(object_version(2, "a", key), lambda: second)
    assert store.by("owner", "o1") == store.by("hub", "red") == []
    assert store.keys_by("owner", "o2") == [key]
    store.remove(object_version(3, "a", key), lambda: second)
    assert store.by("owner", "o2") == []
    assert store._indexes == {"owner": {}, "hub": {}}


def test_index_has_one_key_or_many_in_the_order_of_their_arrival() -> None:
    store: Store[PartialObject] = Store({"owner": by_owner_uid})
    keys = [ObjectKey("", name) for name in ("c", "a", "b")]
    for version, key in enumerate(keys, 1):
        assert store.keys_by("owner", "o") == keys[: version - 1]
        store.merge(object_version(version, key.name, key), partial(object_with, key.name, "o"))
    for version, key in enumerate(keys, 4):
        assert store.keys_by("owner", "o") == keys[version - 4 :]
        store.remove(object_version(version, key.name, key), partial(object_with, key.name, "o"))
    assert store._indexes == {"owner": {}}


def test_failing_index_function_leaves_the_store_unchanged() -> None:
    def fails_on_new(text: str) -> tuple[str]:
        if text == "new":
            raise LookupError
        return (text,)

    store: Store[str] = Store({"good": lambda text: (text,), "bad": fails_on_new})
    store.merge(object_version(1), value("old"))
    with pytest.raises(LookupError):
        store.merge(object_version(2), value("new"))
    assert store.by("good", "old") == store.by("bad", "old") == ["old"]
    assert store.by("good", "new") == []


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, ObjectVersion]]:
    """Draw the history of one name: objects created, changed, deleted and re-created."""
    history: list[tuple[str, ObjectVersion]] = []
    uid, exists = 0, False
    for version in range(1, draw(st.integers(1, 12)) + 1):
        if not exists:
            uid += 1
            exists = True
            history.append(("written", object_version(version, f"u{uid}")))
        elif draw(st.booleans()):
            history.append(("written", object_version(version, f"u{uid}")))
        else:
            exists = False
            history.append(("deleted", object_version(version, f"u{uid}")))
    return history


@given(st.lists(st.sampled_from(["written", "unselected"]), min_size=1, max_size=9), st.data())
def test_any_interleaving_with_unselected_responses_ends_at_the_newest(
    kinds: list[str], data: st.DataObject
) -> None:
    history = [(what, object_version(version)) for version, what in enumerate(kinds, 1)]
    # The watch does not deliver the changes of an object that it does not select.
    befores = ["unselected", *kinds]
    watched = [step for step, before in zip(history, befores, strict=False)
               if "written" in (step[0], before)]  # fmt: skip
    answers = [step for step in history if data.draw(st.booleans())]
    store: Store[int] = Store()
    while watched or answers:
        if watched and (not answers or data.draw(st.booleans())):
            _watch_event(store, *watched.pop(0))
        else:
            _response_arrives(store, *answers.pop(data.draw(st.integers(0, len(answers) - 1))))
    what, last = history[-1]
    assert store.get(KEY) == (last.resource_version if what == "written" else None)


@given(histories(), st.data())
def test_any_interleaving_of_responses_and_events_ends_at_the_newest(
    history: list[tuple[str, ObjectVersion]], data: st.DataObject
) -> None:
    store: Store[int] = Store()
    shown: list[int] = []
    # Any of the writes may be ours; its response arrives at any time after the write.
    answers = [step for step in history if data.draw(st.booleans())]
    watched = list(history)
    while watched or answers:
        if watched and (not answers or data.draw(st.booleans())):
            _watch_event(store, *watched.pop(0))
        else:
            _response_arrives(store, *answers.pop(data.draw(st.integers(0, len(answers) - 1))))
        shown.append(store.get(KEY) or 0)

    what, last = history[-1]
    assert store.get(KEY) == (None if what == "deleted" else last.resource_version)
    held = [version for version in shown if version]
    assert held == sorted(held), "a reader was shown an older state after a newer one"
    assert not store._tombstones


def _watch_event(store: Store[Any], what: str, step: ObjectVersion) -> None:
    if what in {"deleted", "unselected"}:
        store.remove(step, value("final"))
    else:
        store.merge(step, lambda: step.resource_version)
    store.advance(step.resource_version)


def _response_arrives(store: Store[Any], what: str, step: ObjectVersion) -> None:
    if what == "deleted":
        store.absorb_deleted(step.key, step.uid)
    elif what == "unselected":
        store.absorb_unselected(step)
    else:
        store.absorb(step, lambda: step.resource_version)
