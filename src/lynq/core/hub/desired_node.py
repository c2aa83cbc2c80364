"""The node that a row and a form want: complete for one create, or written over one that exists."""

from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub, LynqNode, Metadata, NodeSpec, OwnerReference
from lynq.api.digests import spec_digest
from lynq.api.names import (
    ANNOTATION_HUB_ID,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_SERVICE_ACCOUNT,
    ANNOTATION_SPEC_DIGEST,
    ANNOTATION_TEMPLATE_GENERATION,
    FINALIZER_NODE,
    LABEL_HUB,
    LABEL_UID,
)
from lynq.api.naming import NodePair, node_name
from lynq.api.node_metadata import stamp
from lynq.core.hub.rendering import render_spec
from lynq.core.hub.row_values import RowValues


@dataclass(frozen=True, slots=True)
class DesiredNode:
    """A row and a form of a hub: all that decides about one node."""

    hub: LynqHub
    form: LynqForm
    values: RowValues

    @property
    def pair(self) -> NodePair:
        """Which node it is."""
        return NodePair(self.values.uid, self.form.metadata.name)

    @property
    def labels(self) -> dict[str, str]:
        """What the node is found by."""
        return {LABEL_HUB: self.hub.metadata.name, LABEL_UID: self.values.uid}

    @property
    def owner(self) -> OwnerReference:
        """How the node belongs to its hub."""
        return OwnerReference(
            api_version=self.hub.api_version,
            kind=self.hub.kind,
            name=self.hub.metadata.name,
            uid=self.hub.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        )

    def annotations(self, spec: NodeSpec, written: datetime) -> dict[str, str]:
        """Return what the node is rendered with, and when it was last given something new."""
        account = self.form.spec.service_account_name
        row = self.values.annotations | {ANNOTATION_HUB_ID: self.hub.metadata.name}
        return (
            row
            | {
                ANNOTATION_TEMPLATE_GENERATION: str(self.form.metadata.generation),
                ANNOTATION_ROLLOUT_UPDATE_START: stamp(written),
                ANNOTATION_SPEC_DIGEST: spec_digest(spec, row),
            }
            | ({ANNOTATION_SERVICE_ACCOUNT: account} if account else {})
        )

    def spec(self, written: datetime, previous: NodeSpec | None = None) -> NodeSpec:
        """Return the node's spec; raises RenderError."""
        return render_spec(self.hub, self.form, self.values, now=written, previous=previous)

    def new(self, now: datetime) -> LynqNode:
        """Return a new node, with everything it ever needs from the hub; raises RenderError."""
        spec = self.spec(now)
        return LynqNode(
            metadata=Metadata(
                name=node_name(self.pair),
                namespace=self.hub.metadata.namespace,
                labels=self.labels,
                annotations=self.annotations(spec, now),
                owner_references=[self.owner],
                finalizers=[FINALIZER_NODE],
            ),
            spec=spec,
        )

    def over(self, node: LynqNode, written: datetime) -> LynqNode:
        """Return the node as it should be; what others put on it stays. Raises RenderError."""
        known, spec = node.metadata, self.spec(written, node.spec)
        others = [each for each in known.owner_references if not self._replaces(each)]
        # A form that names no account any more takes the annotation back.
        kept = {k: v for k, v in known.annotations.items() if k != ANNOTATION_SERVICE_ACCOUNT}
        metadata = replace(
            known,
            labels=known.labels | self.labels,
            annotations=kept | self.annotations(spec, written),
            owner_references=[*others, self.owner],
            finalizers=list(dict.fromkeys([*known.finalizers, FINALIZER_NODE])),
        )
        return replace(node, metadata=metadata, spec=spec)

    def _replaces(self, reference: OwnerReference) -> bool:
        # An object has one controller at most: a hub made anew takes the place of its namesake.
        return reference.controller or reference.uid == self.hub.metadata.uid
