"""The installation key cannot be read, is lost, or never existed: which nodes wait."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec
import pytest

from lynq.api import LynqNode, Metadata, NodeSpec, NodeStatus, RandomValueSource
from lynq.api.installation_key import NO_KEY, InstallationKey, Keyless, KeyState, MissingKey
from lynq.controllers.installation_key import KEY_SECRET, CurrentKey, KeyLoader
from lynq.kube import Interceptor, Request, Resource, Response, Send
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.builders import event_count, wait_for_object
from operated.environment import FORMS, HUBS, NODES, Environment, Object, config_map
from operated.running_operator import (
    get_node,
    node_condition,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually, stays

RANDOM = config_map("{{ randAlphaNum 24 }}", id="random", nameTemplate="{{ .uid }}-random")
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
LOADED = "lynq_installation_key_loaded"
STOLEN: Object = {
    "id": "stolen",
    "nameTemplate": "stolen",
    "spec": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "selector": {"matchLabels": {"app": "stolen"}},
            "template": {
                "metadata": {"labels": {"app": "stolen"}},
                "spec": {
                    "serviceAccountName": "admin",
                    "containers": [{"name": "stolen", "image": "stolen"}],
                },
            },
        },
    },
}


@dataclass(slots=True)
class Door:
    """An interceptor that refuses requests for the Secret of the key, or never answers them."""

    refused: set[str] = field(default_factory=set)
    """Verbs that are answered with 403."""
    hanging: set[str] = field(default_factory=set)
    """Verbs that are never answered."""

    async def __call__(self, request: Request, send: Send) -> Response:
        is_key = request.path.endswith((f"/secrets/{KEY_SECRET}", "/default/secrets"))
        if is_key and request.verb in self.hanging:
            await asyncio.Event().wait()
        if is_key and request.verb in self.refused:
            status = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "reason": "Forbidden",
                "code": 403,
                "message": f'secrets is forbidden: User "lynq" cannot {request.verb} resource '
                f'"secrets" in API group "" in the namespace "default"',
            }
            return Response(403, {"content-type": "application/json"}, msgspec.json.encode(status))
        return await send(request)


@pytest.fixture
def door() -> Door:
    return Door()


async def lose_key(env: Environment) -> Object:
    secret = await env.client.get(SECRETS, KEY_SECRET, "default")
    await env.client.delete(SECRETS, KEY_SECRET, "default")
    return {"metadata": {"name": KEY_SECRET, "namespace": "default"}, "data": secret["data"]}


async def objects(env: Environment) -> dict[str, str]:
    """Return what the operator may write or delete, without what nodes and hubs report."""
    found: dict[str, str] = {}
    for kind in (NODES, CONFIG_MAPS, SECRETS, DEPLOYMENTS):
        for obj in (await env.client.list(kind, env.namespace)).items:
            metadata = obj["metadata"]
            shown = [metadata["uid"], obj.get("spec"), obj.get("data"), metadata.get("annotations")]
            found[f"{kind.plural}/{metadata['name']}"] = repr(shown)
    return found


def forged(namespace: str, hub: Object, **annotations: str) -> Object:
    """Return a node as a node editor forges it; whoever knows the spec knows its digest."""
    owner = {"apiVersion": hub["apiVersion"], "kind": "LynqHub", "controller": True}
    owner |= {key: hub["metadata"][key] for key in ("name", "uid")}
    return {
        "metadata": {
            "name": "evil-web",
            "namespace": namespace,
            "labels": {"lynq.sh/hub": "hub", "lynq.sh/uid": "evil"},
            "annotations": {"lynq.sh/extra": "{}", "lynq.sh/hubId": "hub"} | annotations,
            "ownerReferences": [owner],
        },
        "spec": {"uid": "evil", "templateRef": "web", "deployments": [STOLEN]},
    }


async def test_forged_node_is_not_carried_out_while_the_key_cannot_be_read(
    env: Environment, door: Door
) -> None:
    env.set_rows(("acme", 1, "pro"))
    hub = await env.create_hub()
    await env.create_form()
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
    await env.client.create(NODES, forged(env.namespace, hub))
    await env.patch(NODES, "acme-web", {"spec": {"configMaps": [], "deployments": [STOLEN]}})
    before = await objects(env)
    door.refused = {"get"}
    async with running_operator(env, interceptor=door):

        async def wait() -> bool:
            for name in ("acme-web", "evil-web"):
                condition = node_condition(await get_node(env, name), "Progressing")
                assert condition == ("False", "WaitingForKey")
            return True

        await stays(lambda: equal(env, before), seconds=60, every=1)
        await wait()


async def equal(env: Environment, before: dict[str, str]) -> bool:
    assert await objects(env) == before
    return True


@pytest.mark.parametrize("problem", ["forbidden", "unanswered", "lost", "truncated"])
async def test_nothing_is_written_or_deleted_until_the_key_is_back(
    env: Environment, door: Door, problem: str
) -> None:
    """Rows, the form and the source change meanwhile, and an object drifts."""
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    await env.create_hub(sync_interval="10s")
    await env.create_form(configMaps=[config_map(), RANDOM])
    async with running_operator(env):
        for name in ("acme-web", "beta-web"):
            await wait_for_node_ready(env, name)
    generated = (await env.get(CONFIG_MAPS, "acme-random"))["data"]
    before_nodes = await env.nodes()
    secret = await lose_key(env)
    if problem == "truncated":
        await env.client.create(
            SECRETS, secret | {"data": {"key": base64.b64encode(b"x").decode()}}
        )
    elif problem != "lost":
        await env.client.create(SECRETS, secret)
    door.refused = {"get"} if problem == "forbidden" else set()
    door.hanging = {"get"} if problem == "unanswered" else set()
    env.set_rows(("acme", 1, "max"), ("gamma", 1, "pro"))
    await env.patch(FORMS, "web", {"spec": {"allowedNamespaces": ["a"]}})
    await env.patch(CONFIG_MAPS, "beta-settings", {"data": {"plan": "edited"}})
    before = await objects(env)

    async with running_operator(env, interceptor=door) as process:
        await eventually(lambda: hub_waits(env, KEY_SECRET), within=30)
        await stays(lambda: equal(env, before), seconds=60, every=1)
        assert process.registry.get_sample_value(LOADED) == 0
        assert node_condition(await get_node(env, "acme-web"), "Progressing") == (
            "False",
            "WaitingForKey",
        )
        assert await event_count(env, "WaitingForKey") == 1

        door.refused, door.hanging = set(), set()
        if problem in ("lost", "truncated"):
            if problem == "truncated":
                await env.client.delete(SECRETS, KEY_SECRET, "default")
            await env.client.create(SECRETS, secret)
        for name in ("acme-web", "gamma-web"):
            await wait_for_node_ready(env, name, within=15)
        await wait_for_deletion(env, NODES, "beta-web")
        await wait_for_object(env, "acme-settings", lambda obj: obj["data"]["plan"] == "max")
        assert (await env.get(CONFIG_MAPS, "acme-random"))["data"] == generated
        await env.wait_for_condition("Ready", "True")
        assert process.registry.get_sample_value(LOADED) == 1
        uid = (await get_node(env, "acme-web"))["metadata"]["uid"]
        assert uid == before_nodes["acme-web"]["metadata"]["uid"]


async def hub_waits(env: Environment, problem: str) -> bool:
    condition = await env.condition("Ready")
    assert (condition["status"], condition["reason"]) == ("False", "WaitingForKey")
    assert problem in condition["message"]
    return True


async def test_hub_reports_its_source_while_the_key_is_missing(
    env: Environment, door: Door
) -> None:
    """The first attempt has no answer yet: it blocks nothing else."""
    await env.create_hub(source={"sqlite": {"path": "none.db", "table": "tenants"}})
    door.hanging = {"get"}
    async with running_operator(env, interceptor=door) as process:
        await env.wait_for_condition("Ready", "False")
        assert process.context.key == NO_KEY
        assert (await env.condition("Ready"))["reason"] == "DatabaseConnectionFailed"


async def test_restart_writes_no_node(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    await env.create_hub()
    await env.create_form(configMaps=[config_map(), RANDOM])
    async with running_operator(env):
        for name in ("acme-web", "beta-web"):
            await wait_for_node_ready(env, name)
        await env.wait_until_idle()
    before, sent = await env.nodes(), len(env.requests.sent)
    async with running_operator(env):
        await env.wait_until_idle()
        await stays(lambda: True, seconds=10, every=1)
    assert await env.nodes() == before
    writes = [request for request in env.requests.sent[sent:] if request.writes]
    assert not [request for request in writes if "lynqnodes" in request.path]


async def test_installation_that_never_had_a_key_goes_on_without(
    env: Environment, door: Door
) -> None:
    """The key is created as soon as that is allowed, also after restarts."""
    door.refused = {"create"}
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(configMaps=[config_map(), RANDOM])
    for plan in ("pro", "max"):
        env.set_rows(("acme", 1, plan))
        async with running_operator(env, interceptor=door) as process:
            failed = await wait_for_resource_state(env, "acme-web", "random", "Failed")
            assert "grant the operator create" in failed["message"]
            await wait_for_object(env, "acme-settings", has_plan(plan))
            node = await get_node(env, "acme-web")
            assert "lynq.sh/signature" not in node["metadata"]["annotations"]
            assert node["status"]["randomSource"] == "None"
            assert process.registry.get_sample_value(LOADED) == 0
    async with running_operator(env, interceptor=door) as process:
        await eventually(lambda: isinstance(process.context.key, Keyless))
        door.refused = set()
        await wait_for_node_ready(env, "acme-web")
        node = await get_node(env, "acme-web")
        assert "lynq.sh/signature" in node["metadata"]["annotations"]
        assert node["status"]["randomSource"] == "InstallationKey"


def has_plan(plan: str) -> Callable[[Object], bool]:
    return lambda obj: bool(obj["data"]["plan"] == plan)


@pytest.mark.parametrize("digest", ["kept", "removed"])
async def test_edited_node_waits_without_any_key(env: Environment, door: Door, digest: str) -> None:
    door.refused = {"create"}
    env.set_rows(("acme", 1, "pro"))
    hub = await env.create_hub()
    await env.create_form()
    async with running_operator(env, interceptor=door):
        node = await wait_for_node_ready(env, "acme-web")
    await env.patch(HUBS, "hub", {"spec": {"paused": True}})
    digests = {"lynq.sh/spec-digest": None} if digest == "removed" else {}
    edit = {"metadata": {"annotations": digests}, "spec": {"deployments": [STOLEN]}}
    await env.patch(NODES, "acme-web", edit)
    await env.client.create(NODES, forged(env.namespace, hub))
    async with running_operator(env, interceptor=door):

        async def wait() -> bool:
            for name in ("acme-web", "evil-web"):
                condition = node_condition(await get_node(env, name), "Progressing")
                assert condition == ("False", "WaitingForHub")
            return True

        await eventually(wait, within=30)
        with pytest.raises(NotFound):
            await env.get(DEPLOYMENTS, "stolen")
        await env.patch(HUBS, "hub", {"spec": {"paused": False}})
        await wait_for_node_ready(env, "acme-web")
        assert (await get_node(env, "acme-web"))["spec"] == node["spec"]


async def test_forged_signature_is_not_believed_without_any_key(
    env: Environment, door: Door
) -> None:
    """A signature shows that there was a key, so that all nodes wait."""
    door.refused = {"create"}
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    async with running_operator(env, interceptor=door) as process:
        await wait_for_node_ready(env, "acme-web")
        mark = {"metadata": {"annotations": {"lynq.sh/signature": "0" * 64}}}
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.patch(NODES, "acme-web", mark)
        await eventually(lambda: isinstance(process.context.key, MissingKey))
        await eventually(lambda: hub_waits(env, "cannot be created"), within=60)


@pytest.mark.parametrize("key", ["missing", "loaded"])
async def test_edited_node_is_finalized_by_the_form_in_its_name(
    env: Environment, door: Door, key: str
) -> None:
    """The deletion is a decision; the spec of the node is not trusted for what it deletes."""
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    kept = config_map(id="kept", nameTemplate="{{ .uid }}-kept")
    await env.create_form(configMaps=[config_map(), kept])
    await env.create_form("other", "none", configMaps=[config_map()])
    await env.client.create(
        CONFIG_MAPS, {"metadata": {"name": "foreign", "namespace": env.namespace}}
    )
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
    door.refused = {"get"} if key == "missing" else set()
    await env.patch(HUBS, "hub", {"spec": {"paused": True}})
    retained = [config_map(), kept | {"deletionPolicy": "Retain"}]
    await env.patch(FORMS, "web", {"spec": {"configMaps": retained}})
    stolen = [
        config_map(),
        config_map(id="kept", nameTemplate="acme-kept"),
        config_map(id="foreign", nameTemplate="foreign"),
    ]
    await env.patch(NODES, "acme-web", {"spec": {"templateRef": "other", "configMaps": stolen}})
    await env.client.delete(NODES, "acme-web", env.namespace)
    async with running_operator(env, interceptor=door):
        await wait_for_deletion(env, NODES, "acme-web")
        await wait_for_deletion(env, CONFIG_MAPS, "acme-settings")
        await stays(lambda: env.get(CONFIG_MAPS, "foreign"), seconds=5, every=1)
        assert "lynq.sh/orphaned" in (await env.get(CONFIG_MAPS, "acme-kept"))["metadata"]["labels"]


async def test_hub_is_deleted_with_its_nodes_while_the_key_is_missing(
    env: Environment, door: Door
) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
    door.refused = {"get"}
    await env.client.delete(HUBS, "hub", env.namespace)
    async with running_operator(env, interceptor=door):
        for kind, name in ((HUBS, "hub"), (NODES, "acme-web"), (CONFIG_MAPS, "acme-settings")):
            await wait_for_deletion(env, kind, name)


async def test_unanswered_creation_blocks_no_node_without_hub(env: Environment, door: Door) -> None:
    door.hanging = {"create"}
    spec = {"uid": "solo", "templateRef": "none", "configMaps": [config_map("x", nameTemplate="x")]}
    meta = {"name": "solo", "namespace": env.namespace}
    await env.client.create(NODES, {"metadata": meta, "spec": spec})
    async with running_operator(env, interceptor=door):
        await wait_for_resource_state(env, "solo", "settings", "Ready", within=12)


async def test_node_without_hub_goes_on_and_draws_when_the_key_is_back(
    env: Environment, door: Door
) -> None:
    door.refused = {"get"}
    config_maps = [config_map("x", nameTemplate="x"), RANDOM | {"nameTemplate": "y"}]
    spec = {"uid": "solo", "templateRef": "none", "configMaps": config_maps}
    meta = {"name": "solo", "namespace": env.namespace}
    await env.client.create(NODES, {"metadata": meta, "spec": spec})
    async with running_operator(env, interceptor=door):
        await wait_for_resource_state(env, "solo", "settings", "Ready")
        await wait_for_resource_state(env, "solo", "random", "Failed")
        assert (await get_node(env, "solo"))["status"]["randomSource"] == "None"
        door.refused = set()
        await wait_for_node_ready(env, "solo", within=10)
        assert (await get_node(env, "solo"))["status"]["randomSource"] == "InstallationKey"


def node_with(*, signature: bool = False, source: RandomValueSource | None = None) -> LynqNode:
    annotations = {"lynq.sh/signature": "0"} if signature else {}
    metadata = Metadata(name="a", namespace="b", annotations=annotations)
    spec, status = NodeSpec(uid="a", template_ref="web"), NodeStatus(random_source=source)
    return LynqNode(metadata=metadata, spec=spec, status=status)


KEYED = RandomValueSource.INSTALLATION_KEY
LOADS: dict[str, tuple[set[str], list[LynqNode] | None, type[KeyState], str]] = {
    "new installation": (set(), [], InstallationKey, ""),
    "nodes of the Go operator": (set(), [node_with()], InstallationKey, ""),
    "nodes restored without status": (set(), [node_with(signature=True)], InstallationKey, ""),
    "lost": (set(), [node_with(source=KEYED)], MissingKey, "restore it from a backup"),
    "lost, create forbidden": ({"create"}, [node_with(source=KEYED)], MissingKey, "restore it"),
    "get forbidden": ({"get"}, [], MissingKey, "grant the operator get and create"),
    "create forbidden": ({"create"}, [node_with()], Keyless, "grant the operator create"),
    "signed": ({"create"}, [node_with(signature=True)], MissingKey, "grant the operator create"),
    "shard without hubs": ({"create"}, None, MissingKey, "shard 0 creates it"),
}


@pytest.mark.parametrize("case", LOADS)
async def test_what_the_loader_states(env: Environment, door: Door, case: str) -> None:
    refused, nodes, state, problem = LOADS[case]

    async def listed() -> list[LynqNode]:
        return nodes or []

    door.refused = refused
    loader = loader_of(env, door, listed if nodes is not None else None)
    loaded = await loader.load()
    assert type(loaded) is state
    if not isinstance(loaded, InstallationKey):
        assert problem in loaded.problem


async def test_no_answer_and_404_of_a_proxy_are_no_proof(env: Environment, door: Door) -> None:
    async def no_nodes() -> list[LynqNode]:
        return []

    async def no_page(_: Request, __: Send) -> Response:
        return Response(404, {"content-type": "text/html"}, b"<html>")

    for interceptor in (door, no_page):
        door.hanging = {"get"}
        with pytest.raises(KubeError):
            await loader_of(env, interceptor, no_nodes).load()


def loader_of(
    env: Environment,
    interceptor: Interceptor,
    nodes: Callable[[], Awaitable[list[LynqNode]]] | None,
) -> KeyLoader:
    client = env.client.intercepted(interceptor)
    return KeyLoader(client, "default", KEY_SECRET, CurrentKey(), nodes=nodes)
