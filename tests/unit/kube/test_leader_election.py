"""The writes of a candidate; tests/cluster has the election on a real API server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from http_server import Serve
from lynq.kube import Client, ClusterConfig, LeaderElection, LeaseLost
from lynq.kube.leader_election import boot_clock
from waiting import eventually


@pytest.mark.parametrize(("duration", "seconds"), [(15, 15), (2.5, 3), (15.4, 16)])
async def test_lease_duration_is_rounded_up(serve: Serve, duration: float, seconds: int) -> None:
    written: list[dict[str, Any]] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response({}, status=404)
        written.append(await request.json())
        return web.json_response(written[-1])

    async def lead() -> None: ...

    async with Client.connect(ClusterConfig(await serve(handler))) as client:
        election = LeaderElection(
            client, namespace="n", duration=duration, renew_deadline=duration - 0.1, retry=0.5
        )
        await election.run(lead)
    assert written[0]["spec"]["leaseDurationSeconds"] == seconds


async def test_lost_lease_is_not_released(serve: Serve) -> None:
    """The clock of the loop ends the wait; the clock of the fence may be slightly behind."""
    written: list[dict[str, Any]] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response({}, status=404)
        written.append(await request.json())
        return web.json_response(written[-1], status=201 if request.method == "POST" else 403)

    async def lead() -> None:
        await asyncio.Event().wait()

    async with Client.connect(ClusterConfig(await serve(handler))) as client:
        election = LeaderElection(
            client,
            namespace="n",
            duration=2,
            renew_deadline=1.1,
            retry=0.5,
            clock=lambda: boot_clock() * 0.9,
        )
        with pytest.raises(LeaseLost):
            await election.run(lead)
    assert {lease["spec"]["holderIdentity"] for lease in written} == {election.identity}


LEASE, RIVAL = "shard-0-of-2", "shard-0-of-4"


class LeaseServer:
    """The leases of a namespace, with hooks that run before a request."""

    def __init__(self) -> None:
        self.leases: dict[str, dict[str, Any]] = {}
        self.before_patch: Callable[[], None] = lambda: None
        self.before_list: Callable[[], None] = lambda: None
        self.loses_responses_of_creates = False

    def holder(self, name: str) -> str:
        return str(self.leases[name]["spec"]["holderIdentity"])

    def put(self, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        self.leases[name] = {"metadata": {"name": name}, "spec": spec}
        return self.leases[name]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST":
            body = await request.json()
            created = self.put(body["metadata"]["name"], body["spec"])
            return web.json_response(
                created, status=403 if self.loses_responses_of_creates else 201
            )
        if request.path.endswith("/leases"):
            self.before_list()
            return web.json_response({"metadata": {}, "items": list(self.leases.values())})
        name = request.path.rpartition("/")[2]
        if request.method == "PATCH":
            self.before_patch()
        if name not in self.leases:
            return web.json_response({}, status=404)
        if request.method == "PATCH":
            self.put(name, (await request.json())["spec"])
        return web.json_response(self.leases[name])


@asynccontextmanager
async def leading_shard(
    serve: Serve,
    server: LeaseServer,
    *,
    renew_deadline: float = 10,
) -> AsyncIterator[tuple[LeaderElection, "asyncio.Task[None]"]]:
    """Run a shard that leads at first; yield its election and the task that runs it."""
    started = asyncio.Event()

    async def lead() -> None:
        started.set()
        await asyncio.Event().wait()

    async with Client.connect(ClusterConfig(await serve(server.handle))) as client:
        election = LeaderElection(
            client,
            namespace="n",
            name=LEASE,
            retry=0.05,
            renew_deadline=renew_deadline,
            is_rival=lambda name: name == RIVAL,
        )
        task = asyncio.create_task(election.run(lead))
        try:
            await started.wait()
            yield election, task
        finally:
            task.cancel()
            await asyncio.wait((task,))


@pytest.mark.parametrize("loses_response", [False, True])
async def test_shard_whose_lease_was_deleted_does_not_lead_beside_a_rival(
    serve: Serve, *, loses_response: bool
) -> None:
    server = LeaseServer()
    async with leading_shard(serve, server) as (election, task):
        server.loses_responses_of_creates = loses_response
        server.put(RIVAL, {"holderIdentity": "rival", "leaseDurationSeconds": 15})
        del server.leases[LEASE]
        with pytest.raises(LeaseLost, match=f"lease {LEASE}: deleted.*{RIVAL}"):
            await asyncio.wait_for(task, 5)
        assert not election.leads
    # Writes that were sent may still arrive, so the lease expires.
    assert server.holder(LEASE) == election.identity
    assert server.holder(RIVAL) == "rival"


async def test_re_created_lease_opens_the_fence_only_after_the_check_of_rivals(
    serve: Serve,
) -> None:
    server = LeaseServer()
    led_before_the_check: list[bool] = []
    async with leading_shard(serve, server) as (election, _):
        server.before_list = lambda: led_before_the_check.append(election.leads)
        del server.leases[LEASE]
        await eventually(lambda: led_before_the_check)
        await eventually(lambda: election.leads)
        assert server.holder(LEASE) == election.identity
    assert led_before_the_check == [False]


async def test_shard_whose_lease_was_deleted_does_not_lead_if_rivals_are_unknown(
    serve: Serve,
) -> None:
    server = LeaseServer()
    async with leading_shard(serve, server, renew_deadline=1.1) as (election, task):

        def fail() -> None:
            raise web.HTTPForbidden

        server.before_list = fail
        del server.leases[LEASE]
        with pytest.raises(LeaseLost, match="the leases of other shards are unknown"):
            await asyncio.wait_for(task, 5)
        assert not election.leads
    assert server.holder(LEASE) == election.identity


async def test_shard_whose_lease_was_deleted_continues_after_one_failed_check(
    serve: Serve,
) -> None:
    server = LeaseServer()
    async with leading_shard(serve, server) as (election, task):

        def fail_once() -> None:
            server.before_list = lambda: None
            raise web.HTTPForbidden

        server.before_list = fail_once
        del server.leases[LEASE]
        await eventually(lambda: server.before_list is not fail_once)
        await eventually(lambda: election.leads)
        assert not task.done()
