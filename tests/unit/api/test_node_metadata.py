"""What the metadata of a node says about its state, its hub, its form and its row."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from lynq.api import (
    FormSpec,
    HubSource,
    HubSpec,
    LynqForm,
    LynqHub,
    LynqNode,
    Metadata,
    NodeSpec,
    NodeStatus,
    OwnerReference,
    SourceType,
    ValueMappings,
)
from lynq.api.digests import spec_digest
from lynq.api.metadata import ObjectKey
from lynq.api.naming import NodePair
from lynq.api.node_metadata import (
    form_generation,
    form_of,
    hub_by_label,
    hub_of_form,
    hubs_by_owner,
    is_controlled_by_hub,
    is_controlled_by_other_hub,
    is_deletion_blocked,
    is_owned_by_hub,
    is_paused,
    is_protected,
    is_superseded,
    observed_write,
    pair_of,
    pair_or_spec,
    row_changed_at,
    stamp,
    time_of_last_write,
    written_at,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HUB = LynqHub(
    metadata=Metadata(name="shop", namespace="prod", uid="hub-uid"),
    spec=HubSpec(
        source=HubSource(type=SourceType.SQLITE),
        value_mappings=ValueMappings(uid="id", activate="on"),
    ),
)
A_WEB = NodePair("a", "web")
SHOP = ObjectKey("prod", "shop")
PROTECT = {"lynq.sh/protect": "true"}


def a_node(*, spec: NodePair = A_WEB, **metadata: object) -> LynqNode:
    fields = {"name": "a-web", "namespace": "prod", **metadata}
    return LynqNode(
        metadata=Metadata(**fields),  # type: ignore[arg-type]
        spec=NodeSpec(uid=spec.uid, template_ref=spec.form),
    )


def an_owner(*, uid: str = "hub-uid", name: str = "shop", kind: str = "LynqHub") -> OwnerReference:
    return OwnerReference(kind=kind, name=name, uid=uid, controller=True)


@pytest.mark.parametrize(
    ("annotations", "deleting", "blocked"),
    [({}, False, False), (PROTECT, False, False), ({}, True, False), (PROTECT, True, True)],
)
def test_only_a_protected_object_blocks_its_deletion(
    annotations: dict[str, str], *, deleting: bool, blocked: bool
) -> None:
    node = a_node(annotations=annotations, deletion_timestamp=NOON if deleting else None)
    assert is_deletion_blocked(node) is blocked


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("false", False), ("", False)])
def test_marks_hold_only_with_the_value_true(text: str, *, expected: bool) -> None:
    assert is_paused(a_node(annotations={"lynq.sh/paused": text})) is expected
    assert is_protected(a_node(annotations={"lynq.sh/protect": text})) is expected


def test_form_and_its_hub_are_in_the_namespace_of_the_object() -> None:
    form = LynqForm(metadata=Metadata(name="web", namespace="prod"), spec=FormSpec(hub_id="shop"))
    assert hub_of_form(form) == SHOP
    assert form_of(a_node()) == ObjectKey("prod", "web")


def test_hub_by_label_is_that_of_the_label() -> None:
    assert hub_by_label(a_node(labels={"lynq.sh/hub": "shop"})) == SHOP
    assert hub_by_label(a_node(labels={"lynq.sh/hub": ""})) is None
    assert hub_by_label(a_node()) is None
    assert hub_by_label(None) is None


def test_hubs_by_owner_are_the_owners_of_kind_hub() -> None:
    owners = [an_owner(), an_owner(name="other"), an_owner(name="pod", kind="Pod")]
    assert hubs_by_owner(a_node(owner_references=owners)) == {SHOP, ObjectKey("prod", "other")}
    assert hubs_by_owner(None) == set()


def test_owner_and_controller_go_by_uid() -> None:
    others = [an_owner(uid="another-uid"), an_owner()]
    weak = [replace(an_owner(), controller=False)]
    assert is_owned_by_hub(a_node(owner_references=others), HUB)
    assert is_owned_by_hub(a_node(owner_references=weak), HUB)
    assert not is_owned_by_hub(a_node(owner_references=others[:1]), HUB)
    assert not is_owned_by_hub(a_node(owner_references=others, namespace="test"), HUB)
    assert is_controlled_by_hub(a_node(owner_references=others), HUB)
    assert not is_controlled_by_hub(a_node(owner_references=weak), HUB)
    assert not is_controlled_by_hub(a_node(owner_references=others[:1]), HUB)


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        pytest.param([], False, id="no owner"),
        pytest.param([an_owner(uid="another-uid")], False, id="hub re-created under its name"),
        pytest.param([an_owner(name="other")], True, id="another hub"),
        pytest.param([an_owner(), an_owner(name="other")], True, id="both"),
        pytest.param([an_owner(name="other", kind="Pod")], False, id="another kind"),
        pytest.param(
            [replace(an_owner(name="other"), controller=False)], False, id="no controller"
        ),
    ],
)
def test_another_controlling_hub_is_one_of_another_name(
    owners: list[OwnerReference], *, expected: bool
) -> None:
    assert is_controlled_by_other_hub(a_node(owner_references=owners), HUB) is expected


def labelled(uid: str | None, spec: NodePair, *, name: str, digest: str | None = None) -> LynqNode:
    labels = {} if uid is None else {"lynq.sh/uid": uid}
    annotations = {} if digest is None else {"lynq.sh/spec-digest": digest}
    return a_node(spec=spec, name=name, labels=labels, annotations=annotations)


SHORT, LONG = NodePair("a", "b-c"), NodePair("a-b", "c")
WRITTEN = spec_digest(NodeSpec(uid="a", template_ref="b-c"), {})


@pytest.mark.parametrize(
    ("node", "pair"),
    [
        pytest.param(labelled("a", SHORT, name="a-b-c"), SHORT, id="all agree"),
        pytest.param(labelled(None, SHORT, name="a-b-c"), SHORT, id="no label"),
        pytest.param(labelled("", SHORT, name="a-b-c"), SHORT, id="empty label"),
        pytest.param(labelled("x", SHORT, name="a-b-c"), SHORT, id="label of another name"),
        pytest.param(labelled("a", NodePair("x", "y"), name="a-b-c"), SHORT, id="edited spec"),
        pytest.param(labelled("x", NodePair("x", "y"), name="a-b-c"), None, id="both edited"),
        pytest.param(labelled(None, NodePair("x", "y"), name="-b"), None, id="nothing fits"),
        pytest.param(
            labelled("", NodePair("x", "y"), name="-b"), None, id="an empty uid fits none"
        ),
        pytest.param(labelled("a-b", SHORT, name="a-b-c"), LONG, id="without digest the label"),
        pytest.param(
            labelled("a-b", SHORT, name="a-b-c", digest=WRITTEN), SHORT, id="the hub's spec"
        ),
        pytest.param(
            labelled("a-b", SHORT, name="a-b-c", digest="stale"), LONG, id="an edited spec loses"
        ),
    ],
)
def test_row_and_form_are_those_of_the_name(node: LynqNode, pair: NodePair | None) -> None:
    assert pair_of(node) == pair
    assert pair_or_spec(node) == (pair or NodePair(node.spec.uid, node.spec.template_ref))


@pytest.mark.parametrize(
    ("text", "generation"), [("7", 7), ("", None), ("-1", None), ("seven", None), ("٧", None)]
)
def test_generation_of_the_form_is_a_number(text: str, generation: int | None) -> None:
    assert form_generation(a_node(annotations={"lynq.sh/template-generation": text})) == generation
    assert form_generation(a_node()) is None


def test_times_of_writes_and_row_changes_are_read_as_they_are_stamped() -> None:
    time = NOON.replace(microsecond=123456)
    annotations = {
        "lynq.sh/rollout-update-start": stamp(time),
        "lynq.sh/row-changed-at": stamp(NOON),
    }
    node = a_node(annotations=annotations)
    assert (written_at(node), row_changed_at(node)) == (time, NOON)
    assert (written_at(a_node()), row_changed_at(a_node())) == (None, None)


MINUTE = timedelta(minutes=1)


def written_node(annotated: datetime | None, observed: datetime | None = None) -> LynqNode:
    """Return a node by the time of its write in the annotation and in the status."""
    annotations = {"lynq.sh/rollout-update-start": stamp(annotated)} if annotated else {}
    status = NodeStatus(observed_update_start=stamp(observed) if observed else "")
    return replace(a_node(annotations=annotations), status=status)


@pytest.mark.parametrize(
    ("ahead", "believed"), [(-MINUTE, True), (MINUTE, True), (MINUTE + timedelta(seconds=1), False)]
)
def test_time_of_a_write_may_be_a_minute_ahead_of_the_clock(
    ahead: timedelta, *, believed: bool
) -> None:
    time = NOON + ahead
    assert observed_write(written_node(None, time), NOON) == (time if believed else None)
    assert time_of_last_write(written_node(time), NOON) == (time if believed else NOON)


@pytest.mark.parametrize(
    ("annotated", "observed", "superseded"),
    [
        (NOON - MINUTE, NOON, True),
        (NOON, NOON, False),
        (NOON, NOON - MINUTE, False),
        (NOON, None, False),
        (None, NOON, False),
    ],
)
def test_node_is_superseded_by_a_later_write_that_its_status_reflects(
    annotated: datetime | None, observed: datetime | None, *, superseded: bool
) -> None:
    assert is_superseded(written_node(annotated, observed), NOON) is superseded
