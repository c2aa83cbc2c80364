"""Root causes of nodes, and who waits for them."""

from typing import Any

import pytest

from lynq.api import ResourceState, Rollout, RolloutPhase, RolloutStatus
from lynq.core.explain.model import Cause, CauseKind, Evidence, Explanation, ObjectEvidence
from lynq.core.explain.node import explain_node
from lynq.core.node.objects import ref_of
from unit.core.explain.explained import (
    INGRESS,
    SERVICE,
    WEB,
    a_condition,
    a_form,
    a_hub,
    a_node,
    a_pod,
    an_entry,
)

FORM = a_form(WEB, SERVICE, INGRESS)
WAITING = an_entry(
    "svc", ResourceState.WAITING, "DependencyNotReady", kind="Service", api_version="v1"
)
SKIPPED = an_entry(
    "ing", ResourceState.SKIPPED, "DependencySkipped", kind="Ingress", name="acme", api_version="x"
)


def explained(*entries: Any, **more: Any) -> Explanation:
    return explain_node(a_node(*entries, **more), a_hub(), FORM)


def only_cause(entry: Any, evidence: ObjectEvidence | None = None) -> Cause:
    read = Evidence({ref_of(entry): evidence} if evidence else {})
    (cause,) = explain_node(a_node(entry), a_hub(), FORM, read).causes
    return cause


def test_ready_node_has_no_cause() -> None:
    explanation = explained(an_entry(state=ResourceState.READY, reason="Ready"))
    assert explanation.is_ready
    assert (explanation.ready, explanation.desired) == (1, 1)
    assert explanation.causes == explanation.notes == ()


def test_ready_status_of_an_old_generation_is_not_ready() -> None:
    entry = an_entry(state=ResourceState.READY, reason="Ready")
    (cause,) = explained(entry, observed=4).causes
    assert cause.kind is CauseKind.NOT_RECONCILED
    assert "generation 5 is not reconciled yet" in cause.message


def test_blocked_resources_stand_with_their_root_cause() -> None:
    progressing = an_entry(state=ResourceState.PROGRESSING, reason="ReplicasNotReady")
    (cause,) = explained(progressing, WAITING, SKIPPED).causes
    assert cause.id == "web"
    assert cause.waiting == ("Service/acme-web (svc)", "Ingress/acme (ing)")


def test_failed_resource_comes_before_one_that_is_not_ready_yet() -> None:
    progressing = an_entry(state=ResourceState.PROGRESSING, reason="ReplicasNotReady")
    failed = an_entry("ing", kind="Ingress", name="acme")
    assert [cause.id for cause in explained(progressing, WAITING, failed).causes] == ["ing", "web"]


def test_image_that_cannot_be_pulled_is_traced_to_its_column() -> None:
    entry = an_entry(state=ResourceState.PROGRESSING, reason="ReplicasNotReady", message="0 of 3")
    waiting = {
        "name": "app",
        "image": "registry.example/app:2.41",
        "state": {"waiting": {"reason": "ImagePullBackOff"}},
    }
    cause = only_cause(entry, ObjectEvidence(pods=(a_pod(waiting),)))
    assert cause.kind is CauseKind.CONTAINER_FAILING
    assert cause.message == 'container "app" is waiting: ImagePullBackOff'
    assert cause.details == ("image registry.example/app:2.41",)
    (origin,) = cause.origins
    assert (origin.field, origin.column, origin.value) == (
        "spec.template.spec.containers[1].image",
        "image_tag",
        "2.41",
    )
    assert cause.next_steps == (
        (
            "correct the row; try it first: lynq plan --hub shop -n lynq --sql "
            "\"UPDATE tenants SET image_tag = '…' WHERE tenant_id = 'acme'\""
        ),
    )


def test_crash_names_exit_code_and_logs() -> None:
    entry = an_entry(state=ResourceState.PROGRESSING, reason="ReplicasNotReady")
    crashed = {
        "name": "app",
        "restartCount": 4,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
    }
    cause = only_cause(entry, ObjectEvidence(pods=(a_pod(crashed),)))
    assert cause.details == ("the last run ended: OOMKilled, exit code 137, 4 restarts",)
    assert cause.next_steps == ("kubectl logs acme-web-1 -c app -n tenant --previous",)


def test_pod_that_is_starting_is_no_failure() -> None:
    entry = an_entry(state=ResourceState.PROGRESSING, message="0 of 3 replicas ready")
    starting = {"name": "app", "state": {"waiting": {"reason": "ContainerCreating"}}}
    entry = an_entry(state=ResourceState.PROGRESSING, reason="ReplicasNotReady", message="0 of 3")
    cause = only_cause(entry, ObjectEvidence(pods=(a_pod(starting),), warnings=("A: b",)))
    assert (cause.kind, cause.message) == (CauseKind.NOT_READY, "0 of 3")
    assert cause.details == ('container "app" is waiting: ContainerCreating', "A: b")


