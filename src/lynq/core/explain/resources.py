"""The cause of one resource: its entry in the node's status, and what was read about its object.

The messages in the status are written by the operator, so a cause is recognized by them. An unknown
message is still shown as it is, with a less specific next step.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lynq.api import LynqForm, LynqHub, LynqNode, ResourceState, ResourceStatus
from lynq.api.events import EventReason
from lynq.api.reasons import StateReason
from lynq.core.explain.columns import Columns, container_path
from lynq.core.explain.model import Cause, CauseKind, ColumnOrigin, Evidence, ObjectEvidence
from lynq.core.explain.next_steps import NextSteps
from lynq.core.explain.pods import PodProblem, PodSeverity, worst_pod
from lynq.core.node.objects import ref_of
from lynq.core.node.variables import VariablesError, variables_of

_MAX_WARNINGS: Final = 2
_SIGNS: Final[tuple[tuple[CauseKind, re.Pattern[str]], ...]] = (
    (CauseKind.QUOTA_EXCEEDED, re.compile(r"(?:exceeded|failed) quota")),
    (CauseKind.RIGHT_MISSING, re.compile(r"grant the verb|requires a service account")),
    (
        CauseKind.POLICY_DENIED,
        re.compile(r"admission webhook|ValidatingAdmissionPolicy|PodSecurity|LimitRange|usage per"),
    ),
    (
        CauseKind.NAMESPACE_MISSING,
        re.compile(r'namespace "[^"]*" (?:does not exist|is being deleted|is not watched)'),
    ),
    (CauseKind.KIND_NOT_SERVED, re.compile(r"the API server serves no ")),
)


@dataclass(frozen=True, slots=True)
class ResourceExplainer:
    """Explains the resources of one node."""

    node: LynqNode
    hub: LynqHub | None
    columns: Columns
    evidence: Evidence

    @classmethod
    def of(
        cls, node: LynqNode, hub: LynqHub | None, form: LynqForm | None, evidence: Evidence
    ) -> "ResourceExplainer":
        """Return the explainer of a node; hub and form may not exist."""
        try:
            values = variables_of(node)
        except VariablesError:
            values = {}
        columns = Columns(form.spec if form else None, hub.spec if hub else None, values)
        return cls(node, hub, columns, evidence)

    def cause(self, entry: ResourceStatus, waiting: tuple[str, ...] = ()) -> Cause:
        """Return the cause of a resource that is not ready, or that cannot be removed."""
        ref = ref_of(entry)
        evidence = self.evidence.of(ref)
        pod = worst_pod(evidence.pods)
        kind = _kind(entry, evidence, pod)
        message = _message(entry, kind, evidence, pod)
        origins = self._origins(entry, kind, pod)
        return Cause(
            kind=kind,
            subject=str(ref) if ref.name else ref.kind,
            id=entry.id,
            message=message,
            since=entry.since,
            origins=origins,
            details=tuple(_details(entry, kind, evidence, pod)),
            waiting=waiting,
            next_steps=NextSteps(self.node, self.hub, self.columns).of(entry, kind, origins, pod),
        )

    def _origins(
        self, entry: ResourceStatus, kind: CauseKind, pod: PodProblem | None
    ) -> tuple[ColumnOrigin, ...]:
        if kind in _WITHOUT_ORIGIN:
            return ()
        if kind is CauseKind.CONTAINER_FAILING and pod:
            path = container_path(self.columns.manifest(entry.id), pod.container)
            if pod.severity is PodSeverity.IMAGE:
                return self.columns.of_field(entry.id, f"{path}.image") if path else ()
            return self.columns.of_field(entry.id, path) if path else ()
        if kind is CauseKind.NAMESPACE_MISSING:
            return self.columns.of_field(entry.id, "targetNamespace")
        return self.columns.of_message(entry.id, entry.message)


_WITHOUT_ORIGIN: Final = frozenset(
    {
        CauseKind.DELETION_PENDING,
        CauseKind.HELD_FOR_SUCCESSOR,
        CauseKind.KIND_NOT_SERVED,
        CauseKind.RIGHT_MISSING,
        CauseKind.NOT_READY,
        CauseKind.OWNED_BY_ANOTHER_NODE,
    }
)


def _kind(  # noqa: PLR0911 - one return per kind
    entry: ResourceStatus, evidence: ObjectEvidence, pod: PodProblem | None
) -> CauseKind:
    match entry.reason:
        case EventReason.TEMPLATE_RENDER_ERROR:
            return CauseKind.TEMPLATE_ERROR
        case EventReason.RESOURCE_CONFLICT:
            is_foreign = " belongs to " in entry.message
            return CauseKind.OWNED_BY_ANOTHER_NODE if is_foreign else CauseKind.FIELD_CONFLICT
        case StateReason.DUPLICATE_OBJECT:
            return CauseKind.WRITE_REJECTED
        case EventReason.APPLY_FAILED:
            return _sign(entry.message, CauseKind.WRITE_REJECTED)
    if entry.state is ResourceState.DELETING:
        is_held = entry.reason == StateReason.HELD_BACK
        return CauseKind.HELD_FOR_SUCCESSOR if is_held else CauseKind.DELETION_PENDING
    if evidence.live and evidence.live["metadata"].get("deletionTimestamp"):
        return CauseKind.DELETION_PENDING
    if pod and pod.severity is PodSeverity.UNSCHEDULED:
        return CauseKind.POD_NOT_SCHEDULED
    if pod and pod.severity is not PodSeverity.STARTING:
        return CauseKind.CONTAINER_FAILING
    return _sign(entry.message, CauseKind.NOT_READY)


def _sign(message: str, otherwise: CauseKind) -> CauseKind:
    return next((kind for kind, sign in _SIGNS if sign.search(message)), otherwise)


def _message(
    entry: ResourceStatus, kind: CauseKind, evidence: ObjectEvidence, pod: PodProblem | None
) -> str:
    if pod and kind in {CauseKind.CONTAINER_FAILING, CauseKind.POD_NOT_SCHEDULED}:
        return pod.message
    if kind is CauseKind.DELETION_PENDING and (finalizers := _finalizers(evidence)):
        return f"is being deleted and waits for its finalizers: {', '.join(finalizers)}"
    prefix = f'"{entry.id}" could not be rendered: '
    return entry.message.removeprefix(prefix) or f"{entry.state}: {entry.reason}"


def _details(
    entry: ResourceStatus, kind: CauseKind, evidence: ObjectEvidence, pod: PodProblem | None
) -> Iterator[str]:
    if pod and kind is CauseKind.CONTAINER_FAILING:
        if pod.detail:
            yield pod.detail
        if entry.state is ResourceState.FAILED:
            yield entry.message
    elif pod and kind is CauseKind.NOT_READY:
        yield pod.message
    if kind in {CauseKind.NOT_READY, CauseKind.CONTAINER_FAILING, CauseKind.POD_NOT_SCHEDULED}:
        yield from evidence.warnings[:_MAX_WARNINGS]


def _finalizers(evidence: ObjectEvidence) -> list[str]:
    metadata = (evidence.live or {}).get("metadata", {})
    return metadata.get("finalizers") or [] if metadata.get("deletionTimestamp") else []
