"""Roles of tests, written until the API server grants exactly their rules.

The authorizer of the API server reads roles from caches: a right that was granted or revoked a
moment ago may not be so yet.
"""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from lynq.kube import Client, Resource
from waiting import eventually

ROLES = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced=True)
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced=True
)
_REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "SubjectAccessReview",
    "subjectaccessreviews",
    namespaced=False,
)

Rule = dict[str, Any]


def user_of(account: str, namespace: str) -> str:
    """Return the user name of a service account."""
    return f"system:serviceaccount:{namespace}:{account}"


async def bind_role(
    client: Client, name: str, rules: Iterable[Rule], *, namespace: str, user: str
) -> None:
    """Create a Role and bind it to a user, who has these rights when this returns."""
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": ROLES.group, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": ROLES.group, "kind": "User", "name": user}],
    }
    await client.create(BINDINGS, binding, namespace)
    await set_rules(client, name, rules, namespace=namespace, user=user)


async def set_rules(
    client: Client, name: str, rules: Iterable[Rule], *, namespace: str, user: str
) -> None:
    """Write the rules of a Role; when this returns, its user has these rights and no others."""
    # Only this version of the role has this rule: with it, all others are in force.
    marker = {"apiGroups": ["version.example.com"], "resources": [uuid.uuid4().hex]}
    role = {
        "metadata": {"name": name, "namespace": namespace},
        "rules": [*rules, marker | {"verbs": ["get"]}],
    }
    await client.apply(ROLES, role, manager="test", force=True)
    attributes = {
        "namespace": namespace,
        "group": marker["apiGroups"][0],
        "resource": marker["resources"][0],
        "verb": "get",
    }
    await wait_until_allowed(client, user, attributes)


async def wait_until_allowed(
    client: Client, user: str, attributes: dict[str, str], *, groups: Sequence[str] = ()
) -> None:
    """Wait until the API server allows a user, or a member of groups, to do something."""
    spec = {"user": user, "groups": list(groups), "resourceAttributes": attributes}
    review = {"spec": spec}

    async def allowed() -> bool:
        answer = await client.create(_REVIEWS, review)
        return bool(answer["status"]["allowed"])

    await eventually(allowed)