def test_pod_that_fits_nowhere() -> None:
    entry = an_entry(state=ResourceState.PROGRESSING, reason="ReplicasNotReady")
    condition = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}
    cause = only_cause(entry, ObjectEvidence(pods=(a_pod(conditions=[condition]),)))
    assert cause.kind is CauseKind.POD_NOT_SCHEDULED
    assert cause.message == 'pod "acme-web-1" cannot be scheduled: 0/2 nodes are available'


def test_pod_that_is_being_deleted_is_ignored() -> None:
    entry = an_entry(state=ResourceState.PROGRESSING, reason="ReplicasNotReady", message="0 of 3")
    pod = a_pod({"name": "app", "state": {"waiting": {"reason": "ErrImagePull"}}})
    pod["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert only_cause(entry, ObjectEvidence(pods=(pod,))).kind is CauseKind.NOT_READY


@pytest.mark.parametrize(
    ("reason", "message", "kind"),
    [
        ("ApplyFailed", "403 Forbidden: exceeded quota: small", CauseKind.QUOTA_EXCEEDED),
        (
            "FailedCreate",
            "0 of 1 replicas ready: exceeded quota: small",
            CauseKind.QUOTA_EXCEEDED,
        ),
        ("ApplyFailed", "denied by the admission webhook a.example", CauseKind.POLICY_DENIED),
        (
            "ApplyFailed",
            "denied by the ValidatingAdmissionPolicy p (binding b)",
            CauseKind.POLICY_DENIED,
        ),
        ("ApplyFailed", "403: grant the verb patch on deployments.apps", CauseKind.RIGHT_MISSING),
        (
            "ApplyFailed",
            'the namespace "tenant" does not exist; create it',
            CauseKind.NAMESPACE_MISSING,
        ),
        (
            "ApplyFailed",
            "the API server serves no a.example/v1 Widget; is the CRD installed?",
            CauseKind.KIND_NOT_SERVED,
        ),
        ("ApplyFailed", "the API server rejected it", CauseKind.WRITE_REJECTED),
        ("ResourceConflict", "other managers own fields of it", CauseKind.FIELD_CONFLICT),
        (
            "ResourceConflict",
            'Deployment a/b belongs to LynqNode "beta-web"; rename it',
            CauseKind.OWNED_BY_ANOTHER_NODE,
        ),
        (
            "TemplateRenderError",
            '"web" could not be rendered: spec.replicas, line 1: int: no digits',
            CauseKind.TEMPLATE_ERROR,
        ),
        ("ReadinessTimeout", "not ready within 300 s: 0 of 1", CauseKind.NOT_READY),
    ],
)
def test_kind_of_a_failed_resource(reason: str, message: str, kind: CauseKind) -> None:
    state = ResourceState.CONFLICTED if reason == "ResourceConflict" else ResourceState.FAILED
    assert only_cause(an_entry(state=state, reason=reason, message=message)).kind is kind


def test_template_error_is_traced_to_its_column() -> None:
    message = '"web" could not be rendered: spec.replicas, line 1: int: not a number'
    cause = only_cause(an_entry(reason="TemplateRenderError", message=message))
    assert cause.message == "spec.replicas, line 1: int: not a number"
    assert [origin.column for origin in cause.origins] == ["replica_count"]


def test_unmapped_variable_is_mapped_in_the_hub() -> None:
    node = a_node(
        an_entry(
            reason="TemplateRenderError",
            message='"web" could not be rendered: spec.replicas, line 1: there is no variable',
        )
    )
    (cause,) = explain_node(node, a_hub(extras={}), FORM).causes
    assert cause.next_steps == ("map .replicas in extraValueMappings of LynqHub shop",)


def test_rejected_field_is_traced_to_its_column() -> None:
    message = "the API server rejected it: 422 Invalid: spec.replicas: Invalid value"
    assert [o.column for o in only_cause(an_entry(message=message)).origins] == ["replica_count"]


def test_conflicting_field_is_traced_to_its_column() -> None:
    message = "other managers own fields of it: 409: .spec.replicas is managed by 'hpa'"
    entry = an_entry(state=ResourceState.CONFLICTED, reason="ResourceConflict", message=message)
    cause = only_cause(entry)
    assert [origin.column for origin in cause.origins] == ["replica_count"]
    assert cause.next_steps == ("lynq diff acme-web -n lynq",)


def test_finalizers_of_an_object_that_is_being_deleted() -> None:
    entry = an_entry(state=ResourceState.DELETING, reason="Deleting", message="being deleted")
    live = {"metadata": {"deletionTimestamp": "x", "finalizers": ["a.example/wait"]}}
    cause = only_cause(entry, ObjectEvidence(live=live))
    assert cause.kind is CauseKind.DELETION_PENDING
    assert cause.message == "is being deleted and waits for its finalizers: a.example/wait"


def test_object_that_is_held_for_its_successor() -> None:
    entry = an_entry(state=ResourceState.DELETING, reason="HeldBack", message="kept until b")
    assert only_cause(entry).kind is CauseKind.HELD_FOR_SUCCESSOR


def test_paused_node_names_how_to_resume_it() -> None:
    entry = an_entry(state=ResourceState.PROGRESSING, reason="ReplicasNotReady")
    causes = explained(entry, annotations={"lynq.sh/paused": "true"}).causes
    assert [cause.kind for cause in causes] == [CauseKind.PAUSED, CauseKind.NOT_READY]
    assert causes[0].next_steps == ("lynq resume node/acme-web -n lynq",)


def test_protected_node_that_is_being_deleted() -> None:
    causes = explained(deleting=True, annotations={"lynq.sh/protect": "true"}).causes
    assert causes[0].kind is CauseKind.PROTECTED


def test_node_that_is_being_deleted_is_not_ready() -> None:
    explanation = explained(an_entry(state=ResourceState.READY), deleting=True)
    assert not explanation.is_ready
    assert explanation.causes[0].kind is CauseKind.DELETION_PENDING


def test_edited_node_waits_for_its_hub() -> None:
    conditions = (
        a_condition("Ready", holds=False),
        a_condition("Progressing", holds=False, reason="WaitingForHub", message="edited"),
    )
    (cause,) = explained(conditions=conditions).causes
    assert (cause.kind, cause.message) == (CauseKind.WAITING_FOR_HUB, "edited")


def test_missing_key_is_the_cause_of_nodes_and_hubs() -> None:
    conditions = (
        a_condition("Ready", holds=False),
        a_condition("Progressing", holds=False, reason="WaitingForKey", message="no key"),
    )
    hub = a_hub(conditions=(a_condition("Ready", holds=False, reason="WaitingForKey"),))
    explanation = explain_node(a_node(conditions=conditions), hub, FORM)
    causes = (*explanation.causes, *explanation.notes)
    assert [(cause.kind, cause.next_steps) for cause in causes] == [
        (CauseKind.WAITING_FOR_KEY, ("lynq doctor",))
    ] * 2


def test_invalid_dependencies_are_the_cause() -> None:
    conditions = (a_condition("Ready", holds=False, reason="DependencyError", message="a -> a"),)
    (cause,) = explained(conditions=conditions).causes
    assert (cause.kind, cause.message) == (CauseKind.NODE_INVALID, "a -> a")


def test_edited_row_values_are_not_corrected_in_the_form() -> None:
    condition = a_condition("Ready", holds=False, reason="VariablesBuildError", message="no JSON")
    (cause,) = explained(conditions=(condition,)).causes
    assert (cause.kind, cause.next_steps) == (CauseKind.NODE_INVALID, ("lynq sync shop -n lynq",))


def test_held_deletions_are_approved_only_if_the_rows_are_meant_to_be_gone() -> None:
    held = a_condition("DeletionHeld", holds=True, reason="DeletionGuardExceeded")
    entry = an_entry(state=ResourceState.READY, reason="Ready")
    (note,) = explain_node(a_node(entry), a_hub(conditions=(held,)), FORM).notes
    (step,) = note.next_steps
    assert step.startswith("restore the rows, or if they are meant to be gone: lynq approve shop")


def test_ready_node_behind_its_form_waits_for_a_slot() -> None:
    form = a_form(
        WEB,
        generation=4,
        rollout=Rollout(max_skew=2),
        rollout_status=RolloutStatus(
            phase=RolloutPhase.IN_PROGRESS, updating_nodes=2, message="not ready yet: beta-web"
        ),
    )
    explanation = explain_node(a_node(an_entry(state=ResourceState.READY)), a_hub(), form)
    (note,) = explanation.notes
    assert explanation.is_ready
    assert note.kind is CauseKind.ROLLOUT_WAITING
    assert note.message == (
        "has generation 4, the node was written with generation 3: it waits for a slot of the "
        "rollout (maxSkew 2, 2 in progress, phase InProgress): not ready yet: beta-web"
    )


def test_states_of_hub_and_form_are_notes() -> None:
    form = a_form(conditions=(a_condition("Valid", holds=False, message="no id"),), paused=True)
    hub = a_hub(
        conditions=(
            a_condition("Ready", holds=False, message="reading rows failed"),
            a_condition("DeletionHeld", holds=True, message="31 of 40 nodes"),
        )
    )
    explanation = explain_node(a_node(an_entry(state=ResourceState.READY)), hub, form)
    assert [note.kind for note in explanation.notes] == [
        CauseKind.FORM_INVALID,
        CauseKind.PAUSED,
        CauseKind.SOURCE_UNAVAILABLE,
        CauseKind.DELETION_HELD,
    ]


def test_missing_form_and_hub_do_not_hide_the_cause() -> None:
    explanation = explain_node(a_node(an_entry(message="rejected")), None, None)
    assert explanation.causes[0].message == "rejected"
    assert [note.kind for note in explanation.notes] == [CauseKind.FORM_MISSING]
