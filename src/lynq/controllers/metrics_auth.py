"""Asks the API server whose a token is, and whether its holder may read the series."""

from typing import Any, Final

from lynq.kube import Client, Resource
from lynq.kube.errors import KubeError
from lynq.telemetry import AccessDecision, ReviewFailedError

_TOKENS: Final = Resource(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False
)
_ACCESS: Final = Resource(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
_WANTED: Final = {"path": "/metrics", "verb": "get"}


async def may_read_metrics(client: Client, token: str) -> AccessDecision:
    """Return what the holder of the token may do; raises ReviewFailedError.

    The client is one without a fence: reviews are sent like writes, and every replica answers
    Prometheus, not only the leader.
    """
    try:
        user = await _user(client, token)
        if user is None:
            return AccessDecision.UNAUTHENTICATED
        return AccessDecision.ALLOWED if await _may(client, user) else AccessDecision.FORBIDDEN
    except KubeError as error:
        raise ReviewFailedError(str(error)) from error


async def _user(client: Client, token: str) -> dict[str, Any] | None:
    review = await client.create(_TOKENS, {"spec": {"token": token}})
    status = review.get("status", {})
    return status.get("user", {}) if status.get("authenticated") else None


async def _may(client: Client, user: dict[str, Any]) -> bool:
    spec = {
        "user": user.get("username", ""),
        "uid": user.get("uid", ""),
        "groups": user.get("groups", []),
        "extra": user.get("extra", {}),
        "nonResourceAttributes": _WANTED,
    }
    review = await client.create(_ACCESS, {"spec": spec})
    return bool(review.get("status", {}).get("allowed"))
