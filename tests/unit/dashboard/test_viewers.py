"""Sessions end, rights expire, and options that expose the cluster are refused."""

import ipaddress
from typing import Any, cast

import pytest
from aiohttp.test_utils import make_mocked_request

from dashboard_client import Clock, FakeClient
from lynq.dashboard.options import MAX_SESSIONS, AuthMode, DashboardOptions, DashboardTiming
from lynq.dashboard.rights import Rights
from lynq.dashboard.server import check_options
from lynq.dashboard.viewers import COOKIE, Unauthenticated, Viewers
from lynq.telemetry import Address


def viewers_of(clock: Clock) -> Viewers:
    client = cast("Any", FakeClient())
    timing = DashboardTiming(session=100.0, longest_session=250.0)
    return Viewers(DashboardOptions(timing=timing), client, client, clock)


def request(session: str) -> Any:
    return make_mocked_request("GET", "/", headers={"Cookie": f"{COOKIE}={session}"})


async def test_unused_session_ends_and_so_does_a_long_one() -> None:
    clock = Clock()
    viewers = viewers_of(clock)
    unused, used = await viewers.login("ann-1"), await viewers.login("ann-2")

    for clock.now in (90.0, 180.0, 240.0):
        assert (await viewers.of(request(used))).user == "ann"
    with pytest.raises(Unauthenticated, match="expired"):
        await viewers.of(request(unused))
    clock.now = 260.0
    with pytest.raises(Unauthenticated, match="expired"):
        await viewers.of(request(used))


async def test_user_with_many_sessions_ends_only_their_own() -> None:
    viewers = viewers_of(Clock())
    sessions = {user: await viewers.login(f"{user}-1") for user in ("ann", "bob")}
    first = await viewers.login("eve-first")
    for number in range(MAX_SESSIONS):
        last = await viewers.login(f"eve-{number}")
    for user, session in (*sessions.items(), ("eve", last)):
        assert (await viewers.of(request(session))).user == user
    with pytest.raises(Unauthenticated):
        await viewers.of(request(first))


async def test_sessions_of_many_users_end_in_the_order_of_their_use() -> None:
    viewers = viewers_of(Clock())
    sessions = [await viewers.login(f"user{number}-1") for number in range(MAX_SESSIONS)]
    await viewers.of(request(sessions[0]))
    await viewers.login("late-1")
    assert (await viewers.of(request(sessions[0]))).user == "user0"
    with pytest.raises(Unauthenticated):
        await viewers.of(request(sessions[1]))


async def test_revoked_right_counts_after_thirty_seconds() -> None:
    clock, client = Clock(), FakeClient("shop")
    rights = Rights(cast("Any", client), clock=clock)
    assert (await rights.scope("Node", ["bank", "shop"])).namespaces == frozenset({"shop"})
    asked = client.reviews
    client.namespaces.clear()
    clock.now = 29.0
    assert (await rights.scope("Node", ["bank", "shop"])).has("shop")
    assert client.reviews == asked
    clock.now = 31.0
    scope = await rights.scope("Node", ["bank", "shop"])
    assert not scope.has("shop")
    assert "grant the verb list on lynqnodes.operator.lynq.sh" in scope.denial


async def test_right_for_all_namespaces_needs_one_review() -> None:
    client = FakeClient("")
    rights = Rights(cast("Any", client))
    assert (await rights.scope("Hub", [f"n{number}" for number in range(100)])).namespaces is None
    assert client.reviews == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            DashboardOptions(auth=AuthMode.KUBECONFIG, address=Address("", 8090)),
            "bind to a loopback address",
        ),
        (
            DashboardOptions(auth=AuthMode.KUBECONFIG, address=Address("0.0.0.0", 8090)),
            "bind to a loopback address",
        ),
        (DashboardOptions(auth=AuthMode.PROXY), "needs --trusted-proxies"),
        (
            DashboardOptions(trusted_proxies=(ipaddress.ip_network("10.0.0.0/8"),)),
            "is for --auth proxy",
        ),
    ],
)
def test_options_that_expose_the_cluster_are_refused(
    options: DashboardOptions, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_options(options)


def test_loopback_without_login_is_accepted() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        check_options(DashboardOptions(auth=AuthMode.KUBECONFIG, address=Address(host, 0)))
