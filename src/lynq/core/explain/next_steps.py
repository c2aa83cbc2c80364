"""What to do about a cause: the column of the row, the entry of the form, or a command."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lynq.api import HubSpec, LynqHub, LynqNode, ResourceStatus
from lynq.core.explain.columns import Columns
from lynq.core.explain.model import CauseKind, ColumnOrigin
from lynq.core.explain.pods import PodProblem, PodSeverity

_STEPS: Final[Mapping[CauseKind, str]] = {
    CauseKind.POD_NOT_SCHEDULED: "kubectl describe pod {pod}{namespace}",
    CauseKind.QUOTA_EXCEEDED: "raise the quota, or lower what the row asks for: "
    "kubectl describe quota{namespace}",
    CauseKind.KIND_NOT_SERVED: "install the CRD of {api_version} {kind}, or remove {place} from "
    "the form",
    CauseKind.RIGHT_MISSING: "grant the right, then: lynq reconcile {node}",
    CauseKind.FIELD_CONFLICT: "lynq diff {node}",
    CauseKind.HELD_FOR_SUCCESSOR: "correct {place}: the old object is removed as soon as its "
    "successor is accepted",
    CauseKind.DELETION_PENDING: "kubectl get {object} -o yaml: the owner of each finalizer must "
    "remove it",
    CauseKind.NOT_READY: "kubectl describe {object}",
}


@dataclass(frozen=True, slots=True)
class NextSteps:
    """The next steps for the resources of a node."""

    node: LynqNode
    hub: LynqHub | None
    columns: Columns

    def of(
        self,
        entry: ResourceStatus,
        kind: CauseKind,
        origins: tuple[ColumnOrigin, ...],
        pod: PodProblem | None,
    ) -> tuple[str, ...]:
        """Return what to do about a cause; empty if its message says it."""
        if kind is CauseKind.CONTAINER_FAILING and pod and pod.severity is not PodSeverity.IMAGE:
            return (_logs(pod, entry),)
        if kind in {
            CauseKind.CONTAINER_FAILING,
            CauseKind.TEMPLATE_ERROR,
            CauseKind.WRITE_REJECTED,
        }:
            return (self._correction(entry, origins),)
        step = _STEPS.get(kind)
        if step is None:
            return ()
        namespace = _namespace(entry.namespace)
        return (
            step.format(
                pod=pod.pod if pod else "",
                namespace=namespace,
                api_version=entry.api_version,
                kind=entry.kind,
                object=f"{entry.kind.lower()} {entry.name}{namespace}",
                place=self.columns.place(entry.id),
                node=f"{self.node.metadata.name}{_namespace(self.node.metadata.namespace)}",
            ),
        )

    def _correction(self, entry: ResourceStatus, origins: tuple[ColumnOrigin, ...]) -> str:
        """Return how to correct the row, or else the hub or the form."""
        mapped = [origin for origin in origins if origin.column and origin.variable != "uid"]
        unmapped = [f".{origin.variable}" for origin in origins if not origin.column]
        if self.hub and unmapped:
            names = ", ".join(unmapped)
            return f"map {names} in extraValueMappings of LynqHub {self.hub.metadata.name}"
        if self.hub and mapped:
            return f"correct the row; try it first: {plan_command(self.hub, self.node, mapped[0])}"
        place = self.columns.place(entry.id)
        return f"correct {place} of LynqForm {self.node.spec.template_ref}"


def plan_command(hub: LynqHub, node: LynqNode, origin: ColumnOrigin) -> str:
    """Return the command that shows what a new value of a column would do."""
    where = f"WHERE {hub.spec.value_mappings.uid} = '{node.spec.uid}'"
    sql = f"UPDATE {table_of(hub.spec)} SET {origin.column} = '…' {where}"  # noqa: S608 - shown, not sent
    return f'lynq plan --hub {hub.metadata.name}{_namespace(node.metadata.namespace)} --sql "{sql}"'


def table_of(hub: HubSpec) -> str:
    """Return the table of a hub; "" if its source is incomplete."""
    block = hub.source.block
    return block.table if block else ""


def _logs(pod: PodProblem, entry: ResourceStatus) -> str:
    logs = f"kubectl logs {pod.pod} -c {pod.container}{_namespace(entry.namespace)}"
    return f"{logs} --previous" if pod.severity is PodSeverity.CRASH else logs


def _namespace(name: str) -> str:
    return f" -n {name}" if name else ""
