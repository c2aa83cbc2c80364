"""adoptionPolicy: which objects that existed before are written, and as what."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import AdoptionPolicy, CreationPolicy, PatchStrategy
from lynq.core.node.adoption_policy import is_adopted, is_foreign, is_written_as_adopted
from lynq.core.node.decide import decide
from lynq.core.node.objects import NOT_APPLIED, AppliedRecord, LiveObject, ObjectRef
from lynq.core.node.state import WriteCause
from lynq.core.readiness.verdict import READY
from unit.core.node.decisions import CONTEXT, S, adopted_by, foreign
from unit.core.node.fixtures import live_after
from unit.core.node.nodes import NOW, a_resource, an_owner

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}
RETAIN, OWN, REFUSE = AdoptionPolicy.RETAIN, AdoptionPolicy.OWN, AdoptionPolicy.REFUSE
ADOPTED = "lynq.sh/adopted"
REF = ObjectRef("v1", "ConfigMap", "shop", "acme-config")
OUR_LABELS = {"lynq.sh/node": "acme-web", "lynq.sh/node-namespace": "shop"}


def written(policy: AdoptionPolicy | None, live: LiveObject, **more: Any) -> dict[str, Any]:
    """Return the metadata of the write for an object."""
    record = more.pop("record", NOT_APPLIED)
    resource = a_resource(adoption_policy=policy, **more)
    write = decide(adopted_by(resource, live, record), CONTEXT).write
    assert write is not None
    assert write.cause is WriteCause.FOREIGN
    metadata: dict[str, Any] = write.obj["metadata"]
    return metadata


@pytest.mark.parametrize("policy", [None, RETAIN])
def test_foreign_object_is_adopted_without_owner_reference(policy: AdoptionPolicy | None) -> None:
    metadata = written(policy, foreign())
    assert metadata["annotations"][ADOPTED] == "true"
    assert metadata["labels"]["lynq.sh/node"] == "acme-web"
    assert "ownerReferences" not in metadata


def test_replaced_object_is_marked_as_such() -> None:
    metadata = written(None, foreign(), patch_strategy=PatchStrategy.REPLACE)
    assert metadata["annotations"][ADOPTED] == "replaced"


def test_owned_object_is_written_like_a_new_one() -> None:
    metadata = written(OWN, foreign())
    assert ADOPTED not in metadata["annotations"]
    assert metadata["ownerReferences"]


@pytest.mark.parametrize(
    ("spec", "policy", "refused"),
    [
        (NAMESPACE, None, True),
        (NAMESPACE, REFUSE, True),
        (NAMESPACE, RETAIN, False),
        (NAMESPACE, OWN, False),
        (None, REFUSE, True),
        (None, None, False),
    ],
)
def test_object_is_refused_by_policy_and_kind(
    spec: dict[str, Any] | None, policy: AdoptionPolicy | None, *, refused: bool
) -> None:
    resource = a_resource(spec=spec, adoption_policy=policy)
    outcome = decide(adopted_by(resource, foreign()), CONTEXT)
    assert (outcome.write is None) is refused
    if refused:
        assert outcome.state is S.CONFLICTED
        reason = "adoptionPolicy is Refuse" if policy else "adoptionPolicy is not set"
        assert reason in outcome.message
        assert outcome.requeue_at is not None
        assert outcome.requeue_at > NOW
        assert outcome.adopted_uid == ""


@pytest.mark.parametrize("policy", [None, REFUSE])
def test_adopted_object_stays_adopted(policy: AdoptionPolicy | None) -> None:
    facts = adopted_by(a_resource(adoption_policy=None), foreign())
    assert facts.desired is not None
    live = live_after(facts.desired.to_write(None, NOW), uid="9")
    settled = adopted_by(a_resource(adoption_policy=policy), live)
    outcome = decide(settled, CONTEXT)
    assert (outcome.state, outcome.write, outcome.adopted_uid) == (S.READY, None, "9")


def test_adopted_object_without_marks_is_known_by_its_uid() -> None:
    record = AppliedRecord(was_applied=True, adopted_uid="9")
    stripped = foreign(digest=b"ours")
    facts = adopted_by(a_resource(), stripped, record)
    assert facts.desired is not None
    assert facts.desired.is_adopted
    outcome = decide(facts, CONTEXT)
    assert outcome.adopted_uid == "9"
    assert not is_adopted(stripped, "another")
    # The policy applies again to an object of the same name that was created since.
    recreated = adopted_by(a_resource(), stripped, record._replace(adopted_uid="another"))
    assert recreated.desired is not None
    assert not recreated.desired.is_adopted


def test_adopted_object_becomes_owned_by_policy() -> None:
    facts = adopted_by(a_resource(), foreign())
    assert facts.desired is not None
    live = live_after(facts.desired.to_write(None, NOW), uid="9")
    owned = decide(adopted_by(a_resource(adoption_policy=OWN), live), CONTEXT)
    assert owned.write is not None
    assert owned.adopted_uid == ""
    assert ADOPTED not in owned.write.obj["metadata"]["annotations"]
    merge = a_resource(adoption_policy=OWN, patch_strategy=PatchStrategy.MERGE)
    merged = decide(adopted_by(merge, live), CONTEXT).write
    assert merged is not None
    assert merged.obj["metadata"]["annotations"][ADOPTED] is None


def test_object_without_uid_is_not_adopted_by_an_empty_record() -> None:
    assert not is_adopted(LiveObject(uid="", readiness=READY), "")


@pytest.mark.parametrize(
    ("live", "existed"),
    [
        pytest.param(foreign(), True, id="written by others"),
        pytest.param(foreign(labels={"lynq.sh/orphaned": "true"}), False, id="orphan"),
        pytest.param(foreign(labels=OUR_LABELS), False, id="tracked by labels"),
        pytest.param(foreign(owner_uids=(an_owner().uid,)), False, id="owned"),
    ],
)
def test_object_that_the_operator_wrote_did_not_exist_before(
    live: LiveObject, *, existed: bool
) -> None:
    resource = a_resource()
    assert is_foreign(live, REF, an_owner(), NOT_APPLIED) is existed
    assert is_written_as_adopted(resource, live, REF, an_owner(), NOT_APPLIED) is existed


def test_missing_object_is_not_written_as_adopted() -> None:
    record = AppliedRecord(was_applied=True, adopted_uid="9")
    assert not is_written_as_adopted(a_resource(), None, REF, an_owner(), record)


def test_object_that_a_user_excludes_is_left_alone() -> None:
    live = foreign(annotations={"lynq.sh/created-once": "true"})
    resource = a_resource(creation_policy=CreationPolicy.ONCE, adoption_policy=REFUSE)
    outcome = decide(adopted_by(resource, live), CONTEXT)
    assert (outcome.state, outcome.write) == (S.READY, None)


@pytest.mark.parametrize(
    ("creation", "annotations"),
    [
        pytest.param(CreationPolicy.ONCE, {}, id="without mark"),
        pytest.param(
            CreationPolicy.ONCE,
            {"lynq.sh/created-once": "true", "lynq.sh/applied-hash": "1"},
            id="copy of an object that was written once",
        ),
        pytest.param(
            CreationPolicy.WHEN_NEEDED, {"lynq.sh/created-once": "true"}, id="not written once"
        ),
    ],
)
def test_object_that_no_user_excludes_is_refused(
    creation: CreationPolicy, annotations: dict[str, str]
) -> None:
    resource = a_resource(creation_policy=creation, adoption_policy=REFUSE)
    outcome = decide(adopted_by(resource, foreign(annotations=annotations)), CONTEXT)
    assert (outcome.state, outcome.write) == (S.CONFLICTED, None)


def test_created_once_does_not_make_a_foreign_object_ours() -> None:
    marked = {"lynq.sh/created-once": "true"}
    metadata = written(None, foreign(annotations=marked))
    assert metadata["annotations"][ADOPTED] == "true"
    assert "ownerReferences" not in metadata


def test_copy_of_a_once_object_is_adopted() -> None:
    copied = {"lynq.sh/created-once": "true", "lynq.sh/applied-hash": "1"}
    resource = a_resource(creation_policy=CreationPolicy.ONCE)
    write = decide(adopted_by(resource, foreign(annotations=copied)), CONTEXT).write
    assert write is not None
    metadata = write.obj["metadata"]
    assert metadata["annotations"][ADOPTED] == "true"
    assert "ownerReferences" not in metadata


def test_adopted_object_that_lost_its_labels_is_not_refused() -> None:
    live = foreign(annotations={ADOPTED: "true"})
    outcome = decide(adopted_by(a_resource(adoption_policy=REFUSE), live), CONTEXT)
    assert outcome.write is not None


def test_merge_patch_keeps_the_mark_of_an_adopted_object() -> None:
    live = foreign(annotations={ADOPTED: "true"})
    metadata = written(RETAIN, live, patch_strategy=PatchStrategy.MERGE)
    assert metadata["annotations"][ADOPTED] == "true"


def test_adoption_of_an_object_that_is_not_observed_is_unknown() -> None:
    """The status keeps the uid that it recorded."""
    record = AppliedRecord(was_applied=True, adopted_uid="9")
    missing = replace(adopted_by(a_resource(), foreign(), record), live=None)
    assert decide(missing, CONTEXT).adopted_uid is None
