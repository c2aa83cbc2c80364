"""The nodes that a plan deletes: restarts of an approved deletion, pauses, and unnamed nodes."""

import pytest
from msgspec.structs import replace

from lynq.api import DeletionGuard, LynqHub, OwnerReference
from lynq.core.hub.prune import Observation
from unit.core.hub.fixtures import NOON, ARow, Cluster, a_form, a_hub, planned, rows, synced

WEB = a_form("web")
GUARDED = a_hub(deletion_guard=DeletionGuard())


def running(*uids: str) -> Cluster:
    cluster = Cluster()
    synced(cluster, rows(*uids), WEB)
    return cluster


def approved(digest: str) -> LynqHub:
    return a_hub(deletion_guard=DeletionGuard(), annotations={"lynq.sh/approve-deletion": digest})


def test_operator_that_restarts_half_way_completes_an_approved_deletion() -> None:
    uids = [f"a{number:02}" for number in range(60)]
    cluster, kept = running(*uids), rows(*uids[:10])
    hub = approved(planned(cluster, kept, WEB, hub=GUARDED).verdict.digest)
    for uid in uids[10:30]:
        cluster.edit(f"{uid}-web", deletion_timestamp=NOON)
    plan = planned(cluster, kept, WEB, hub=hub)
    assert [deletion.pair.uid for deletion in plan.deletes] == uids[30:]


def test_operator_that_restarts_half_way_completes_an_approved_doubtful_deletion() -> None:
    cluster = running("a", "b", "c", "d")
    spoilt = [ARow(None), ARow("c")]
    held = planned(cluster, [*spoilt, ARow("d")], WEB, hub=GUARDED)
    assert held.in_doubt == ("a-web", "b-web")
    hub = approved(held.held_message(GUARDED).rpartition(", ")[2])
    cluster.edit("b-web", deletion_timestamp=NOON)
    # The row of d is deactivated in the meantime, which is not in doubt.
    observation = Observation(inactive=frozenset({"d"}))
    plan = planned(cluster, spoilt, WEB, hub=hub, observation=observation)
    assert [deletion.name for deletion in plan.deletes] == ["a-web", "d-web"]


@pytest.mark.parametrize(
    ("hub", "owner", "is_deleted"),
    [
        pytest.param(a_hub(), "hub-uid", True, id="controlled by the hub"),
        pytest.param(a_hub(), "another-uid", False, id="controlled by another owner"),
        pytest.param(a_hub(paused=True), "hub-uid", False, id="of a paused hub"),
    ],
)
def test_node_whose_name_fits_no_row_is_deleted_by_its_controller(
    hub: LynqHub, owner: str, *, is_deleted: bool
) -> None:
    cluster = running("a")
    node = cluster.nodes.pop("a-web")
    owners = [OwnerReference(kind="LynqHub", name="shop", uid=owner, controller=True)]
    metadata = replace(node.metadata, name="pet", owner_references=owners)
    cluster.nodes["pet"] = replace(node, metadata=metadata)
    deletes = planned(cluster, [], WEB, hub=hub).deletes
    assert [deletion.name for deletion in deletes] == (["pet"] if is_deleted else [])
