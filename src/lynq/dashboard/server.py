"""Runs the dashboard: clients, projection, HTTP server."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from aiohttp import web

from lynq.dashboard.app import App
from lynq.dashboard.options import AuthMode, DashboardOptions
from lynq.dashboard.projection import Projection
from lynq.dashboard.viewers import Viewers
from lynq.kube import Client, ClusterConfig
from lynq.kube.credentials import StaticCredentials
from lynq.kube.errors import KubeError
from lynq.telemetry import Address, ListenError, is_loopback
from lynq.telemetry.http_server import app_runner
from lynq.tls.context import server_context_from_files


def check_options(options: DashboardOptions) -> None:
    """Raise ValueError if the options contradict each other, or would expose the cluster."""
    on_loopback = is_loopback(options.address.host)
    if options.auth is AuthMode.KUBECONFIG and not on_loopback:
        raise ValueError(
            "without login, everyone who reaches the address has the rights of the kubeconfig: "
            "bind to a loopback address, or use --auth token"
        )
    if options.auth is AuthMode.PROXY and not options.trusted_proxies:
        raise ValueError("--auth proxy needs --trusted-proxies: the addresses of the proxy")
    if options.auth is not AuthMode.PROXY and options.trusted_proxies:
        raise ValueError("--trusted-proxies is for --auth proxy")


@asynccontextmanager
async def running_dashboard(
    config: ClusterConfig, options: DashboardOptions
) -> AsyncIterator[Address]:
    """Run the dashboard for the duration of the block; yield its address.

    Raises ListenError and KubeError.
    """
    # Viewers' tokens are sent without our client certificate, which would win over them.
    anonymous = replace(config, credentials=StaticCredentials(), impersonate=None)
    async with Client.connect(config) as own, Client.connect(anonymous) as guest:
        projection = Projection(own, options.namespace)
        app = App.of(options, projection, Viewers(options, own, guest), own)
        runner = runner_of(app)
        watch = asyncio.ensure_future(projection.run())
        await runner.setup()
        try:
            await _start(runner, options)
            await _synced(projection)
            host, port = runner.addresses[0][:2]
            yield Address(host, port)
        finally:
            await runner.cleanup()
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)


def runner_of(app: App) -> web.AppRunner:
    """Return what serves an application."""
    return app_runner(app.application(), handler_cancellation=True)


async def _start(runner: web.AppRunner, options: DashboardOptions) -> None:
    tls = server_context_from_files(options.certificate) if options.certificate else None
    address = options.address
    try:
        await web.TCPSite(runner, address.host or None, address.port, ssl_context=tls).start()
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else type(error).__name__
        raise ListenError(f"the dashboard cannot listen on {address}: {reason}") from error


async def _synced(projection: Projection, patience: float = 30.0) -> None:
    """Wait for the first lists; raises KubeError if they are denied."""
    synced = asyncio.ensure_future(projection.synced())
    try:
        for _ in range(int(patience / 0.1)):
            if synced.done():
                return
            if denied := projection.denied:
                raise KubeError(denied[0])
            await asyncio.wait({synced}, timeout=0.1)
    finally:
        synced.cancel()
