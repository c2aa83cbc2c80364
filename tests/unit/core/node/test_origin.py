"""Who wrote a node: signatures, edits, nodes without a hub."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import LynqNode, Metadata, NodeSpec, NodeStatus, OwnerReference
from lynq.api.digests import is_signed, signed
from lynq.api.installation_key import InstallationKey, Keyless, KeyState, MissingKey
from lynq.api.reasons import ConditionReason
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.row_values import RowValues
from lynq.core.node.origin import (
    NodeOrigin,
    assumed_origin_of,
    is_lost_node_of,
    lost_its_hub,
    origin_of,
    wait_of,
)
from unit.core.hub.fixtures import NOON, ARow, a_form, a_hub

KEY = InstallationKey(b"k" * 32)
OTHER_KEY = InstallationKey(b"o" * 32)
MISSING = MissingKey("lost")
KEYLESS = Keyless("not allowed")
FORM = a_form(service_account_name="weak")
WRITTEN = DesiredNode(a_hub(), FORM, RowValues.of(ARow("acme", {"plan": "pro"})), KEY).new(NOON)
WRITTEN_SIGNATURE = WRITTEN.metadata.annotations["lynq.sh/signature"]
STANDALONE = LynqNode(metadata=Metadata(name="x-y"), spec=NodeSpec(uid="x", template_ref="y"))

Edit = Callable[[LynqNode], LynqNode]


def with_metadata(**fields: Any) -> Edit:
    return lambda node: replace(node, metadata=replace(node.metadata, **fields))


def with_annotation(name: str, text: str) -> Edit:
    annotations = {**WRITTEN.metadata.annotations, f"lynq.sh/{name}": text}
    return with_metadata(annotations=annotations)


def with_spec(**fields: Any) -> Edit:
    return lambda node: replace(node, spec=replace(node.spec, **fields))


EDITS = {
    "name": with_metadata(name="other-web"),
    "namespace": with_metadata(namespace="elsewhere"),
    "hub label": with_metadata(labels={**WRITTEN.metadata.labels, "lynq.sh/hub": "other"}),
    "uid label": with_metadata(labels={"lynq.sh/hub": "shop"}),
    "row": with_annotation("extra", '{"plan":"max"}'),
    "hub": with_annotation("hubId", "other"),
    "account": with_annotation("service-account", "strong"),
    "time": with_annotation("rollout-update-start", "2020-01-01T00:00:00Z"),
    "generation": with_annotation("template-generation", "9"),
    "signature": with_annotation("signature", "0" * 64),
    "odd signature": with_annotation("signature", "\ud800é"),
    "uid": with_spec(uid="other"),
    "form": with_spec(template_ref="infra"),
    "resources": with_spec(config_maps=()),
}


def test_node_is_as_the_hub_wrote_it() -> None:
    assert origin_of(WRITTEN, KEY) is NodeOrigin.HUB
    assert origin_of(WRITTEN, OTHER_KEY) is NodeOrigin.EDITED


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_every_edit_of_what_decides_is_noticed(edit: Edit) -> None:
    assert origin_of(edit(WRITTEN), KEY) is NodeOrigin.EDITED


@pytest.mark.parametrize(
    "edit",
    [
        with_metadata(finalizers=["a"], owner_references=[]),
        with_metadata(labels={**WRITTEN.metadata.labels, "team": "x"}),
        with_annotation("force-reconcile", "1"),
        with_annotation("paused", "true"),
    ],
)
def test_annotations_and_labels_of_users_are_no_edits(edit: Edit) -> None:
    assert origin_of(edit(WRITTEN), KEY) is NodeOrigin.HUB


def test_node_without_any_mark_is_standalone() -> None:
    assert origin_of(STANDALONE, KEY) is NodeOrigin.STANDALONE
    assert not lost_its_hub(STANDALONE)


HUB_MARKS: dict[str, dict[str, Any]] = {
    "label": {"labels": {"lynq.sh/hub": "shop"}},
    "owner reference": {
        "owner_references": [
            OwnerReference(
                api_version="operator.lynq.sh/v1",
                kind="LynqHub",
                name="shop",
                uid="1",
                controller=True,
            )
        ]
    },
    "hub id": {"annotations": {"lynq.sh/hubId": "shop"}},
    "signature": {"annotations": {"lynq.sh/signature": "0"}},
}


@pytest.mark.parametrize("mark", HUB_MARKS.values(), ids=HUB_MARKS)
def test_each_mark_of_a_hub_alone_requires_a_signature(mark: dict[str, Any]) -> None:
    assert origin_of(with_metadata(**mark)(STANDALONE), KEY) is NodeOrigin.EDITED


@pytest.mark.parametrize(
    ("mark", "is_lost"),
    [("label", False), ("owner reference", False), ("hub id", True), ("signature", True)],
)
def test_node_keeps_its_hub_by_label_or_owner_reference(mark: str, *, is_lost: bool) -> None:
    written = replace(STANDALONE, status=NodeStatus(observed_update_start="2026"))
    assert lost_its_hub(with_metadata(**HUB_MARKS[mark])(written)) is is_lost


def test_node_whose_marks_were_removed_is_not_standalone() -> None:
    stripped = replace(STANDALONE, status=NodeStatus(observed_update_start="2026"))
    assert origin_of(stripped, KEY) is NodeOrigin.EDITED
    assert lost_its_hub(stripped)
    assert not lost_its_hub(replace(WRITTEN, status=stripped.status))


def test_lost_node_belongs_to_the_hub_of_its_form_only() -> None:
    status = NodeStatus(observed_update_start="2026")
    spec = NodeSpec(uid="x", template_ref="a-b")
    lost = LynqNode(metadata=Metadata(name="x-a-b"), spec=spec, status=status)
    assert is_lost_node_of(lost, {"a-b"})
    assert not is_lost_node_of(lost, {"b"})
    assert not is_lost_node_of(replace(lost, status=NodeStatus()), {"a-b"})
    edited = replace(lost, spec=NodeSpec(uid="y", template_ref="z"))
    assert is_lost_node_of(edited, {"a-b", "c"})
    assert not is_lost_node_of(edited, {"z"})


UNSIGNED = signed(WRITTEN, KEYLESS)
FORGED = (WRITTEN, UNSIGNED, *(edit(WRITTEN) for edit in EDITS.values()))


@pytest.mark.parametrize("node", FORGED, ids=("written", "unsigned", *EDITS))
def test_no_node_of_a_hub_is_carried_out_while_the_key_is_missing(node: LynqNode) -> None:
    assert origin_of(node, MISSING) is NodeOrigin.UNKNOWN
    wait = wait_of(node, NodeOrigin.UNKNOWN, NOON, allows_standalone=True)
    assert wait is not None
    assert wait.reason is ConditionReason.WAITING_FOR_KEY
    # It changes from attempt to attempt, and each change would be a write of every node.
    assert MISSING.problem not in wait.message


@pytest.mark.parametrize("key", [KEY, MISSING, KEYLESS])
def test_node_without_hub_waits_for_no_key(key: KeyState) -> None:
    assert origin_of(STANDALONE, key) is NodeOrigin.STANDALONE
    standalone = NodeOrigin.STANDALONE
    assert wait_of(STANDALONE, standalone, NOON, allows_standalone=True) is None
    wait = wait_of(STANDALONE, standalone, NOON, allows_standalone=False)
    assert wait is not None
    assert wait.reason is ConditionReason.WAITING_FOR_HUB
    assert "--allow-standalone-nodes=false" in wait.message


def test_digest_counts_only_in_an_installation_that_never_had_a_key() -> None:
    assert origin_of(UNSIGNED, KEYLESS) is NodeOrigin.HUB
    assert origin_of(UNSIGNED, KEY) is NodeOrigin.EDITED
    assert origin_of(EDITS["resources"](UNSIGNED), KEYLESS) is NodeOrigin.EDITED
    assert origin_of(with_metadata(annotations={})(UNSIGNED), KEYLESS) is NodeOrigin.EDITED


@pytest.mark.parametrize("signature", ["", "0" * 64, WRITTEN_SIGNATURE])
def test_signature_that_cannot_be_checked_is_never_fine(signature: str) -> None:
    annotations = UNSIGNED.metadata.annotations | {"lynq.sh/signature": signature}
    node = with_metadata(annotations=annotations)(UNSIGNED)
    assert origin_of(node, KEYLESS) is NodeOrigin.EDITED


def test_plan_of_a_viewer_without_the_key_takes_signatures_as_fitting() -> None:
    assert assumed_origin_of(WRITTEN, MISSING) is NodeOrigin.HUB
    assert assumed_origin_of(EDITS["resources"](WRITTEN), MISSING) is NodeOrigin.EDITED
    for key in (KEY, KEYLESS):
        assert assumed_origin_of(WRITTEN, key) is origin_of(WRITTEN, key)


def test_node_is_written_without_signature_without_a_key() -> None:
    assert "lynq.sh/signature" not in UNSIGNED.metadata.annotations
    assert not is_signed(UNSIGNED, KEY)
    assert signed(UNSIGNED, KEY) == WRITTEN
