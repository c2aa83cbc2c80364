"""Transient API errors do not change the readiness of nodes."""

import asyncio
from dataclasses import dataclass

import pytest

from faults.fault_injection import api_error
from lynq.kube import Request, Response, Send
from lynq.kube.errors import (
    ApiError,
    Conflict,
    InternalError,
    KubeError,
    ServiceUnavailable,
    TimedOut,
)
from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    annotate,
    create_node,
    entry,
    event_count,
    exists,
    has_plan,
    resource_statuses,
    update_node,
    wait_for_object,
)
from operated.environment import NODES, Environment
from operated.history import recording
from operated.running_operator import (
    node_condition,
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

ERRORS: tuple[tuple[type[ApiError], int], ...] = (
    (InternalError, 500),
    (ServiceUnavailable, 503),
    (Conflict, 409),
)


@dataclass(slots=True)
class WriteFailure:
    """Fails every apply of one object while active."""

    name: str
    error: tuple[type[ApiError], int] | None = None
    active: bool = False
    failed: int = 0

    async def __call__(self, request: Request, send: Send) -> Response:
        if self.active and request.verb == "apply" and request.path.endswith(f"/{self.name}"):
            self.failed += 1
            raise self._error(request)
        return await send(request)

    def _error(self, request: Request) -> KubeError:
        return api_error(request, *self.error) if self.error else TimedOut("no response in time")


@pytest.mark.parametrize("error", [*ERRORS, None], ids=["500", "503", "409", "timeout"])
async def test_ready_node_stays_ready_during_api_errors(
    env: Environment, error: tuple[type[ApiError], int]
) -> None:
    failure = WriteFailure("settings", error)
    env.client = env.client.intercepted(failure)
    async with running_operator(env), recording(env) as history:
        await create_node(env, entry("settings"), entry("after", dependIds=["settings"]))
        await wait_for_node_ready(env, NODE)
        start = len(history.changes)
        failure.active = True
        await annotate(env, force_reconcile="now")
        await eventually(lambda: failure.failed >= 2)
        failure.active = False
        failed = failure.failed
        await env.wait_until_idle()
        states = list(history.states())[start:]
    assert failure.failed == failed
    assert {node_condition(nodes[NODE], "Ready")[0] for _, nodes, _ in states} == {"True"}
    assert await event_count(env, "ApplyFailed") == 0


async def test_new_resource_stays_progressing_and_siblings_are_applied(env: Environment) -> None:
    failure = WriteFailure("settings", (InternalError, 500), active=True)
    env.client = env.client.intercepted(failure)
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("beside"))
        await wait_for_object(env, "beside", has_plan("pro"))

        async def reported() -> bool:
            return "500" in (await resource_statuses(env))["settings"]["message"]

        await eventually(reported)
        await wait_for_resource_state(env, NODE, "settings", "Progressing")
        assert not await exists(env, "settings")
        failure.active = False
        await wait_for_node_ready(env, NODE)
        assert await event_count(env, "ApplyFailed") == 0


async def test_write_that_is_rejected_late_is_repeated_after_its_back_off(
    env: Environment,
) -> None:
    """A webhook that does not answer is an error after ten seconds; the back-off is one."""
    pending = iter([True])

    async def reject_late(request: Request, send: Send) -> Response:
        if b'"new"' in (request.body or b"") and request.verb == "apply" and next(pending, False):
            await asyncio.sleep(2)
            raise api_error(request, InternalError, 500)
        return await send(request)

    env.client = env.client.intercepted(reject_late)
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await update_node(env, entry("settings", "new"))
        # A node that is not ready is reconciled every 30 s in any case.
        await wait_for_object(env, "settings", has_plan("new"), within=20)
    assert next(pending, None) is None


async def test_new_content_is_not_ready_before_it_is_written(env: Environment) -> None:
    failure = WriteFailure("settings", (InternalError, 500))
    env.client = env.client.intercepted(failure)
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        failure.active = True
        await update_node(env, entry("settings", "new"))
        await wait_for_resource_state(env, NODE, "settings", "Progressing")
        failure.active = False
        await wait_for_node_ready(env, NODE)
        assert (await env.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "new"}


async def test_deletion_is_repeated_after_an_error(env: Environment) -> None:
    client, pending = env.client, iter([True])

    async def fail_once(request: Request, send: Send) -> Response:
        is_deletion = request.verb == "delete" and request.path.endswith("/settings")
        if is_deletion and next(pending, False):
            raise api_error(request, ServiceUnavailable, 503)
        return await send(request)

    env.client = client.intercepted(fail_once)
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await client.delete(NODES, NODE, env.namespace)
        await env.wait_for_nodes()
        assert not await exists(env, "settings")
    assert next(pending, None) is None
    assert await event_count(env, "CleanupPartialFailure") == 0
