"""The author of a hub needs the right to get the Secrets that the hub sends to its host."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from cluster.webhooks.admission import HUBS, Admission, hub
from lynq.kube import Client, Request, Response, Send
from lynq.kube.errors import Forbidden
from lynq.webhooks.authorization import authorize_secrets
from rights import bind_role
from waiting import eventually


def hub_with_secrets(host: str = "db", **changed: Any) -> dict[str, Any]:
    obj = hub(**changed)
    tls = {"caRef": {"name": "ca", "key": "ca.crt"}}
    password = {"name": "db-password", "key": "password"}
    obj["spec"]["source"]["mysql"] |= {"host": host, "passwordRef": password, "tls": tls}
    return obj


async def grant(admitting: Admission, user: str, name: str, rule: dict[str, Any]) -> None:
    await bind_role(admitting.client, name, [rule], namespace=admitting.namespace, user=user)


@pytest.fixture
async def author(admitting: Admission) -> Client:
    """A client of the user jane, who may write hubs and read no Secret."""
    rule = {"apiGroups": [HUBS.group], "resources": ["lynqhubs"], "verbs": ["*"]}
    await grant(admitting, "jane", "hubs", rule)
    return admitting.client.acting_as("jane")


async def test_author_without_the_right_to_get_secrets_is_denied_until_granted(
    admitting: Admission, author: Client
) -> None:
    wanted = admitting.in_namespace(hub_with_secrets())
    with pytest.raises(Forbidden) as raised:
        await author.create(HUBS, wanted)
    message = raised.value.status.message
    assert 'user "jane" cannot get Secret "ca", "db-password" in namespace' in message

    rule = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": ["ca", "db-password"],
        "verbs": ["get"],
    }
    await grant(admitting, "jane", "passwords", rule)

    async def is_created() -> bool:
        try:
            await author.create(HUBS, wanted)
        except Forbidden:
            return False
        return True

    await eventually(is_created)


async def test_only_updates_of_the_connection_and_of_what_is_read_need_the_right(
    admitting: Admission, author: Client
) -> None:
    await admitting.client.create(HUBS, admitting.in_namespace(hub_with_secrets()))
    patch = partial(author.patch, HUBS, "shop", namespace=admitting.namespace)

    await patch({"metadata": {"labels": {"a": "b"}}})
    await patch({"spec": {"source": {"syncInterval": "9s", "mysql": {"queryTimeout": "9s"}}}})
    for change in (
        {"table": "mysql.user"},
        {"host": "elsewhere"},
        {"port": 3307},
        {"tls": {"mode": "disable"}},
        {"passwordRef": {"name": "other"}},
    ):
        with pytest.raises(Forbidden) as raised:
            await patch({"spec": {"source": {"mysql": change}}})
        assert 'user "jane" cannot get Secret' in raised.value.status.message
    with pytest.raises(Forbidden):
        await patch({"spec": {"extraValueMappings": {"plan": "authentication_string"}}})
    await patch({"spec": {"source": {"mysql": {"passwordRef": None, "tls": None}}}})


async def test_review_that_fails_denies_the_request(admission: Admission) -> None:
    async def refuse(request: Request, send: Send) -> Response:
        if "subjectaccessreviews" in request.path:
            request = replace(request, headers={**request.headers, "Impersonate-User": "nobody"})
        return await send(request)

    authorize = partial(authorize_secrets, admission.client.intercepted(refuse))
    async with (
        admission.replica(authorize=authorize) as server,
        admission.configured(server),
    ):
        message = await admission.denial(HUBS, hub_with_secrets())
        assert "denied the request: the SubjectAccessReview whether user" in message
        assert 'can get Secret "ca", "db-password"' in message
        assert "failed: " in message
        assert await admission.denial(HUBS, hub()) == ""


async def test_review_without_an_answer_denies_the_request(admission: Admission) -> None:
    async def hang(_request: Request, _send: Send) -> Response:
        return await asyncio.Future()

    authorize = partial(authorize_secrets, admission.client.intercepted(hang), seconds=0.1)
    async with (
        admission.replica(authorize=authorize) as server,
        admission.configured(server),
    ):
        message = await admission.denial(HUBS, hub_with_secrets())
        assert "failed: no answer within 0.1 s" in message
