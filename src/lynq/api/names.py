"""Names in the cluster: API group, labels, annotations, finalizers.

They are part of the contract, because objects of the Go operator have most of them. Reasons of
conditions are in `lynq.api.reasons`, those of events in `lynq.api.events`.
"""

from typing import Final

GROUP: Final = "operator.lynq.sh"
"""API group of the three kinds."""
VERSION: Final = "v1"
"""The only version of the group."""
API_VERSION: Final = f"{GROUP}/{VERSION}"
"""The apiVersion of the three kinds."""
CATEGORY: Final = "lynq"
"""`kubectl get lynq` lists all three kinds."""
FIELD_MANAGER: Final = "lynq-operator"
"""The field manager of applied resources."""
PREFIX: Final = "lynq.sh/"
"""The prefix of all labels and annotations of Lynq."""
LEASE: Final = "f2130106.lynq.sh"
"""Name of the Lease of the leader election."""

# Labels of a LynqNode.

LABEL_HUB: Final = "lynq.sh/hub"
"""Name of the hub of the node."""
LABEL_UID: Final = "lynq.sh/uid"
"""The row's uid."""

LABEL_CONFLICTED: Final = "lynq.sh/conflicted"
"""`"true"` on a node with a resource in conflict: other shards do not delete what it desires."""

# Labels of a LynqNode and of its objects.

LABEL_BUCKET: Final = "lynq.sh/bucket"
"""The bucket of the node, 0 to 63: shards select their share of the objects by it."""

# Labels of a managed object.

LABEL_MANAGED: Final = "lynq.sh/managed"
"""`"true"` on every managed object: the label selector of the watches."""
LABEL_NODE: Final = "lynq.sh/node"
"""Name of the node, for objects without owner reference; over 63 characters with a hash."""
LABEL_NODE_NAMESPACE: Final = "lynq.sh/node-namespace"
"""Namespace of the node, always together with `lynq.sh/node`."""
LABEL_ORPHANED: Final = "lynq.sh/orphaned"
"""`"true"` on an object that was retained when it was no longer desired."""

# Label of a pod of the operator.

LABEL_WEBHOOK_PATH: Final = "lynq.sh/webhook-path"
"""`secret` on a pod that answers webhooks at paths with a secret part; older versions do not."""

# Annotations that users set.

ANNOTATION_APPROVE_DELETION: Final = "lynq.sh/approve-deletion"
"""On a hub: the digest of the held deletions that the user approves."""
ANNOTATION_FORCE_SYNC: Final = "lynq.sh/force-sync"
"""On a hub: a new value triggers a read of its rows."""
ANNOTATION_FORCE_RECONCILE: Final = "lynq.sh/force-reconcile"
"""On a node: a new value applies all resources once, changed or not."""
ANNOTATION_PAUSED: Final = "lynq.sh/paused"
"""`"true"` on a node: its resources are not changed."""
ANNOTATION_PROTECT: Final = "lynq.sh/protect"
"""`"true"` on a hub, form or node: its deletion is denied."""

# Annotations of a LynqNode, written by the hub controller.

ANNOTATION_HUB_ID: Final = "lynq.sh/hubId"
"""Name of the hub, `.hubId` in templates."""
ANNOTATION_ACTIVATE: Final = "lynq.sh/activate"
"""Text of the activate column, `.activate` in templates."""
ANNOTATION_HOST_OR_URL: Final = "lynq.sh/hostOrUrl"
"""Text of the deprecated column, `.hostOrUrl` in templates."""
ANNOTATION_EXTRA: Final = "lynq.sh/extra"
"""All extra variables as one JSON object with sorted keys."""
ANNOTATION_TEMPLATE_GENERATION: Final = "lynq.sh/template-generation"
"""Generation of the form that the node was last rendered from."""
ANNOTATION_ROLLOUT_UPDATE_START: Final = "lynq.sh/rollout-update-start"
"""Time of the last write for a new row or form (RFC 3339); `now` in templates."""
ANNOTATION_ROW_CHANGED_AT: Final = "lynq.sh/row-changed-at"
"""Time of the change of the row that the last write of a node reflects (RFC 3339): that of the push
notification, else that of the read which found it. Absent after a change of the form."""
ANNOTATION_ROLLOUT_BUDGET: Final = "lynq.sh/rollout-budget"
"""`Form` or `Row`: the budget of maxSkew that the last write of a node takes a slot of."""
ANNOTATION_SPEC_DIGEST: Final = "lynq.sh/spec-digest"
"""Digest of the spec as the hub wrote it. An edited spec deletes no objects."""
ANNOTATION_SIGNATURE: Final = "lynq.sh/signature"
"""HMAC by the installation key of all that the hub wrote. A node without it is not carried out."""
ANNOTATION_REFUSED_RESOURCES: Final = "lynq.sh/refused-resources"
"""Resources of the form that fail on every node, as one JSON object: the error by resource id."""
ANNOTATION_INITIAL_INVENTORY: Final = "lynq.sh/initial-inventory"
"""Objects that a new node applies, as a JSON array. It is read while the status lists no object."""
ANNOTATION_RETAIN: Final = "lynq.sh/retain"
"""`"true"` on a node that was deleted with `--cascade=orphan`: its objects are retained."""
ANNOTATION_SERVICE_ACCOUNT: Final = "lynq.sh/service-account"
"""The form's service account; used while the node is deleted, when the form may not exist."""

# Annotations of a managed object.

ANNOTATION_NODE_NAME: Final = "lynq.sh/node-name"
"""Full name of the node, where the label `lynq.sh/node` is shortened."""
ANNOTATION_TRACKING_ID: Final = "lynq.sh/tracking-id"
"""uid of the node, and group, kind, namespace and name of the object, for objects without owner
reference. A copy of the object does not fit it."""
ANNOTATION_ADOPTED: Final = "lynq.sh/adopted"
"""`"true"` on an object that existed before: it is released instead of deleted. `"replaced"` if
patchStrategy replace has replaced its body, which stays then."""
ANNOTATION_DELETION_POLICY: Final = "lynq.sh/deletion-policy"
"""Delete or Retain: the policy when the object is no longer desired."""
ANNOTATION_CREATED_ONCE: Final = "lynq.sh/created-once"
"""`"true"` on an object of creationPolicy Once: it is not applied again."""
ANNOTATION_APPLIED_HASH: Final = "lynq.sh/applied-hash"
"""Hash of the last applied manifest; an equal hash needs no write."""
ANNOTATION_APPLY_START_TIME: Final = "lynq.sh/apply-start-time"
"""Time at which the current manifest was first applied: the start of the readiness timeout."""
ANNOTATION_ORPHANED_AT: Final = "lynq.sh/orphaned-at"
"""Time at which the object was retained (RFC 3339)."""
ANNOTATION_ORPHANED_FROM: Final = "lynq.sh/orphaned-from"
"""Namespace and name of the node that an object was retained from."""
ANNOTATION_ORPHANED_REASON: Final = "lynq.sh/orphaned-reason"
"""Why the object was retained: an `OrphanReason`."""

# Finalizers.

FINALIZER_HUB: Final = "lynq.sh/hub-finalizer"
"""Blocks the deletion of a hub until its nodes are deleted."""
FINALIZER_FORM: Final = "lynq.sh/form-finalizer"
"""Blocks the deletion of a form for as long as it is protected; other forms do not have it."""
FINALIZER_NODE: Final = "lynqnode.operator.lynq.sh/finalizer"
"""Blocks the deletion of a node until its objects are deleted or retained."""

TRUE: Final = "true"
"""The value of boolean labels and annotations."""
