"""Access to the API server: RBAC, tokens, fence, interceptors."""

from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from built_in_resources import DEPLOYMENTS, SERVICE_ACCOUNTS
from lynq.kube import (
    Client,
    ClusterConfig,
    Impersonation,
    PartialObject,
    Request,
    Response,
    Send,
    errors,
    load_config,
)
from lynq.kube.credentials import Credential, StaticCredentials, TokenFileCredentials
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from rights import bind_role, user_of


@pytest.fixture
def config(kubeconfig: Path) -> ClusterConfig:
    return load_config(kubeconfig)


@pytest.fixture
async def token(client: Client, namespace: str) -> str:
    """The token of a service account that may only read ConfigMaps."""
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "reader"}}, namespace)
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
    user = user_of("reader", namespace)
    await bind_role(client, "reader", [rule], namespace=namespace, user=user)
    secret = {
        "metadata": {
            "name": "reader",
            "annotations": {"kubernetes.io/service-account.name": "reader"},
        },
        "type": "kubernetes.io/service-account-token",
    }
    await client.create(SECRETS, secret, namespace)
    watch = client.watch(
        SECRETS, namespace, fields="metadata.name=reader", initial_events=True, into=dict
    )
    async for event in watch:
        token = getattr(event, "object", {}).get("data", {}).get("token")
        if token:
            await watch.aclose()
            return b64decode(token).decode()
    raise AssertionError("no token was created")


@pytest.fixture
async def reader(config: ClusterConfig, token: str) -> AsyncIterator[Client]:
    credentials = StaticCredentials(Credential(token))
    async with Client.connect(replace(config, credentials=credentials)) as client:
        yield client


async def test_forbidden_request_names_verb_and_resource(reader: Client, namespace: str) -> None:
    await reader.list(CONFIG_MAPS, namespace, into=PartialObject)
    for attempt, words in [
        (reader.list(SECRETS, namespace), "grant the verb list on secrets"),
        (reader.list(CONFIG_MAPS), "grant the verb list on configmaps"),
        (
            reader.apply(
                DEPLOYMENTS, {"metadata": {"name": "web", "namespace": namespace}}, manager="m"
            ),
            "grant the verb patch on deployments.apps",
        ),
        (
            reader.patch(DEPLOYMENTS, "web", {}, namespace, subresource="status"),
            "grant the verb patch on deployments/status.apps",
        ),
        (anext(reader.watch(CONFIG_MAPS, namespace)), "grant the verb watch on configmaps"),
    ]:
        with pytest.raises(errors.Forbidden, match=words):
            await attempt


async def test_unknown_token_is_unauthorized(config: ClusterConfig, namespace: str) -> None:
    stranger = replace(config, credentials=StaticCredentials(Credential("hunter2")))
    async with Client.connect(stranger) as client:
        with pytest.raises(errors.Unauthorized) as caught:
            await client.list(CONFIG_MAPS, namespace)
    assert "hunter2" not in str(caught.value)


async def test_rotated_token_file_is_used_within_the_request(
    config: ClusterConfig, token: str, namespace: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("expired")
    source = TokenFileCredentials(file)
    await source.current()
    file.write_text(token)
    async with Client.connect(replace(config, credentials=source)) as client:
        await client.list(CONFIG_MAPS, namespace, into=PartialObject)


async def test_impersonation_has_the_permissions_of_the_user(
    config: ClusterConfig, token: str, namespace: str
) -> None:
    assert token
    whom = Impersonation(f"system:serviceaccount:{namespace}:reader")
    async with Client.connect(replace(config, impersonate=whom)) as client:
        await client.list(CONFIG_MAPS, namespace, into=PartialObject)
        with pytest.raises(errors.Forbidden):
            await client.list(SECRETS, namespace)


def fallen() -> None:
    raise errors.Fenced("the lease is lost")


async def test_closed_fence_blocks_writes_but_not_reads(client: Client, namespace: str) -> None:
    fenced = client.fenced(fallen)
    obj = {"metadata": {"name": "a", "namespace": namespace}}
    with pytest.raises(errors.Fenced):
        await fenced.apply(CONFIG_MAPS, obj, manager="lynq")
    with pytest.raises(errors.NotFound):
        await fenced.get(CONFIG_MAPS, "a", namespace)
    await fenced.unfenced().apply(CONFIG_MAPS, obj, manager="lynq")
    with pytest.raises(errors.Fenced):
        await fenced.delete(CONFIG_MAPS, "a", namespace)
    await fenced.get(CONFIG_MAPS, "a", namespace)


async def test_apply_with_a_lost_response_is_retried(client: Client, namespace: str) -> None:
    answers: list[Response] = []

    async def lose_the_first(request: Request, send: Send) -> Response:
        answers.append(await send(request))
        if len(answers) == 1:
            raise errors.ConnectionFailed("injected: the answer was lost")
        return answers[-1]

    obj = {"metadata": {"name": "a", "namespace": namespace}, "data": {"k": "v"}}
    lossy = client.intercepted(lose_the_first)
    applied = await lossy.apply(CONFIG_MAPS, obj, manager="lynq")
    assert [answer.status for answer in answers] == [201, 200]
    assert applied["data"] == {"k": "v"}


async def test_create_with_a_lost_response_is_not_retried(client: Client, namespace: str) -> None:
    async def lose(request: Request, send: Send) -> Response:
        await send(request)
        raise errors.ConnectionFailed("injected: the answer was lost")

    with pytest.raises(errors.ConnectionFailed):
        await client.intercepted(lose).create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace)
    await client.get(CONFIG_MAPS, "a", namespace)


async def test_list_that_expires_between_pages_is_repeated(client: Client, namespace: str) -> None:
    requests: list[Request] = []

    async def forget(request: Request, send: Send) -> Response:
        requests.append(request)
        if "continue" in request.query:
            return Response(410, body=b'{"code": 410, "reason": "Expired"}')
        return await send(request)

    for name in ("a", "b", "c"):
        labelled = {"metadata": {"name": name, "labels": {"test": "1"}}}
        await client.create(CONFIG_MAPS, labelled, namespace)
    forgetful = client.intercepted(forget)
    listing = await forgetful.list(
        CONFIG_MAPS, namespace, labels="test", page_size=2, into=PartialObject
    )
    assert [item.metadata.name for item in listing] == ["a", "b", "c"]
    assert len(requests) == 3
