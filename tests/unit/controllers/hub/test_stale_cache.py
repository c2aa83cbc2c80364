"""Status writes with a stale cache: conflicts back off."""

import asyncio

import pytest

from lynq.kube import Request, Resource, Response, Send
from operated.environment import FORMS, HUBS, Environment


@pytest.mark.parametrize("kind", [HUBS, FORMS], ids=["hub", "form"])
async def test_conflicting_status_write_backs_off(env: Environment, kind: Resource) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    rejected: list[float] = []
    rejecting = True

    async def conflicting(request: Request, send: Send) -> Response:
        if rejecting and request.path.endswith("/status") and f"/{kind.plural}/" in request.path:
            rejected.append(asyncio.get_running_loop().time())
            return Response(409, body=b'{"kind": "Status", "reason": "Conflict", "code": 409}')
        return await send(request)

    env.client = env.client.intercepted(conflicting)
    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        for number in range(20):
            # Each change requeues hub and form, which must not shorten the back-off.
            await env.set_nodes_ready(["acme-web"], ready=number % 2 == 0)
            await asyncio.sleep(0.1)
        assert 3 <= len(rejected) <= 8
        rejecting = False
        await env.set_nodes_ready(["acme-web"])
        await env.wait_for_status(desired=1, ready=1)
