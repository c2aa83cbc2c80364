"""The supervisor against components that are shell scripts."""

import asyncio
import http.server
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from lynq.cluster import ClusterError
from lynq.cluster import supervisor as module
from lynq.cluster.layout import ClusterPhase, Layout
from lynq.cluster.pki import write_pki
from lynq.cluster.supervisor import MAX_RESTART_DELAY, Supervisor, restart_delay
from lynq.tls.context import client_context

SCRIPT = """#!/bin/sh
[ "$1" = kubectl ] || exec sleep 60
echo "told $*" >&2
[ "$3" != wait ]
"""


@pytest.fixture
def supervisor(tmp_path: Path) -> Supervisor:
    """A supervisor whose components sleep and whose `kubectl wait` fails."""
    binary = tmp_path / "controlplane"
    binary.write_text(SCRIPT)
    binary.chmod(0o755)
    return Supervisor(Layout(tmp_path), binary)


def test_environment_proxy_is_not_used_for_loopback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

    write_pki(tmp_path / "pki")
    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pki" / "apiserver.crt", tmp_path / "pki" / "apiserver.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    trust = client_context((tmp_path / "pki" / "ca.crt").read_text())
    try:
        assert module._is_ok(f"https://127.0.0.1:{server.server_port}/readyz", trust)
    finally:
        server.shutdown()
        server.server_close()


async def test_failed_kubectl_wait_is_the_reason_of_the_failed_start(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_is_ok", lambda *_: True)
    stop = asyncio.Event()
    running = asyncio.create_task(supervisor.run(stop))
    try:
        async with asyncio.timeout(10):
            while not running.done():
                record = Layout(tmp_path).read()
                if record and record.phase is not ClusterPhase.STARTING:
                    break
                await asyncio.sleep(0.05)
    finally:
        stop.set()
        await running
    assert record
    assert record.phase is ClusterPhase.FAILED
    assert "kubectl wait failed" in record.error


async def test_component_started_during_the_stop_is_stopped(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, stop = asyncio.create_subprocess_exec, asyncio.Event()

    async def slowly(*command: Any, **options: Any) -> asyncio.subprocess.Process:
        stop.set()
        await asyncio.sleep(0.3)
        return await start(*command, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slowly)
    async with asyncio.timeout(10):
        await supervisor.run(stop)


async def test_kubectl_ends_with_the_supervisor(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "controlplane").write_text('#!/bin/sh\necho "$CONTROLPLANE_LIFELINE" >&2; exit 1')
    with pytest.raises(ClusterError, match="failed: 1"):
        await supervisor._kubectl("get")


def test_restart_delay_grows_to_its_limit() -> None:
    assert restart_delay(0) < restart_delay(1) < restart_delay(2)
    assert restart_delay(100_000) == MAX_RESTART_DELAY
