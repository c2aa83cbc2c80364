"""The operator as a process: endpoints, logs and exit."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from certificates import Authority
from ports import free_port
from waiting import eventually

pytestmark = pytest.mark.usefixtures("crds")


@contextmanager
def running(kubeconfig: Path, *flags: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "lynq", "run", f"--kubeconfig={kubeconfig}"]
    # Not 9443, which another operator on this machine may use.
    command += ["--webhook-port=0", *flags]
    # A certificate in the default folder under the temporary directory would be used.
    environment = {**os.environ, "TMPDIR": str(kubeconfig.parent)}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def answer(url: str, tls: ssl.SSLContext | None = None) -> int:
    """Return the status of a response, or 0 if there is none."""
    try:
        with urllib.request.urlopen(url, context=tls, timeout=5) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def ended(process: "subprocess.Popen[str]") -> tuple[int, list[dict[str, Any]]]:
    """Return exit code and output of a process."""
    _, stderr = process.communicate(timeout=15)
    return process.returncode, [json.loads(line) for line in stderr.splitlines()]


async def test_process_serves_until_sigterm(
    kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    authority = Authority()
    pair = authority.sign("lynq", "127.0.0.1")
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())
    health, metrics = free_port(), free_port()
    flags = (
        f"-health-probe-bind-address=127.0.0.1:{health}",
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        f"--metrics-cert-path={tmp_path}",
        f"--watch-namespaces={namespace}",
        "--leader-elect",
        f"--leader-election-namespace={namespace}",
    )
    with running(kubeconfig, *flags) as process:
        await eventually(
            lambda: answer(f"http://127.0.0.1:{health}/readyz") == 200, within=30, every=0.2
        )
        assert answer(f"http://127.0.0.1:{health}/healthz") == 200
        # Over HTTPS with our certificate, and not without a token.
        assert answer(f"https://127.0.0.1:{metrics}/metrics", trusting) == 401
        process.send_signal(signal.SIGTERM)
        code, lines = ended(process)
    assert code == 0, lines
    messages = {(line.get("logger"), line["msg"]) for line in lines}
    assert ("controller-runtime.metrics", "Starting metrics server") in messages
    assert all({"level", "ts", "msg"} <= line.keys() for line in lines)


async def test_port_in_use_ends_the_process_with_one_line(kubeconfig: Path, namespace: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        flags = (f"--health-probe-bind-address={address}", f"--watch-namespaces={namespace}")
        with running(kubeconfig, *flags) as process:
            code, lines = ended(process)
    assert code == 1
    (error,) = (line for line in lines if line["level"] == "error")
    assert error["error"] == (
        f"the health server cannot listen on {address}: address already in use"
    )
