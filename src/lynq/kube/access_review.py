"""Asks the API server by SubjectAccessReview what a user may do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lynq.kube.client import Client
from lynq.kube.resource import Resource

_ACCESS_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
_OWN_ACCESS_REVIEWS: Final = Resource(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)
_OWN_REVIEWS: Final = Resource(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A user as the API server authenticated it."""

    username: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


def service_account(namespace: str, name: str) -> Subject:
    """Return a service account as the API server authenticates it."""
    return Subject(
        username=f"system:serviceaccount:{namespace}:{name}",
        groups=(
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            "system:authenticated",
        ),
    )


async def may_use(
    client: Client, subject: Subject, verb: str, resource: Resource, namespace: str
) -> bool:
    """Return whether the subject may use a verb on all objects of a namespace; raises KubeError."""
    attributes = {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "namespace": namespace,
        "verb": verb,
    }
    return await _is_allowed(client, subject, {"resourceAttributes": attributes})


async def own_identity(client: Client) -> Subject:
    """Return the user that the client authenticates as; raises KubeError."""
    review = await client.create(_OWN_REVIEWS, {})
    user = review.get("status", {}).get("userInfo", {})
    return Subject(
        username=user.get("username", ""),
        uid=user.get("uid", ""),
        groups=user.get("groups") or (),
        extra=user.get("extra") or {},
    )


async def may_use_oneself(client: Client, verb: str, resource: Resource, namespace: str) -> bool:
    """Return whether the client may use a verb in a namespace, "" for all; raises KubeError."""
    attributes = {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "namespace": namespace,
        "verb": verb,
    }
    review = await client.create(_OWN_ACCESS_REVIEWS, {"spec": {"resourceAttributes": attributes}})
    return bool(review.get("status", {}).get("allowed"))


async def may_get_path(client: Client, subject: Subject, path: str) -> bool:
    """Return whether the subject may GET a path that is no resource; raises KubeError."""
    return await _is_allowed(
        client, subject, {"nonResourceAttributes": {"path": path, "verb": "get"}}
    )


async def may_get_object(
    client: Client, subject: Subject, resource: Resource, namespace: str, name: str
) -> bool:
    """Return whether the subject may get an object; raises KubeError.

    The client must not be fenced: a review is created like other objects, also by replicas that do
    not lead.
    """
    attributes = {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "namespace": namespace,
        "name": name,
        "verb": "get",
    }
    return await _is_allowed(client, subject, {"resourceAttributes": attributes})


async def _is_allowed(client: Client, subject: Subject, attributes: dict[str, Any]) -> bool:
    spec = {
        "user": subject.username,
        "uid": subject.uid,
        "groups": list(subject.groups),
        "extra": dict(subject.extra),
        **attributes,
    }
    review = await client.create(_ACCESS_REVIEWS, {"spec": spec})
    return bool(review.get("status", {}).get("allowed"))
