"""The API types: LynqHub, LynqForm and LynqNode.

All other packages import this one, and it imports none of them. Labels, annotations and finalizers
are in `lynq.api.names`, reasons of conditions in `lynq.api.reasons`, events in `lynq.api.events`,
the generated CRDs in `lynq.api.crds`.
"""

from lynq.api.conditions import Condition, ConditionStatus
from lynq.api.form import FormSpec, FormStatus, LynqForm, Rollout, RolloutPhase, RolloutStatus
from lynq.api.hub import (
    DeletionGuard,
    DeletionGuardStatus,
    DeletionPeriod,
    HeldDeletions,
    HubSpec,
    HubStatus,
    LynqHub,
    RejectedRow,
    RejectedRows,
    ValueMappings,
)
from lynq.api.metadata import Metadata, OwnerReference
from lynq.api.node import (
    LynqNode,
    NodeSpec,
    NodeStatus,
    RandomValueSource,
    ResourceState,
    ResourceStatus,
)
from lynq.api.resource import (
    AdoptionPolicy,
    ConflictPolicy,
    CreationPolicy,
    DeletionPolicy,
    PatchStrategy,
    ResourceLists,
    TResource,
)
from lynq.api.source import (
    ChangeDetection,
    HubSource,
    KeyHolder,
    MySQL,
    ObjectKeyRef,
    PostgreSQL,
    SecretKeyRef,
    SourceType,
    Tls,
    TlsMode,
)

__all__ = [
    "AdoptionPolicy",
    "ChangeDetection",
    "Condition",
    "ConditionStatus",
    "ConflictPolicy",
    "CreationPolicy",
    "DeletionGuard",
    "DeletionGuardStatus",
    "DeletionPeriod",
    "DeletionPolicy",
    "FormSpec",
    "FormStatus",
    "HeldDeletions",
    "HubSource",
    "HubSpec",
    "HubStatus",
    "KeyHolder",
    "LynqForm",
    "LynqHub",
    "LynqNode",
    "Metadata",
    "MySQL",
    "NodeSpec",
    "NodeStatus",
    "ObjectKeyRef",
    "OwnerReference",
    "PatchStrategy",
    "PostgreSQL",
    "RandomValueSource",
    "RejectedRow",
    "RejectedRows",
    "ResourceLists",
    "ResourceState",
    "ResourceStatus",
    "Rollout",
    "RolloutPhase",
    "RolloutStatus",
    "SecretKeyRef",
    "SourceType",
    "TResource",
    "Tls",
    "TlsMode",
    "ValueMappings",
]
