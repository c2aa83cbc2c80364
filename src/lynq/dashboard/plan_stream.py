"""Sends a plan while it is computed: its progress in lines of JSON, and the plan as the last one.

A plan over thousands of rows takes longer than a person waits for a page that says nothing. The
plan ends with its request: a page that is left computes nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from lynq.dashboard.guards import EXPECTED_ERRORS, abort, encode_shown, error_message
from lynq.dashboard.options import DashboardTiming
from lynq.dashboard.types.details import PlanMessage, PlanProgress, PlanView

CONTENT_TYPE: Final = "application/x-ndjson"

Report = Callable[[PlanProgress], None]
"""Called with the progress of a plan."""


async def send_plan(
    request: web.Request,
    compute: Callable[[Report], Awaitable[PlanView]],
    check_session: Callable[[], Awaitable[object]],
    timing: DashboardTiming,
) -> web.StreamResponse:
    """Send the progress of a plan, and the plan if the session has not ended meanwhile.

    An error of the first moment, such as a missing right, is raised and becomes the answer.
    """

    async def computed() -> PlanView:
        view = await compute(report)
        await check_session()
        return view

    progress = PlanProgress(phase="Waiting")

    def report(current: PlanProgress) -> None:
        nonlocal progress
        progress = current

    plan = asyncio.ensure_future(_limited(computed(), timing.watched_plan))
    try:
        await asyncio.wait({plan}, timeout=timing.coalesce)
        if plan.done() and plan.exception():
            plan.result()
        response = web.StreamResponse(headers={"Cache-Control": "no-store"})
        response.content_type = CONTENT_TYPE
        response.headers["X-Accel-Buffering"] = "no"
        await response.prepare(request)
        while not plan.done():
            # Also without news: a write notices that the client is gone.
            await _write(response, PlanMessage(progress=progress), timing.slow_client)
            await asyncio.wait({plan}, timeout=timing.coalesce)
        await _write(response, _outcome(plan), timing.slow_client)
    except ConnectionError:
        # The client is gone, or does not read.
        abort(request)
    finally:
        plan.cancel()
        await asyncio.gather(plan, return_exceptions=True)
    return response


def _outcome(plan: "asyncio.Future[PlanView]") -> PlanMessage:
    error = plan.exception()
    if error is None:
        return PlanMessage(view=plan.result())
    if isinstance(error, TimeoutError):
        return PlanMessage(error="The plan took too long: use lynq plan --sample.")
    if isinstance(error, EXPECTED_ERRORS):
        return PlanMessage(error=error_message(error))
    raise error


async def _limited(work: Awaitable[PlanView], seconds: float) -> PlanView:
    async with asyncio.timeout(seconds):
        return await work


async def _write(response: web.StreamResponse, message: PlanMessage, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await response.write(encode_shown(message) + b"\n")
    except TimeoutError:
        raise ConnectionError from None
