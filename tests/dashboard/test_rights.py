"""Who sees what: login, sessions, rights per namespace, and requests of other sites."""

import ipaddress
from collections.abc import AsyncIterator

import pytest
from yarl import URL

from dashboard.conftest import Browser, Serve, browsing
from lynq.dashboard.options import AuthMode
from lynq.kube.resource import NAMESPACES
from operated.environment import NODES, Environment
from rights import BINDINGS, wait_until_allowed
from waiting import eventually

PATHS = (
    "/session",
    "/problems",
    "/fleet",
    "/nodes",
    "/search?q=a",
    "/topology",
    "/stream",
    "/objects",
    "/tenants/a/b",
    "/forms/a/b",
    "/forms/a/b/preview",
    "/forms/a/b/plan",
    "/hubs/a/b",
    "/hubs/a/b/rows",
    "/hubs/a/b/plan",
)


@pytest.mark.parametrize("path", PATHS)
async def test_request_without_login_is_unauthorized(anonymous: Browser, path: str) -> None:
    response = await anonymous.get(f"/api/v2{path}")
    assert response.status == 401
    assert "Log in" in (await response.json())["error"]


async def test_viewer_sees_only_the_namespace_of_their_rights(
    viewer: Browser, env: Environment
) -> None:
    session = await viewer.json("/session")
    assert session["user"] == f"system:serviceaccount:{env.namespace}:viewer"
    assert (session["mode"], session["namespaces"]) == ("Token", [env.namespace])
    nodes = await viewer.json("/nodes")
    assert {node["namespace"] for node in nodes["items"]} == {env.namespace}


@pytest.fixture
async def hidden_namespace(env: Environment) -> AsyncIterator[str]:
    """A namespace in which only the kubeconfig has rights, with a node that has a ConfigMap."""
    namespace = f"{env.namespace}-hidden"
    await env.client.create(NAMESPACES, {"metadata": {"name": namespace}})
    node = {"metadata": {"name": "acme-web"}, "spec": (await env.get(NODES, "acme-web"))["spec"]}
    await env.client.create(NODES, node, namespace)
    entry = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "classified"}
    entry |= {"id": "settings", "state": "Ready"}
    status = {"status": {"resources": [entry]}}
    await env.client.patch(NODES, "acme-web", status, namespace, subresource="status")
    yield namespace
    await env.client.delete(NAMESPACES, namespace)


async def test_search_has_only_objects_of_nodes_that_the_viewer_may_list(
    viewer: Browser, stranger: Browser, admin: Browser, env: Environment, hidden_namespace: str
) -> None:
    async def found(browser: Browser, text: str) -> set[str]:
        hits = (await browser.json(f"/search?q={text}"))["items"]
        return {hit["namespace"] for hit in hits}

    async def watched() -> bool:
        return await found(admin, "configmap classified") == {hidden_namespace}

    await eventually(watched)
    for text in ("classified", "acme-web", "configmap", hidden_namespace):
        assert await found(viewer, text) <= {env.namespace}, text
        assert await found(stranger, text) == set(), text


async def test_viewer_without_rights_sees_nothing(stranger: Browser, env: Environment) -> None:
    assert (await stranger.json("/session"))["namespaces"] == []
    problems = await stranger.json("/problems")
    assert problems["groups"] == []
    assert problems["nodes"]["total"] == 0
    assert any("grant the verb list on lynqnodes" in denial for denial in problems["denials"])
    assert (await stranger.json("/nodes"))["items"] == []
    assert (await stranger.json("/fleet"))["hubs"] == []
    for text in ("acme", "deployment acme-web", "Gamma"):
        assert (await stranger.json(f"/search?q={text}"))["items"] == [], text
    assert (await stranger.json("/topology"))["shapes"] == []
    place = env.namespace
    for path in (
        f"/tenants/{place}/acme",
        f"/tenants/{place}/absent",
        f"/forms/{place}/web",
        f"/forms/{place}/web/preview?uid=acme",
        f"/forms/{place}/web/plan",
        f"/hubs/{place}/hub",
        f"/hubs/{place}/hub/rows",
        f"/objects?apiVersion=apps/v1&kind=Deployment&namespace={place}&name=acme-web",
    ):
        assert (await stranger.get(f"/api/v2{path}")).status == 403, path
    for path in ("/hubs", "/forms", "/nodes"):
        assert (await (await stranger.get(f"/api/v1{path}")).json())["items"] == []


