"""Differences between a node and what its row and form ask for: edits are reverted."""

import pytest

from lynq.api.names import ANNOTATION_ROW_CHANGED_AT
from lynq.api.node_metadata import stamp
from lynq.core.hub.diff import UpdateCause
from lynq.core.hub.plan import HubPlan
from unit.core.hub.fixtures import (
    ARow,
    Cluster,
    a_form,
    at,
    is_empty,
    planned,
    resource,
    rows,
    synced,
)

WEB = a_form("web")


def synced_cluster() -> Cluster:
    cluster = Cluster()
    synced(cluster, rows("a"), WEB)
    return cluster


def causes(plan: HubPlan) -> dict[str, UpdateCause]:
    return {update.name: update.cause for update in plan.updates}


def test_change_of_a_running_row_is_timed() -> None:
    table = [ARow("a", {"plan": "gold"})]
    [update] = planned(synced_cluster(), table, WEB, now=at(60), rows_changed_at=at(50)).updates
    assert update.after.metadata.annotations[ANNOTATION_ROW_CHANGED_AT] == stamp(at(50))
    [update] = planned(synced_cluster(), table, WEB, now=at(60)).updates
    assert update.after.metadata.annotations[ANNOTATION_ROW_CHANGED_AT] == stamp(at(60))


@pytest.mark.parametrize(
    "annotation", ["hubId", "service-account", "rollout-update-start", "refused-resources"]
)
@pytest.mark.parametrize("text", ["edited", None], ids=["edited", "removed"])
def test_edited_annotation_is_reverted(annotation: str, text: str | None) -> None:
    form, key = a_form(service_account_name="deployer"), f"lynq.sh/{annotation}"
    cluster = Cluster()
    synced(cluster, rows("a"), form)
    checked = planned(cluster, rows("a"), form).checked_specs
    assert is_empty(planned(cluster, rows("a"), form, checked_specs=checked))
    annotations = dict(cluster.nodes["a-web"].metadata.annotations)
    before = annotations.pop(key, None)
    cluster.edit("a-web", annotations=annotations | ({key: text} if text else {}))
    plan = planned(cluster, rows("a"), form, checked_specs=checked)
    assert causes(plan) == ({} if text == before else {"a-web": UpdateCause.DRIFT})


def test_form_with_an_empty_service_account_has_none() -> None:
    form, cluster = a_form(service_account_name=""), Cluster()
    synced(cluster, rows("a"), form)
    assert is_empty(planned(cluster, rows("a"), form))


def test_template_that_reads_the_clock_is_no_edit() -> None:
    form, cluster = (
        a_form("web", resource(labels_template={"at": '{{ now | date "150405" }}'})),
        Cluster(),
    )
    synced(cluster, rows("a"), form)
    assert is_empty(planned(cluster, rows("a"), form, now=at(60)))
