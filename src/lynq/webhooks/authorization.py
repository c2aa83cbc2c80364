"""Asks whether the author of a hub may get the Secrets that the hub sends to its host.

The operator reads every Secret. Without this question, the right to write hubs would be the right
to read all Secrets of the namespace, by a hub whose host belongs to its author.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from lynq.kube import Client
from lynq.kube.access_review import Subject, may_get_object
from lynq.kube.errors import KubeError
from lynq.kube.resource import SECRETS
from lynq.webhooks.review import AdmissionDenied, AdmissionRequest

REVIEW_SECONDS: Final = 3.0
"""Time limit of the reviews of a request; the API server waits 10 s for the webhook."""

Authorize: TypeAlias = Callable[
    [AdmissionRequest, Sequence[str]], Awaitable[AdmissionDenied | None]
]
"""Returns why the author of a request may not use these Secrets; None if it may."""


async def authorize_secrets(
    client: Client,
    request: AdmissionRequest,
    names: Sequence[str],
    *,
    seconds: float = REVIEW_SECONDS,
) -> AdmissionDenied | None:
    """Return a denial unless the author may get all these Secrets of the namespace.

    A review that fails is a denial too, so that no failurePolicy admits the request.
    """
    user = request.user_info
    subject = Subject(username=user.username, uid=user.uid, groups=user.groups, extra=user.extra)
    may_get = partial(may_get_object, client, subject, SECRETS, request.namespace)
    reason = ""
    try:
        async with asyncio.timeout(seconds):
            refused = [name for name in names if not await may_get(name)]
    except TimeoutError:
        reason = f"no answer within {seconds:g} s"
    except KubeError as error:
        reason = str(error)
    if reason:
        return AdmissionDenied(
            f'the SubjectAccessReview whether user "{user.username}" can get '
            f"{_secrets(names, request.namespace)} failed: {reason}"
        )
    if refused:
        return AdmissionDenied(
            f'user "{user.username}" cannot get {_secrets(refused, request.namespace)}, which the '
            "hub sends to its database server: grant the user the verb get on it"
        )
    return None


def _secrets(names: Sequence[str], namespace: str) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f'Secret {quoted} in namespace "{namespace}"'
