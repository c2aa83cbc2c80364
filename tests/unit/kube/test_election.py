"""What a candidate writes; the rest of an election is shown on a real API server."""

from typing import Any

import pytest
from aiohttp import web

from lynq.kube import Client, ClusterConfig
from lynq.kube.election import LeaderElection
from serving import Serve


@pytest.mark.parametrize(("duration", "told"), [(15, 15), (2.5, 3), (15.4, 16)])
async def test_others_are_never_told_less_than_we_count_on(
    serve: Serve, duration: float, told: int
) -> None:
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