async def test_wrong_token_is_refused(anonymous: Browser) -> None:
    for token in ("", "wrong", "a\nb", "x" * 20_000):
        response = await anonymous.post("/login", {"token": token})
        assert response.status == 401, token[:10]
        assert "Set-Cookie" not in response.headers


async def test_session_cookie_is_for_this_site_only_and_ends_with_logout(viewer: Browser) -> None:
    login = next(iter(viewer.http.cookie_jar))
    assert (login["httponly"], login["samesite"]) == (True, "Strict")
    assert (await viewer.post("/logout")).status == 200
    assert (await viewer.get("/api/v2/session")).status == 401


async def test_login_from_another_site_is_refused(anonymous: Browser) -> None:
    for origin in ("https://evil.example", "null", ""):
        response = await anonymous.post("/login", {"token": "x"}, Origin=origin)
        assert response.status == 403


async def test_foreign_host_is_refused_on_loopback(anonymous: Browser) -> None:
    response = await anonymous.get("/", Host="rebound.example")
    assert response.status == 421


async def test_header_of_a_proxy_counts_only_from_its_address(serve: Serve) -> None:
    trusted = {"127.0.0.0/8": 200, "10.0.0.0/8": 401}
    for network, status in trusted.items():
        proxies = (ipaddress.ip_network(network),)
        async with serve(auth=AuthMode.PROXY, trusted_proxies=proxies) as url, browsing(url) as it:
            response = await it.get("/api/v2/session", **{"X-Forwarded-User": "ann"})
            assert response.status == status
            system = await it.get("/api/v2/session", **{"X-Forwarded-User": "system:admin"})
            assert system.status == 401


async def test_proxied_viewer_has_the_rights_of_their_groups(
    serve: Serve, env: Environment
) -> None:
    binding = {
        "metadata": {"name": "team"},
        "roleRef": {"apiGroup": BINDINGS.group, "kind": "Role", "name": "viewer"},
        "subjects": [{"apiGroup": BINDINGS.group, "kind": "Group", "name": "shop-team"}],
    }
    await env.client.create(BINDINGS, binding, env.namespace)
    listing = {"group": NODES.group, "resource": NODES.plural, "verb": "list"}
    listing |= {"namespace": env.namespace}
    await wait_until_allowed(env.client, "ann", listing, groups=["shop-team"])
    proxies = (ipaddress.ip_network("127.0.0.1/32"),)
    async with serve(auth=AuthMode.PROXY, trusted_proxies=proxies) as url, browsing(url) as it:

        async def nodes(groups: str) -> int:
            headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": groups}
            response = await it.get("/api/v2/nodes", **headers)
            total: int = (await response.json())["total"]
            return total

        assert await nodes("ungrouped") == 0
        assert await nodes("a-team,shop-team,z-team") == 2
        # No proxy grants the groups of Kubernetes itself.
        assert await nodes("system:masters") == 0


async def test_pages_have_the_security_headers(anonymous: Browser) -> None:
    response = await anonymous.get("/")
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"


async def test_every_other_path_is_the_page_and_no_file_of_the_disk(anonymous: Browser) -> None:
    index = await (await anonymous.get("/")).text()
    paths = (
        "/nodes",
        "/tenants/a/b",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2fapp",
    )
    for path in paths:
        url = URL(f"{anonymous.url}{path}", encoded=True)
        async with anonymous.http.get(url) as response:
            assert response.status == 200, path
            assert await response.text() == index, path
    assert (await anonymous.get("/api/v2/absent")).status == 404


async def test_too_long_parameters_and_bodies_are_refused(viewer: Browser) -> None:
    for path in (f"/nodes?q={'x' * 501}", "/nodes?limit=501", "/nodes?limit=0", "/nodes?after=!!"):
        assert (await viewer.get(f"/api/v2{path}")).status == 400, path
    assert (await viewer.get("/api/v2/nodes?where=color=red")).status == 400
    assert (await viewer.get("/api/v2/nodes?sort=secret")).status == 400
    assert (await viewer.post("/login", {"token": "x" * 40_000})).status == 413
