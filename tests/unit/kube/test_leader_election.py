"""The writes of a candidate; tests/cluster has the election on a real API server."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from http_server import Serve
from lynq.kube import Client, ClusterConfig, LeaderElection, LeaseLost
from lynq.kube.leader_election import boot_clock


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
