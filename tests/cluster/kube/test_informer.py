"""Informers on a real API server: lists, changes, selectors, resumption, permissions."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from background_tasks import run_in_background
from indexes import by_label, by_owner_uid
from lynq.api import Metadata
from lynq.api.metadata import ObjectKey
from lynq.api.wire import Wire
from lynq.kube import (
    Backoff,
    Client,
    Impersonation,
    Informer,
    InformerHealth,
    InformerPhase,
    ObjectChange,
    PartialObject,
    Request,
    Resource,
    Response,
    RuntimeMetrics,
    Send,
    load_config,
)
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

QUICK = Backoff(base=0.05, cap=0.2)


class ConfigMap(Wire, frozen=True, gc=False):
    metadata: Metadata
    data: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it


def manifest(name: str, *, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels or {}}, "data": data}


def names(informer: Informer[Any, Any]) -> set[str]:
    """Return the cached names, without the objects that every namespace has."""
    return {key.name for key in informer.store.keys()} - {"kube-root-ca.crt"}  # noqa: SIM118


class Recording:
    """A client that records its lists and watches, and can inject faults."""

    def __init__(
        self, client: Client, disturb: Callable[[Request], Request] = lambda request: request
    ) -> None:
        self.requests: list[Request] = []
        self._disturb = disturb
        self.client = client.intercepted(self._intercept)

    async def _intercept(self, request: Request, send: Send) -> Response:
        self.requests.append(request)
        return await send(self._disturb(request))

    def verbs(self) -> list[str]:
        return [request.verb for request in self.requests]


async def test_streamed_list_fills_the_store_with_one_request(
    client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, manifest("a", colour="red"), namespace)
    recording = Recording(client)
    informer: Informer[ConfigMap, ConfigMap] = Informer(
        recording.client, CONFIG_MAPS, into=ConfigMap, namespace=namespace
    )
    async with run_in_background(informer.run()):
        await informer.synced()
        assert names(informer) == {"a"}
        cached = informer.store.get(ObjectKey(namespace, "a"))
        assert cached is not None
        assert cached.data == {"colour": "red"}
        assert recording.verbs() == ["watch"]
        assert informer.health == InformerHealth(InformerPhase.WATCHING)


async def test_list_falls_back_to_pages(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, manifest("a"), namespace)

    def make_it_refused(request: Request) -> Request:
        # Without this parameter the API server responds to a streamed list with 422.
        query = {k: v for k, v in request.query.items() if k != "resourceVersionMatch"}
        return replace(request, query=query)

    recording = Recording(client, make_it_refused)
    informer: Informer[PartialObject, PartialObject] = Informer(
        recording.client, CONFIG_MAPS, into=PartialObject, namespace=namespace
    )
    async with run_in_background(informer.run()):
        await informer.synced()
        assert names(informer) == {"a"}
        assert recording.verbs()[:2] == ["watch", "list"]
        await client.create(CONFIG_MAPS, manifest("b"), namespace)
        await eventually(lambda: names(informer) == {"a", "b"})
        assert informer.health == InformerHealth(InformerPhase.WATCHING)


async def test_handlers_receive_old_and_new_objects(client: Client, namespace: str) -> None:
    shades: list[tuple[str | None, str | None]] = []

    def shade(configmap: ConfigMap | None) -> str | None:
        return configmap.data["shade"] if configmap else None

    def remember(change: ObjectChange[ConfigMap]) -> None:
        if change.key.name == "a":
            shades.append((shade(change.old), shade(change.new)))

    informer: Informer[ConfigMap, ConfigMap] = Informer(
        client, CONFIG_MAPS, into=ConfigMap, namespace=namespace
    )
    informer.on_change(remember)
    async with run_in_background(informer.run()):
        await informer.synced()
        await client.create(CONFIG_MAPS, manifest("a", shade="light"), namespace)
        await client.patch(CONFIG_MAPS, "a", {"data": {"shade": "dark"}}, namespace)
        await client.delete(CONFIG_MAPS, "a", namespace)
        await eventually(lambda: len(shades) == 3)
    assert shades == [(None, "light"), ("light", "dark"), ("dark", None)]


async def test_late_handler_receives_existing_objects(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, manifest("a"), namespace)
    informer: Informer[PartialObject, PartialObject] = Informer(
        client, CONFIG_MAPS, into=PartialObject, namespace=namespace
    )
    async with run_in_background(informer.run()):
        await informer.synced()
        changes: list[ObjectChange[PartialObject]] = []
        informer.on_change(changes.append)
        assert ("a", None) in {(change.key.name, change.old) for change in changes}


async def test_failing_handler_is_contained_and_counted(client: Client, namespace: str) -> None:
    registry = CollectorRegistry()
    informer: Informer[PartialObject, PartialObject] = Informer(
        client,
        CONFIG_MAPS,
        into=PartialObject,
        namespace=namespace,
        metrics=RuntimeMetrics(registry).informer("configmaps"),
    )

    def fail(_: ObjectChange[PartialObject]) -> None:
        raise ValueError("a bug")

    heard: list[ObjectChange[PartialObject]] = []
    informer.on_change(fail)
    informer.on_change(heard.append)
    async with run_in_background(informer.run()):
        await informer.synced()
        await client.create(CONFIG_MAPS, manifest("a"), namespace)
        await eventually(lambda: "a" in {change.key.name for change in heard})

    def sample(name: str) -> float | None:
        return registry.get_sample_value(name, {"resource": "configmaps"})

    assert sample("lynq_informer_handler_errors_total") == len(heard)
    assert sample("lynq_informer_objects") == len(informer.store)
    assert sample("lynq_informer_synced") == 1


async def test_label_selector_limits_the_informer(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, manifest("in", labels={"lynq.sh/managed": "true"}), namespace)
    await client.create(CONFIG_MAPS, manifest("out"), namespace)
    informer: Informer[PartialObject, PartialObject] = Informer(
        client, CONFIG_MAPS, into=PartialObject, namespace=namespace, labels="lynq.sh/managed=true"
    )
    async with run_in_background(informer.run()):
        await informer.synced()
        assert names(informer) == {"in"}
        relabel = {"metadata": {"labels": {"lynq.sh/managed": "false"}}}
        await client.patch(CONFIG_MAPS, "in", relabel, namespace)
        await eventually(lambda: names(informer) == set())


async def test_own_write_is_visible_at_once_and_reported_once(
    client: Client, namespace: str
) -> None:
    informer: Informer[ConfigMap, ConfigMap] = Informer(
        client, CONFIG_MAPS, into=ConfigMap, namespace=namespace, labels="role=ours"
    )
    ours = {"role": "ours"}
    key = ObjectKey(namespace, "first")
    changes: list[ObjectChange[ConfigMap]] = []
    async with run_in_background(informer.run()):
        await informer.synced()
        informer.on_change(changes.append)
        created = await client.create(
            CONFIG_MAPS, manifest("first", labels=ours), namespace, into=ConfigMap
        )
        informer.absorb(created)
        assert informer.store.get(key) == created
        await client.delete(CONFIG_MAPS, "first", namespace, uid=created.metadata.uid)
        informer.absorb_deleted(key, created.metadata.uid)
        assert key not in informer.store
        await client.create(CONFIG_MAPS, manifest("last", labels=ours), namespace)
        await eventually(lambda: "last" in names(informer))
    assert [change.key.name for change in changes] == ["first", "first", "last"]


async def test_projection_is_stored_and_indexed(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, manifest("a", shade="light"), namespace)
    await client.create(CONFIG_MAPS, manifest("b", shade="dark"), namespace)

    def shade(configmap: ConfigMap) -> str:
        return configmap.data.get("shade", "")

    informer = Informer(
        client,
        CONFIG_MAPS,
        into=ConfigMap,
        project=shade,
        namespace=namespace,
        indexes={"shade": lambda text: (text,)},
    )
    async with run_in_background(informer.run()):
        await informer.synced()
        assert informer.store.get(ObjectKey(namespace, "a")) == "light"
        assert informer.store.keys_by("shade", "dark") == [ObjectKey(namespace, "b")]


async def test_objects_are_indexed_by_owner_and_label(client: Client, namespace: str) -> None:
    owner = await client.create(CONFIG_MAPS, manifest("owner"), namespace)
    uid = owner["metadata"]["uid"]
    child = manifest("child", labels={"lynq.sh/hub": "red"})
    child["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    ]
    await client.create(CONFIG_MAPS, child, namespace)
    informer: Informer[PartialObject, PartialObject] = Informer(
        client,
        CONFIG_MAPS,
        into=PartialObject,
        namespace=namespace,
        indexes={"owner": by_owner_uid, "hub": by_label("lynq.sh/hub")},
    )
    async with run_in_background(informer.run()):
        await informer.synced()
        [cached] = informer.store.by("owner", uid)
        assert cached.metadata.name == "child"
        assert informer.store.by("hub", "red") == [cached]


async def test_ended_watch_is_resumed_from_its_version(client: Client, namespace: str) -> None:
    def end_soon(request: Request) -> Request:
        return replace(request, query={**request.query, "timeoutSeconds": "1"})

    recording = Recording(client, end_soon)
    informer: Informer[PartialObject, PartialObject] = Informer(
        recording.client, CONFIG_MAPS, into=PartialObject, namespace=namespace, backoff=QUICK
    )
    removed: list[ObjectKey] = []
    informer.on_change(lambda change: None if change.new else removed.append(change.key))
    async with run_in_background(informer.run()):
        await informer.synced()
        await eventually(lambda: len(recording.requests) >= 3)
        await client.create(CONFIG_MAPS, manifest("later"), namespace)
        await eventually(lambda: names(informer) == {"later"})
    resumed = recording.requests[1:]
    assert all(int(request.query["resourceVersion"]) > 0 for request in resumed)
    assert not any("sendInitialEvents" in request.query for request in resumed)
    assert removed == []


async def test_interrupted_list_is_repeated_without_deletions(
    client: Client, namespace: str
) -> None:
    for name in ("a", "b", "c"):
        await client.create(CONFIG_MAPS, manifest(name), namespace)
    cuts = iter([True, True])

    async def first_line(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            yield chunk.split(b"\n")[0] + b"\n"
            return

    async def cut(request: Request, send: Send) -> Response:
        response = await send(request)
        if response.chunks is not None and next(cuts, False):
            return replace(response, chunks=first_line(response.chunks))
        return response

    informer: Informer[PartialObject, PartialObject] = Informer(
        client.intercepted(cut), CONFIG_MAPS, into=PartialObject, namespace=namespace, backoff=QUICK
    )
    changes: list[ObjectChange[PartialObject]] = []
    informer.on_change(changes.append)
    async with run_in_background(informer.run()):
        await informer.synced()
        assert names(informer) == {"a", "b", "c"}
    assert next(cuts, None) is None
    assert all(change.old is None for change in changes)


async def test_missing_permission_is_reported_and_retried(
    client: Client, kubeconfig: Path, namespace: str
) -> None:
    who = f"system:serviceaccount:{namespace}:watcher"
    config = load_config(kubeconfig=kubeconfig)
    humble = replace(config, impersonate=Impersonation(user=who))
    async with Client.connect(humble) as restricted:
        informer: Informer[PartialObject, PartialObject] = Informer(
            restricted, CONFIG_MAPS, into=PartialObject, namespace=namespace, backoff=QUICK
        )
        async with run_in_background(informer.run()):
            await eventually(lambda: informer.health.phase is InformerPhase.FORBIDDEN)
            assert "configmaps" in informer.health.problem
            assert not informer.has_synced
            await _grant(client, namespace)
            await informer.synced()
            assert informer.health == InformerHealth(InformerPhase.WATCHING)


async def _grant(client: Client, namespace: str) -> None:
    group = "rbac.authorization.k8s.io"
    roles = Resource(group, "v1", "Role", "roles", namespaced=True)
    bindings = Resource(group, "v1", "RoleBinding", "rolebindings", namespaced=True)
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}
    await client.create(roles, {"metadata": {"name": "watcher"}, "rules": [rule]}, namespace)
    binding = {
        "metadata": {"name": "watcher"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "watcher"},
        "subjects": [{"kind": "ServiceAccount", "name": "watcher", "namespace": namespace}],
    }
    await client.create(bindings, binding, namespace)


async def test_kind_that_is_not_served_is_reported_as_failing(client: Client) -> None:
    unknown = Resource("example.com", "v1", "Widget", "widgets", namespaced=True)
    informer: Informer[PartialObject, PartialObject] = Informer(
        client, unknown, into=PartialObject, backoff=QUICK
    )
    async with run_in_background(informer.run()):
        await eventually(lambda: informer.health.phase is InformerPhase.FAILING)
        assert "404" in informer.health.problem
        assert not informer.has_synced


async def test_cancelled_informer_releases_its_connection(client: Client, namespace: str) -> None:
    informer: Informer[PartialObject, PartialObject] = Informer(
        client, CONFIG_MAPS, into=PartialObject, namespace=namespace
    )
    before = _connections(client)
    async with run_in_background(informer.run()):
        await informer.synced()
    await eventually(lambda: _connections(client) <= before)


def _connections(client: Client) -> int:
    connections = client._transport.session.connections
    assert connections is not None
    return connections.open_sockets
