"""What a candidate writes; the rest of an election is shown on a real API server."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from http_server import Serve
from lynq.kube import Client, ClusterConfig, LeaderElection, LeaseLost
from lynq.kube.leader_election import boot_clock


@pytest.mark.parametrize(("duration", "told"), [(15, 15), (2.5, 3), (15.4, 16)])
async def test_lease_duration_is_rounded_up(serve: Serve, duration: float, told: int) -> None:
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
    assert written[0]["spec"]["leaseDurationSeconds"] == told


async def test_lost_lease_is_not_released(serve: Serve) -> None:
    """The loop's clock ends the wait, and ours may be a hair behind it."""
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
    assert {each["spec"]["holderIdentity"] for each in written} == {election.identity}
