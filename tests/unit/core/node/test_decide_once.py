"""creationPolicy Once: the body is written one time, the marks whenever they are lost."""

from dataclasses import replace
from typing import Any

import pytest

from lynq.api import CreationPolicy, DeletionPolicy, PatchStrategy
from lynq.core.node.decide import decide
from lynq.core.node.state import LastWrite, ResourceFacts, WriteCause, WriteMethod, WriteRejection
from unit.core.node.decisions import CONTEXT, LATER, S, but, cause_of, foreign, settled, without
from unit.core.node.fixtures import STARTING, desired_by
from unit.core.node.nodes import a_resource


def test_what_was_written_once_is_never_written_again_but_looked_at() -> None:
    facts = settled(creation_policy=CreationPolicy.ONCE)
    restless = but(without(facts, "applied-hash"), digest=b"theirs", verdict=STARTING)
    outcome = decide(restless, replace(CONTEXT, force=True))
    assert (outcome.state, outcome.write) == (S.PROGRESSING, None)
    assert outcome.reason == "ReplicasNotReady"


def test_once_is_written_over_an_object_that_was_not_marked() -> None:
    facts = replace(settled(creation_policy=CreationPolicy.ONCE), live=foreign())
    assert cause_of(facts) is WriteCause.CHANGED


def once(policy: DeletionPolicy = DeletionPolicy.DELETE, **more: Any) -> ResourceFacts:
    """Give a resource that was written once, a key in it, with marks of the form as well."""
    data = {"plan": "{{ .uid }}", "key": '{{ encryptAES "secret" .uid }}'}
    return settled(
        spec={"apiVersion": "v1", "kind": "ConfigMap", "data": data},
        creation_policy=CreationPolicy.ONCE,
        deletion_policy=policy,
        labels_template={"tier": "gold"},
        annotations_template={"note": "ours"},
        **more,
    )


def stripped(facts: ResourceFacts, *keys: str) -> ResourceFacts:
    """Take marks off the object; "owner" stands for its owner references."""
    live = facts.live
    assert live is not None
    gone = {f"lynq.sh/{key}" for key in keys}
    return but(
        facts,
        labels={key: text for key, text in live.labels.items() if key not in gone},
        annotations={key: text for key, text in live.annotations.items() if key not in gone},
        owners=() if "owner" in keys else live.owners,
    )


@pytest.mark.parametrize(
    ("policy", "lost", "cause"),
    [
        (DeletionPolicy.DELETE, ("created-once",), WriteCause.CREATED_ONCE_LOST),
        (DeletionPolicy.RETAIN, ("created-once",), WriteCause.CREATED_ONCE_LOST),
        (DeletionPolicy.DELETE, ("created-once", "managed"), WriteCause.CREATED_ONCE_LOST),
        (DeletionPolicy.DELETE, ("managed",), WriteCause.OWNERSHIP_LOST),
        (DeletionPolicy.RETAIN, ("managed",), WriteCause.OWNERSHIP_LOST),
        (DeletionPolicy.DELETE, ("owner",), WriteCause.OWNERSHIP_LOST),
        (DeletionPolicy.RETAIN, ("node",), WriteCause.OWNERSHIP_LOST),
        (DeletionPolicy.RETAIN, ("node-namespace",), WriteCause.OWNERSHIP_LOST),
    ],
)
@pytest.mark.parametrize("strategy", PatchStrategy)
def test_what_was_written_once_gets_lost_marks_back_and_nothing_else(
    policy: DeletionPolicy, lost: tuple[str, ...], cause: WriteCause, strategy: PatchStrategy
) -> None:
    facts = once(policy, patch_strategy=strategy)
    write = decide(stripped(facts, *lost), CONTEXT).write
    assert write is not None
    assert (write.cause, write.method, write.force) == (cause, WriteMethod.MERGE, False)
    assert write.obj.keys() == {"apiVersion", "kind", "metadata"}
    metadata = write.obj["metadata"]
    assert metadata["name"] == "acme-config"
    given = {*metadata["labels"], *metadata["annotations"]}
    assert {f"lynq.sh/{key}" for key in lost} - {"lynq.sh/owner"} <= given
    # Neither what the form says by now, nor another hash or another start of the clock.
    kept = {"tier", "note", "lynq.sh/applied-hash", "lynq.sh/apply-start-time"}
    assert not kept & given
    assert ("ownerReferences" in metadata) == ("owner" in lost)


@pytest.mark.parametrize("force", [True, False])
def test_what_was_written_once_and_has_its_marks_is_left_alone_whatever_the_form_says(
    *, force: bool
) -> None:
    other = desired_by(a_resource(labels_template={"a": "b"}, creation_policy=CreationPolicy.ONCE))
    assert cause_of(replace(once(), desired=other), replace(CONTEXT, force=force)) is None


@pytest.mark.parametrize(
    "lost",
    [
        ("created-once", "applied-hash"),
        ("created-once", "owner"),
        ("created-once", "owner", "managed"),
    ],
)
def test_what_does_not_prove_that_we_wrote_it_once_is_written_this_one_time(
    lost: tuple[str, ...],
) -> None:
    write = decide(stripped(once(), *lost), CONTEXT).write
    assert write is not None
    assert write.obj["data"]["plan"] == "acme"


def test_what_becomes_once_is_written_for_a_last_time_unless_a_key_is_in_it() -> None:
    plain = stripped(settled(creation_policy=CreationPolicy.ONCE), "created-once")
    newer = desired_by(a_resource(labels_template={"a": "b"}, creation_policy=CreationPolicy.ONCE))
    assert cause_of(replace(plain, desired=newer)) is WriteCause.CHANGED
    assert cause_of(stripped(once(), "created-once")) is WriteCause.CREATED_ONCE_LOST


def test_what_only_says_that_it_was_written_once_is_not_touched() -> None:
    """So does an object that somebody else has marked; ours have the hash too."""
    assert cause_of(stripped(once(), "applied-hash", "managed")) is None
    assert cause_of(stripped(once(), "applied-hash", "owner")) is None


def test_marks_that_were_refused_are_tried_again_and_still_without_a_body() -> None:
    facts = once()
    assert facts.desired is not None
    last_write = LastWrite(
        hash=facts.desired.hash, rejection=WriteRejection("no"), not_before=LATER
    )
    facts = replace(facts, last_write=last_write)
    for lost in (facts, stripped(facts, "managed")):
        assert decide(lost, CONTEXT).state is S.FAILED
        write = decide(lost, replace(CONTEXT, now=LATER)).write
        assert write is not None
        assert "data" not in write.obj
