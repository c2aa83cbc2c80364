"""Authorizes requests for /metrics with a TokenReview and a SubjectAccessReview."""

from typing import Any, Final

from lynq.kube import Client, Resource
from lynq.kube.access_review import Subject, may_get_path
from lynq.kube.errors import KubeError
from lynq.telemetry import AccessDecision, ReviewFailedError

_TOKEN_REVIEWS: Final = Resource(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False
)


async def may_read_metrics(client: Client, token: str) -> AccessDecision:
    """Return whether the token's user may GET /metrics; raises ReviewFailedError.

    The client must not be fenced: reviews are created like other objects, and every replica serves
    /metrics, not only the leader.
    """
    try:
        user = await _authenticate(client, token)
        if user is None:
            return AccessDecision.UNAUTHENTICATED
        is_allowed = await may_get_path(client, _subject(user), "/metrics")
    except KubeError as error:
        raise ReviewFailedError(str(error)) from error
    return AccessDecision.ALLOWED if is_allowed else AccessDecision.FORBIDDEN


async def _authenticate(client: Client, token: str) -> dict[str, Any] | None:
    review = await client.create(_TOKEN_REVIEWS, {"spec": {"token": token}})
    status = review.get("status", {})
    return status.get("user", {}) if status.get("authenticated") else None


def _subject(user: dict[str, Any]) -> Subject:
    return Subject(
        username=user.get("username", ""),
        uid=user.get("uid", ""),
        groups=user.get("groups", []),
        extra=user.get("extra", {}),
    )
