"""Edited, unsigned and outdated nodes are written again; a checked node is not rendered again."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from lynq.api import LynqNode
from lynq.api.digests import is_signed
from lynq.api.installation_key import InstallationKey, Keyless
from lynq.api.node_metadata import is_superseded, stamp, written_at
from lynq.core.hub.diff import UpdateCause
from unit.core.hub.fixtures import (
    NOON,
    WEB,
    Cluster,
    a_form,
    at,
    deleted,
    is_empty,
    planned,
    resource,
    rows,
    running,
    synced,
    updated,
)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"labels": {"lynq.sh/hub": "shop", "lynq.sh/uid": "x"}}, id="label"),
        pytest.param({"owner_references": []}, id="owner"),
        pytest.param({"finalizers": []}, id="finalizer"),
    ],
)
def test_edited_metadata_is_reverted(change: dict[str, object]) -> None:
    cluster = running("a")
    cluster.edit("a-web", **change)
    plan = synced(cluster, rows("a"), WEB)
    assert updated(plan) == {"a-web": UpdateCause.DRIFT}
    assert is_empty(planned(cluster, rows("a"), WEB))


def test_node_of_an_earlier_release_is_not_written_for_its_bucket() -> None:
    cluster = running("a")
    cluster.edit("a-web", labels={"lynq.sh/hub": "shop", "lynq.sh/uid": "a"})
    assert is_empty(planned(cluster, rows("a"), WEB))


def test_edited_spec_is_reverted_with_the_same_update_start() -> None:
    cluster = running("a")
    node = cluster.nodes["a-web"]
    edited = replace(node.spec, uid="b", config_maps=(resource(name_template="hacked"),))
    cluster.nodes["a-web"] = replace(node, spec=edited)
    plan = planned(cluster, rows("a"), WEB, now=at(60))
    assert updated(plan) == {"a-web": UpdateCause.DRIFT}
    [update] = plan.updates
    assert update.after == node


@pytest.mark.parametrize("has_digest", [True, False], ids=["ours", "the Go operator's"])
def test_edited_spec_that_splits_the_name_differently_is_reverted(*, has_digest: bool) -> None:
    cluster = running("a", form="b-c")
    node = cluster.nodes["a-b-c"]
    cluster.nodes["a-b-c"] = replace(node, spec=replace(node.spec, uid="a-b", template_ref="c"))
    if not has_digest:
        annotations = dict(node.metadata.annotations)
        del annotations["lynq.sh/spec-digest"]
        cluster.edit("a-b-c", annotations=annotations)
    plan = planned(cluster, rows("a"), a_form("b-c"))
    assert (updated(plan), deleted(plan)) == ({"a-b-c": UpdateCause.DRIFT}, {})


def test_edited_label_that_splits_the_name_differently_is_reverted() -> None:
    cluster = running("a", form="b-c")
    cluster.edit("a-b-c", labels={"lynq.sh/hub": "shop", "lynq.sh/uid": "a-b"})
    plan = planned(cluster, rows("a"), a_form("b-c"))
    assert (updated(plan), deleted(plan)) == ({"a-b-c": UpdateCause.DRIFT}, {})


@pytest.mark.parametrize(
    ("digest", "is_written"),
    [pytest.param("0123456789abcdef", True, id="stale"), pytest.param(None, False, id="none")],
)
def test_stale_spec_digest_of_the_go_operator_is_corrected(
    digest: str | None, *, is_written: bool
) -> None:
    cluster = running("a")
    right = cluster.nodes["a-web"].metadata.annotations
    others = {key: value for key, value in right.items() if key != "lynq.sh/spec-digest"}
    cluster.edit("a-web", annotations=others | ({"lynq.sh/spec-digest": digest} if digest else {}))
    plan = synced(cluster, rows("a"), WEB)
    assert updated(plan) == ({"a-web": UpdateCause.DRIFT} if is_written else {})
    assert cluster.nodes["a-web"].metadata.annotations == (right if is_written else others)
    assert is_empty(planned(cluster, rows("a"), WEB))


def test_unsigned_nodes_are_signed_at_once_under_max_skew() -> None:
    key = InstallationKey(b"k" * 32)
    form = a_form(max_skew=1)
    cluster = Cluster()
    cluster.apply(planned(cluster, rows("a", "b", "c"), a_form()))
    before = {name: node.spec for name, node in cluster.nodes.items()}
    plan = synced(cluster, rows("a", "b", "c"), form, key=key)
    assert set(updated(plan).values()) == {UpdateCause.SIGNATURE}
    assert len(plan.updates) == 3
    assert all(is_signed(node, key) for node in cluster.nodes.values())
    assert {name: node.spec for name, node in cluster.nodes.items()} == before
    assert is_empty(planned(cluster, rows("a", "b", "c"), form, key=key))


@pytest.mark.parametrize("annotation", ["lynq.sh/signature", "lynq.sh/rollout-update-start"])
def test_edited_annotation_of_a_checked_node_is_signed_again(annotation: str) -> None:
    key = InstallationKey(b"k" * 32)
    cluster = Cluster()
    synced(cluster, rows("a"), WEB, key=key)
    checked = planned(cluster, rows("a"), WEB, key=key).checked_specs
    annotations = dict(cluster.nodes["a-web"].metadata.annotations)
    cluster.edit("a-web", annotations=annotations | {annotation: "2026-01-01T00:00:00Z"})
    plan = synced(cluster, rows("a"), WEB, key=key, checked_specs=checked)
    assert updated(plan) == {"a-web": UpdateCause.SIGNATURE}
    assert is_signed(cluster.nodes["a-web"], key)


KEY = InstallationKey(b"k" * 32)
KEYLESS = Keyless("create is not allowed")


@pytest.mark.parametrize("digest", ["kept", "removed"])
@pytest.mark.parametrize("signature", ["none", "forged"])
def test_without_any_key_the_hub_restores_what_is_not_carried_out(
    digest: str, signature: str
) -> None:
    """Otherwise the node would wait for its hub without end."""
    cluster = Cluster()
    synced(cluster, rows("a"), WEB, key=KEYLESS)
    checked = planned(cluster, rows("a"), WEB, key=KEYLESS).checked_specs
    written = dict(cluster.nodes["a-web"].metadata.annotations)
    edited = written | ({"lynq.sh/signature": "0"} if signature == "forged" else {})
    if digest == "removed":
        del edited["lynq.sh/spec-digest"]
    cluster.edit("a-web", annotations=edited)
    plan = synced(cluster, rows("a"), WEB, key=KEYLESS, checked_specs=checked)
    assert updated(plan) == ({} if edited == written else {"a-web": UpdateCause.SIGNATURE})
    assert cluster.nodes["a-web"].metadata.annotations == written


def test_first_key_signs_nodes_that_were_checked_without_one() -> None:
    cluster = Cluster()
    synced(cluster, rows("a"), WEB, key=KEYLESS)
    checked = planned(cluster, rows("a"), WEB, key=KEYLESS).checked_specs
    plan = synced(cluster, rows("a"), WEB, key=KEY, checked_specs=checked)
    assert updated(plan) == {"a-web": UpdateCause.SIGNATURE}


def observed(cluster: Cluster) -> None:
    """Let the status of each node reflect its last write."""
    cluster.settle(NOON)
    for name, node in cluster.nodes.items():
        written = node.metadata.annotations["lynq.sh/rollout-update-start"]
        status = replace(node.status, observed_update_start=written)
        cluster.nodes[name] = replace(node, status=status)


def put_back(cluster: Cluster, old: LynqNode) -> None:
    """Put an old node back, as a user who may edit nodes and not their status."""
    node = cluster.nodes[old.metadata.name]
    cluster.nodes[old.metadata.name] = replace(old, status=node.status)


@pytest.mark.parametrize("skew", [0, -30])
def test_old_node_that_was_put_back_is_written_again(skew: float) -> None:
    """Also if the row has the old values again, and the clock of a new leader is behind."""
    cluster = Cluster()
    synced(cluster, rows("a", plan="pro"), WEB, key=KEY)
    observed(cluster)
    old = cluster.nodes["a-web"]
    for second, value in ((60, "max"), (120, "pro")):
        synced(cluster, rows("a", plan=value), WEB, key=KEY, now=at(second))
        observed(cluster)
    checked = planned(cluster, rows("a", plan="pro"), WEB, key=KEY).checked_specs
    put_back(cluster, old)
    now = at(120 + skew)
    assert is_superseded(cluster.nodes["a-web"], now)

    plan = synced(cluster, rows("a", plan="pro"), WEB, key=KEY, now=now, checked_specs=checked)
    assert updated(plan) == {"a-web": UpdateCause.DRIFT}
    assert written_at(cluster.nodes["a-web"]) == at(120)
    assert not is_superseded(cluster.nodes["a-web"], now)
    assert is_empty(planned(cluster, rows("a", plan="pro"), WEB, key=KEY, now=now))


def test_old_node_that_was_put_back_is_written_for_its_changed_row() -> None:
    cluster = Cluster()
    synced(cluster, rows("a", plan="pro"), WEB, key=KEY)
    old = cluster.nodes["a-web"]
    synced(cluster, rows("a", plan="max"), WEB, key=KEY, now=at(60))
    observed(cluster)
    put_back(cluster, old)
    plan = synced(cluster, rows("a", plan="max"), WEB, key=KEY, now=at(120))
    assert updated(plan) == {"a-web": UpdateCause.DATA}
    assert written_at(cluster.nodes["a-web"]) == at(120)


def test_write_of_a_leader_whose_clock_is_behind_supersedes_the_last_one() -> None:
    cluster = Cluster()
    synced(cluster, rows("a", plan="pro"), WEB, key=KEY)
    observed(cluster)
    synced(cluster, rows("a", plan="max"), WEB, key=KEY, now=at(-30))
    node = cluster.nodes["a-web"]
    assert not is_superseded(node, at(-30))
    assert written_at(node) == NOON + timedelta(microseconds=1)


def test_write_after_a_clock_in_the_far_future_has_the_right_time() -> None:
    cluster = Cluster()
    synced(cluster, rows("a", plan="pro"), WEB, key=KEY, now=at(1e6))
    observed(cluster)
    synced(cluster, rows("a", plan="max"), WEB, key=KEY, now=NOON)
    node = cluster.nodes["a-web"]
    assert written_at(node) == NOON
    assert not is_superseded(node, NOON)


@pytest.mark.parametrize("edited", [at(-1e6), at(1e6)])
def test_edited_time_of_a_node_is_not_signed(edited: datetime) -> None:
    """The time is `now` in templates."""
    cluster = Cluster()
    synced(cluster, rows("a"), WEB, key=KEY)
    observed(cluster)
    annotations = dict(cluster.nodes["a-web"].metadata.annotations)
    annotations["lynq.sh/rollout-update-start"] = stamp(edited)
    cluster.edit("a-web", annotations=annotations)
    synced(cluster, rows("a"), WEB, key=KEY, now=at(60))
    assert is_signed(cluster.nodes["a-web"], KEY)
    assert written_at(cluster.nodes["a-web"]) == NOON


def test_checked_spec_is_not_rendered_again() -> None:
    cluster = running("a")
    checked = planned(cluster, rows("a"), WEB).checked_specs
    assert checked.keys() == {"a-web"}
    # A form that cannot be rendered shows whether a render was attempted.
    broken = a_form("web", resource(name_template="{{ .nope }}"))
    assert planned(cluster, rows("a"), broken, checked_specs=checked).failures == ()
    cluster.edit("a-web", generation=2)
    assert len(planned(cluster, rows("a"), broken, checked_specs=checked).failures) == 1
