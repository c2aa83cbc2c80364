"""The operator of the demo and its dashboard, in the background until the cluster is stopped.

It holds a lock while it runs, so that a second demo uses the operator of the first one.
"""

import asyncio
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lynq.cli.output import print_note
from lynq.cluster import ClusterError, LocalCluster

if TYPE_CHECKING:
    from lynq.kube import ClusterConfig

LOG: Final = "operator.log"
ADDRESS: Final = "dashboard.url"
"""The file with the URL of the dashboard."""

_LOCK: Final = "operator.lock"
_START_SECONDS: Final = 30.0
_DASHBOARD_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.5


def ensure_running(target: LocalCluster, directory: Path) -> None:
    """Start the operator unless it is running, and wait until it is."""
    if _is_running(directory):
        return
    command = [sys.executable, "-P", "-m", "lynq.cli.demo.operator", target.name, str(directory)]
    with (directory / LOG).open("ab") as log:
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    deadline = time.monotonic() + _START_SECONDS
    while not _is_running(directory):
        if process.poll() is not None or time.monotonic() > deadline:
            raise ClusterError(f"the operator did not start; see {directory / LOG}")
        time.sleep(0.05)


def dashboard_url(directory: Path) -> str:
    """Return the URL of the dashboard; "" if it does not start."""
    deadline = time.monotonic() + _DASHBOARD_SECONDS
    while time.monotonic() < deadline:
        try:
            return (directory / ADDRESS).read_text()
        except FileNotFoundError:
            time.sleep(0.05)
    return ""


def wait_for_end(directory: Path) -> None:
    """Wait until the operator has stopped after its cluster."""
    deadline = time.monotonic() + _START_SECONDS
    while _is_running(directory) and time.monotonic() < deadline:
        time.sleep(0.05)


def _is_running(directory: Path) -> bool:
    try:
        with (directory / _LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


async def _operate(target: LocalCluster, directory: Path) -> None:
    # Imported lazily: the demo itself starts without the controllers.
    from lynq.controllers.manager import Process, ProcessSettings  # noqa: PLC0415
    from lynq.controllers.options import Options  # noqa: PLC0415
    from lynq.kube import Client, load_config  # noqa: PLC0415

    settings = ProcessSettings(options=Options(sqlite_directory=directory))
    stop = asyncio.Event()
    config = load_config(kubeconfig=target.kubeconfig)
    async with Client.connect(config) as client, asyncio.TaskGroup() as group:
        group.create_task(Process(settings, client).run(stop))
        dashboard = group.create_task(_serve_dashboard(config, directory))
        while target.alive:
            await asyncio.sleep(_POLL_SECONDS)
        dashboard.cancel()
        stop.set()


async def _serve_dashboard(config: "ClusterConfig", directory: Path) -> None:
    """Serve the dashboard on its usual port, or else on a free one."""
    from lynq.dashboard.options import AuthMode, DashboardOptions  # noqa: PLC0415
    from lynq.dashboard.server import running_dashboard  # noqa: PLC0415
    from lynq.kube.errors import KubeError  # noqa: PLC0415
    from lynq.telemetry import Address, ListenError  # noqa: PLC0415

    for port in (8090, 0):
        options = DashboardOptions(
            address=Address("127.0.0.1", port),
            auth=AuthMode.KUBECONFIG,
            allow_actions=True,
            context="the demo's cluster",
            operator_namespace="default",
        )
        try:
            async with running_dashboard(config, options) as address:
                (directory / ADDRESS).write_text(f"http://{address}")
                await asyncio.Event().wait()
        except ListenError:
            continue
        except KubeError as error:
            print_note(f"the dashboard does not run: {error}")
            return
        finally:
            (directory / ADDRESS).unlink(missing_ok=True)


def main(name: str, directory: str) -> None:
    """Run the operator of a demo."""
    from lynq.telemetry.logs import configure  # noqa: PLC0415

    folder = Path(directory)
    configure(encoding="json", level="info", development=False)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # Another operator was started concurrently.
            return
        lock.write(str(os.getpid()))
        lock.flush()
        asyncio.run(_operate(LocalCluster(name), folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
