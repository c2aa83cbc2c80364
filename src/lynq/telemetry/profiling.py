"""The endpoints of `--enable-pprof`: CPU and memory profiles, on the paths of Go's pprof.

They are served on loopback only, for `kubectl port-forward`, and not to the pages of other sites.
Responses are plain text, not the format of `go tool pprof`.
"""

import asyncio
import cProfile
import gc
import io
import pstats
import sys
from collections import Counter
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from lynq.telemetry.address import Address, is_loopback
from lynq.telemetry.http_server import HttpServer

ADDRESS: Final = Address("127.0.0.1", 6060)

_OWN_SITE: Final = ("none", "same-origin")
_MAX_TYPES: Final = 50
_MAX_TASKS: Final = 2000
_MAX_FUNCTIONS: Final = 100
_DEFAULT_SECONDS: Final = 30.0
_MAX_SECONDS: Final = 300.0

_INDEX: Final = """<html><head><title>/debug/pprof/</title></head><body>
<h1>/debug/pprof/</h1>
<ul>
<li><a href="heap">heap</a>: number and size of live objects, by type</li>
<li><a href="goroutine">goroutine</a>: all tasks with their stacks</li>
<li><a href="profile?seconds=30">profile</a>: where the event loop spends its time</li>
</ul></body></html>
"""


def profile_server(address: Address = ADDRESS) -> HttpServer:
    """Return the server of profiles of this process."""
    if not is_loopback(address.host):
        raise ValueError(f"profiles are served on loopback only, not on {address}")
    handlers: dict[str, Handler] = {
        "/debug/pprof/": _index,
        "/debug/pprof/heap": _heap,
        "/debug/pprof/goroutine": _goroutine,
        "/debug/pprof/profile": _Profiler().respond,
    }
    guarded = {path: _guarded(handler) for path, handler in handlers.items()}
    return HttpServer("pprof", address, guarded)


def _guarded(handler: Handler) -> Handler:
    """Refuse what a page of another site requests, also by a name that resolves to loopback."""

    async def respond(request: web.Request) -> web.StreamResponse:
        host = urlsplit(f"//{request.host}").hostname or ""
        site = request.headers.get("Sec-Fetch-Site", "none")
        if not is_loopback(host) or site not in _OWN_SITE:
            return web.Response(status=403, text="open this address itself, by localhost\n")
        return await handler(request)

    return respond


class _Profiler:
    """Takes one profile at a time."""

    def __init__(self) -> None:
        self._is_profiling = False

    async def respond(self, request: web.Request) -> web.Response:
        seconds = _seconds(request.query.get("seconds"))
        if seconds is None:
            text = f"seconds must be a number above 0 and up to {_MAX_SECONDS:g}\n"
            return web.Response(status=400, text=text)
        if self._is_profiling:
            return web.Response(status=409, text="another profile is being taken\n")
        self._is_profiling = True
        try:
            return web.Response(text=await _profile(seconds))
        finally:
            self._is_profiling = False


async def _index(_request: web.Request) -> web.Response:
    return web.Response(text=_INDEX, content_type="text/html")


async def _heap(_request: web.Request) -> web.Response:
    # In a thread: millions of objects take a while.
    return web.Response(text=await asyncio.to_thread(_live_objects))


async def _goroutine(_request: web.Request) -> web.Response:
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    stacks = "\n".join(map(_stack, tasks[:_MAX_TASKS]))
    return web.Response(text=f"{len(tasks)} tasks\n\n{stacks}\n")


async def _profile(seconds: float) -> str:
    profile = cProfile.Profile()
    # It measures the thread that starts it: the event loop with all its tasks.
    profile.enable()
    try:
        await asyncio.sleep(seconds)
    finally:
        profile.disable()
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("cumulative").print_stats(_MAX_FUNCTIONS)
    return text.getvalue()


def _live_objects() -> str:
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for obj in gc.get_objects():
        kind = type(obj)
        name = f"{kind.__module__}.{kind.__qualname__}"
        counts[name] += 1
        sizes[name] += sys.getsizeof(obj, 0)
    lines = [f"{sum(counts.values())} objects, {sum(sizes.values())} bytes", "", "bytes count type"]
    lines += [f"{size} {counts[name]} {name}" for name, size in sizes.most_common(_MAX_TYPES)]
    return "\n".join(lines) + "\n"


def _stack(task: "asyncio.Task[object]") -> str:
    """Return the name and the stack of a task, without values."""
    frames = [
        f"    {frame.f_code.co_qualname} {frame.f_code.co_filename}:{frame.f_lineno}"
        for frame in task.get_stack()
    ]
    return "\n".join([task.get_name(), *frames])


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text) if text else _DEFAULT_SECONDS
    except ValueError:
        return None
    return seconds if 0 < seconds <= _MAX_SECONDS else None
