import asyncio
from typing import Any

import pytest
from aiohttp import web

from http_server import Serve
from lynq.kube import Backoff, Client, ClientOptions, ClusterConfig, Discovery, Resource, errors
from lynq.kube.discovery import read_served

CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
WIDGETS = Resource("example.com", "v1", "Widget", "widgets", namespaced=False)


def aggregated(*groups: tuple[str, str, str, dict[str, str]]) -> dict[str, Any]:
    return {
        "kind": "APIGroupDiscoveryList",
        "items": [
            {
                "metadata": {"name": group, "creationTimestamp": None},
                "versions": [
                    {
                        "version": version,
                        "freshness": freshness,
                        "resources": [
                            {
                                "resource": plural,
                                "responseKind": {"group": "", "version": "", "kind": kind},
                                "scope": "Namespaced" if plural == "configmaps" else "Cluster",
                            }
                            for plural, kind in resources.items()
                        ],
                    }
                ],
            }
            for group, version, freshness, resources in groups
        ],
    }


CORE = aggregated(("", "v1", "Current", {"configmaps": "ConfigMap"}))
EXAMPLE = ("example.com", "v1", "Current", {"widgets": "Widget"})


class Documents:
    """Serves discovery documents and records the requests."""

    def __init__(self, documents: dict[str, Any]) -> None:
        self.documents = documents
        self.requested: list[str] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requested.append(request.path)
        document = self.documents.get(request.path)
        return web.json_response(document) if document else web.Response(status=503)


@pytest.fixture
def connect(serve: Serve) -> Any:
    async def client(documents: Documents) -> Client:
        options = ClientOptions(attempts=1, backoff=Backoff(base=0.001, cap=0.001))
        return Client.connect(ClusterConfig(await serve(documents)), options=options)

    return client


async def test_discovery_takes_two_requests_and_is_cached(connect: Any) -> None:
    documents = Documents({"/api": CORE, "/apis": aggregated(EXAMPLE)})
    async with await connect(documents) as client:
        discovery = Discovery(client)
        assert await discovery.resource("v1", "ConfigMap") == CONFIG_MAPS
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS
        assert await discovery.of_kind("Widget") == [WIDGETS]
    assert documents.requested == ["/api", "/apis"]


async def test_refreshes_for_an_unknown_kind_are_rate_limited(connect: Any) -> None:
    documents = Documents({"/api": CORE, "/apis": aggregated(EXAMPLE)})
    now = 0.0
    async with await connect(documents) as client:
        discovery = Discovery(client, min_refresh_interval=2, clock=lambda: now)

        async def look_up() -> None:
            with pytest.raises(errors.UnknownKind):
                await discovery.resource("v1", "Nothing")

        await asyncio.gather(*(look_up() for _ in range(1000)))
        assert len(documents.requested) == 2
        now = 1.9
        await look_up()
        assert len(documents.requested) == 2
        now = 2.0
        await asyncio.gather(*(look_up() for _ in range(1000)))
        assert len(documents.requested) == 4


async def test_invalidated_cache_is_refreshed_at_once(connect: Any) -> None:
    documents = Documents({"/api": CORE, "/apis": aggregated()})
    async with await connect(documents) as client:
        discovery = Discovery(client, clock=lambda: 0.0)
        with pytest.raises(errors.UnknownKind, match=r"nor any other kind of its group; is the"):
            await discovery.resource("example.com/v1", "Widget")
        documents.documents["/apis"] = aggregated(EXAMPLE)
        discovery.invalidate()
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS


async def test_unknown_kind_error_lists_alternatives(connect: Any) -> None:
    documents = Documents({"/api": CORE, "/apis": aggregated(EXAMPLE)})
    async with await connect(documents) as client:
        discovery = Discovery(client)
        for api_version, kind, words in [
            (
                "example.com/v2",
                "Widget",
                "no example.com/v2 Widget; it is served as example",
            ),
            ("example.com/v1", "Gadget", "no example.com/v1 Gadget; its group has Widget"),
        ]:
            with pytest.raises(errors.UnknownKind, match=words):
                await discovery.resource(api_version, kind)


async def test_unavailable_group_hides_no_other_and_keeps_its_cache(connect: Any) -> None:
    broken: tuple[str, str, str, dict[str, str]] = ("metrics.example.com", "v1", "Stale", {})
    documents = Documents({"/api": CORE, "/apis": aggregated(broken, EXAMPLE)})
    async with await connect(documents) as client:
        discovery = Discovery(client)
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS
        with pytest.raises(errors.UnknownKind, match=r"metrics\.example\.com/v1 is unavailable"):
            await discovery.resource("metrics.example.com/v1", "PodMetrics")
        documents.documents["/apis"] = aggregated(("example.com", "v1", "Stale", {}))
        discovery.invalidate()
        assert await discovery.resource("example.com/v1", "Widget") == WIDGETS


async def test_older_server_is_read_per_group_version(connect: Any) -> None:
    documents = Documents(
        {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/api/v1": {
                "resources": [
                    {"name": "configmaps", "kind": "ConfigMap", "namespaced": True},
                    {"name": "pods/eviction", "kind": "Eviction", "namespaced": True},
                ]
            },
            "/apis": {
                "kind": "APIGroupList",
                "groups": [
                    {"name": "example.com", "versions": [{"groupVersion": "example.com/v1"}]},
                    {"name": "empty.io", "versions": [{"groupVersion": "empty.io/v1"}]},
                    {"name": "broken.io", "versions": [{"groupVersion": "broken.io/v1"}]},
                ],
            },
            "/apis/example.com/v1": {"resources": [{"name": "widgets", "kind": "Widget"}]},
            "/apis/empty.io/v1": {"kind": "APIResourceList", "resources": None},
        }
    )
    async with await connect(documents) as client:
        assert await read_served(client) == {
            "v1": (CONFIG_MAPS,),
            "example.com/v1": (WIDGETS,),
            "empty.io/v1": (),
            "broken.io/v1": None,
        }


async def test_failed_discovery_is_not_cached(connect: Any) -> None:
    documents = Documents({})
    async with await connect(documents) as client:
        discovery = Discovery(client, clock=lambda: 0.0)
        with pytest.raises(errors.ServiceUnavailable):
            await discovery.resource("v1", "ConfigMap")
        documents.documents = {"/api": CORE, "/apis": aggregated()}
        assert await discovery.resource("v1", "ConfigMap") == CONFIG_MAPS
