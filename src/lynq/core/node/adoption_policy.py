"""adoptionPolicy: objects that existed before a node first applied them.

The first write of an object succeeds only if the object does not exist. If it does, the object is
read, and this module decides by its ownership: an object that was written for the node before is
its own, one that another node claims is not, and one that is foreign is adopted by the policy.

An adopted object (policy Retain) has the annotation `lynq.sh/adopted`, and the status of the node
records its uid, in case the annotation is removed. It has no owner reference, because the garbage
collector would delete it together with the node.
"""

from lynq.api import AdoptionPolicy, CreationPolicy, PatchStrategy, TResource
from lynq.api.names import (
    ANNOTATION_ADOPTED,
    ANNOTATION_APPLIED_HASH,
    ANNOTATION_CREATED_ONCE,
    TRUE,
)
from lynq.core.node.objects import AppliedRecord, LiveObject, ObjectRef, Owner
from lynq.core.node.ownership import is_orphan, is_owned_by, is_takeover

REPLACED = "replaced"
"""The value of `lynq.sh/adopted` on an object whose body patchStrategy replace has replaced."""


def adoption_policy(resource: TResource, ref: ObjectRef) -> AdoptionPolicy:
    """Return the policy of a resource; a Namespace is adopted only with an explicit one."""
    if resource.adoption_policy is not None:
        return resource.adoption_policy
    return AdoptionPolicy.REFUSE if ref.is_namespace else AdoptionPolicy.RETAIN


def adopted_value(resource: TResource) -> str:
    """Return the value of `lynq.sh/adopted` for a resource."""
    return REPLACED if resource.patch_strategy is PatchStrategy.REPLACE else TRUE


def is_adopted(live: LiveObject, adopted_uid: str) -> bool:
    """Return whether the object was adopted, by its annotation or by the status of the node."""
    return ANNOTATION_ADOPTED in live.annotations or bool(adopted_uid and adopted_uid == live.uid)


def is_foreign(live: LiveObject, ref: ObjectRef, owner: Owner, record: AppliedRecord) -> bool:
    """Return whether an object that no node claims existed before this node applied it."""
    if is_orphan(live) or is_owned_by(live, ref, owner, is_listed=True):
        return False
    return not is_takeover(live, ref, owner, record)


def is_excluded(resource: TResource, live: LiveObject) -> bool:
    """Return whether a user has marked the object of a Once resource, so that it is left alone.

    With our hash it is a copy of an object that we wrote.
    """
    return (
        resource.creation_policy is CreationPolicy.ONCE
        and live.annotations.get(ANNOTATION_CREATED_ONCE) == TRUE
        and ANNOTATION_APPLIED_HASH not in live.annotations
    )


def is_written_as_adopted(
    resource: TResource,
    live: LiveObject | None,
    ref: ObjectRef,
    owner: Owner,
    record: AppliedRecord,
) -> bool:
    """Return whether the desired object of a resource is that of an adopted object."""
    if live is None or adoption_policy(resource, ref) is AdoptionPolicy.OWN:
        return False
    return is_adopted(live, record.adopted_uid) or is_foreign(live, ref, owner, record)


def refusal(resource: TResource, ref: ObjectRef) -> str:
    """Return why an object that existed before is not written, and what to do about it."""
    if resource.adoption_policy is None:
        policy = "adoptionPolicy is not set, and a Namespace is adopted only with an explicit one"
    else:
        policy = "adoptionPolicy is Refuse"
    return (
        f"{ref} existed before and does not belong to this LynqNode ({policy}: rename the object, "
        "or set adoptionPolicy: Retain to apply it and to release it with the row)"
    )
