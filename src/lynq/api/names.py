"""The names that Lynq is known by in a cluster: group, labels, annotations, finalizers.

Objects made by the Go operator carry most of them, so a changed value here would lose track of
what is running. What a condition or an event is called is in `lynq.api.reasons`.
"""

from typing import Final

GROUP: Final = "operator.lynq.sh"
"""API group of the three kinds."""
VERSION: Final = "v1"
"""The only version of the group."""
API_VERSION: Final = f"{GROUP}/{VERSION}"
"""What manifests of the three kinds have as apiVersion."""
CATEGORY: Final = "lynq"
"""`kubectl get lynq` lists all three kinds."""
FIELD_MANAGER: Final = "lynq-operator"
"""Who owns, in managedFields, what Lynq applies."""
LEASE: Final = "f2130106.lynq.sh"
"""Name of the Lease that the leading operator holds."""

# Labels of a LynqNode.

LABEL_HUB: Final = "lynq.sh/hub"
"""Name of the hub that made the node."""
LABEL_UID: Final = "lynq.sh/uid"
"""The row's uid."""

# Labels of a managed object.

LABEL_MANAGED: Final = "lynq.sh/managed"
"""`"true"` on every object that Lynq manages: the server-side filter of all our watches."""
LABEL_NODE: Final = "lynq.sh/node"
"""Name of the node, where an owner reference cannot be; shortened with a hash if over 63."""
LABEL_NODE_NAMESPACE: Final = "lynq.sh/node-namespace"
"""Namespace of the node, always together with `lynq.sh/node`."""
LABEL_ORPHANED: Final = "lynq.sh/orphaned"
"""`"true"` on an object that was retained when it was no longer wanted."""

# Annotations of a LynqHub, and those that people set.

ANNOTATION_APPROVE_DELETION: Final = "lynq.sh/approve-deletion"
"""Digest of the removals that the deletion guard holds and a person has approved."""
ANNOTATION_FORCE_SYNC: Final = "lynq.sh/force-sync"
"""On a hub: a new value makes it read its rows now."""
ANNOTATION_FORCE_RECONCILE: Final = "lynq.sh/force-reconcile"
"""On a node: a new value makes it write all its resources once, changed or not."""
ANNOTATION_PAUSED: Final = "lynq.sh/paused"
"""`"true"` on a node: its resources are left as they are."""
ANNOTATION_PROTECT: Final = "lynq.sh/protect"
"""`"true"` on a hub, form or node: deleting it is refused."""

# Annotations of a LynqNode: what its templates are rendered with.

ANNOTATION_HUB_ID: Final = "lynq.sh/hubId"
"""Name of the hub, `.hubId` in templates."""
ANNOTATION_ACTIVATE: Final = "lynq.sh/activate"
"""The activate column's text, `.activate` in templates."""
ANNOTATION_HOST_OR_URL: Final = "lynq.sh/hostOrUrl"
"""The deprecated column's text, `.hostOrUrl` in templates."""
ANNOTATION_EXTRA: Final = "lynq.sh/extra"
"""All extra variables as one JSON object with sorted keys."""
ANNOTATION_TEMPLATE_GENERATION: Final = "lynq.sh/template-generation"
"""Generation of the form that the node was last written from."""
ANNOTATION_ROLLOUT_UPDATE_START: Final = "lynq.sh/rollout-update-start"
"""When the node was last written for a new row or form (RFC 3339); `now` in templates."""
ANNOTATION_SPEC_DIGEST: Final = "lynq.sh/spec-digest"
"""Digest of the spec as the hub wrote it: for one that somebody edited, nothing is taken away."""
ANNOTATION_RETAIN: Final = "lynq.sh/retain"
"""`"true"` on a node that was deleted with `--cascade=orphan`: its objects are retained."""
ANNOTATION_SERVICE_ACCOUNT: Final = "lynq.sh/service-account"
"""ServiceAccount in whose name the objects are written; told apart from the form, which may go."""

# Annotations of a managed object.

ANNOTATION_NODE_NAME: Final = "lynq.sh/node-name"
"""Full name of the node, where the label `lynq.sh/node` had to be shortened."""
ANNOTATION_DELETION_POLICY: Final = "lynq.sh/deletion-policy"
"""Delete or Retain: what to do once the object is no longer in the form."""
ANNOTATION_CREATED_ONCE: Final = "lynq.sh/created-once"
"""`"true"` on an object of creationPolicy Once: it is not written again."""
ANNOTATION_APPLIED_HASH: Final = "lynq.sh/applied-hash"
"""Hash of the manifest as last written; the same hash needs no write."""
ANNOTATION_APPLY_START_TIME: Final = "lynq.sh/apply-start-time"
"""When the present manifest was first written: the readiness timeout counts from here."""
ANNOTATION_ORPHANED_AT: Final = "lynq.sh/orphaned-at"
"""When the object was retained (RFC 3339)."""
ANNOTATION_ORPHANED_REASON: Final = "lynq.sh/orphaned-reason"
"""Why the object was retained: an `OrphanReason`."""

# Finalizers.

FINALIZER_HUB: Final = "lynq.sh/hub-finalizer"
"""Keeps a deleted hub until its nodes are gone."""
FINALIZER_NODE: Final = "lynqnode.operator.lynq.sh/finalizer"
"""Keeps a deleted node until its objects are gone or retained."""

TRUE: Final = "true"
"""The value of labels and annotations that are switches."""
