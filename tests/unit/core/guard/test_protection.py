"""Protected objects: which deletions they block, and the finalizer of a protected form."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub, LynqNode, Metadata, NodeSpec
from lynq.api.names import ANNOTATION_PROTECT, FINALIZER_FORM
from lynq.core.guard.protection import (
    blocking,
    deletion_blocked,
    form_finalizers,
    keeps_objects,
)
from unit.core.hub.fixtures import a_form, a_hub

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROTECTED = {ANNOTATION_PROTECT: "true"}


def form(
    *, protected: bool = False, deleting: bool = False, finalizers: tuple[str, ...] = ()
) -> LynqForm:
    metadata = replace(
        a_form().metadata,
        annotations=PROTECTED if protected else {},
        deletion_timestamp=NOON if deleting else None,
        finalizers=finalizers,
    )
    return replace(a_form(), metadata=metadata)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (form(), None),
        (form(protected=True), [FINALIZER_FORM]),
        (form(protected=True, finalizers=("x",)), ["x", FINALIZER_FORM]),
        (form(protected=True, finalizers=(FINALIZER_FORM,)), None),
        (form(protected=True, deleting=True, finalizers=(FINALIZER_FORM,)), None),
        (form(protected=True, deleting=True, finalizers=("x",)), None),
        (form(finalizers=("x", FINALIZER_FORM)), ["x"]),
        (form(deleting=True, finalizers=(FINALIZER_FORM,)), []),
    ],
)
def test_form_has_its_finalizer_while_it_is_protected(
    before: LynqForm, after: list[str] | None
) -> None:
    assert form_finalizers(before) == after


def test_node_waits_for_every_protected_object_that_is_being_deleted() -> None:
    node = LynqNode(spec=NodeSpec(uid="a", template_ref="web"))
    protected = form(protected=True, deleting=True)
    hub = replace(
        a_hub(), metadata=replace(a_hub().metadata, annotations=PROTECTED, deletion_timestamp=NOON)
    )
    own = replace(node, metadata=hub.metadata)
    assert blocking(node, [None], None) is None
    assert blocking(node, [a_hub(annotations=PROTECTED)], form(protected=True)) is None
    assert blocking(node, [a_hub()], form(deleting=True)) is None
    assert blocking(node, [a_hub(), hub], None) is hub
    assert blocking(node, [], protected) is protected
    assert blocking(own, [hub], protected) is own


@pytest.mark.parametrize("obj", [a_hub(), a_form()])
def test_event_names_the_object_and_the_annotation(obj: LynqHub | LynqForm) -> None:
    event = deletion_blocked(obj)
    assert event.warns
    assert f"{obj.definition.kind} {obj.metadata.name}" in event.message
    assert ANNOTATION_PROTECT in event.message


@pytest.mark.parametrize(
    ("obj", "kept"),
    [
        (a_hub(), "its LynqNodes and their objects are kept"),
        (a_form(), "its LynqNodes and their objects are kept"),
        (LynqNode(spec=NodeSpec(uid="a", template_ref="web")), "waits, and its objects are kept"),
    ],
)
def test_event_says_what_is_kept(obj: LynqHub | LynqForm | LynqNode, kept: str) -> None:
    assert kept in deletion_blocked(obj).message


@pytest.mark.parametrize(
    ("node_protected", "hub_protected", "expected"),
    [(False, False, False), (True, False, True), (False, True, True), (True, True, True)],
)
def test_objects_of_a_protected_node_or_hub_have_no_owner_reference(
    *, node_protected: bool, hub_protected: bool, expected: bool
) -> None:
    node = LynqNode(
        metadata=Metadata(name="acme-web", annotations=PROTECTED if node_protected else {}),
        spec=NodeSpec(uid="acme", template_ref="web"),
    )
    metadata = replace(a_hub().metadata, annotations=PROTECTED if hub_protected else {})
    hub = replace(a_hub(), metadata=metadata)
    assert keeps_objects(node, [None, hub]) is expected
