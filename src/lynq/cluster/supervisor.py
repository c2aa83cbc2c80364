"""The supervisor process of a local cluster: starts, restarts and stops its components.

`python -m lynq.cluster.supervisor DIRECTORY` runs until it receives a signal or, with `--lifeline`,
until its standard input closes: the pipe to a process that must not leave a cluster behind, such as
a test run. The components have a pipe to the supervisor in the same way. So the end of any process
of this chain, even by SIGKILL, stops all processes below it.
"""

import argparse
import asyncio
import os
import shutil
import signal
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import msgspec

from lynq.cluster.components import APISERVER, DEPENDENTS, ETCD, LOOPBACK, arguments, kubeconfig
from lynq.cluster.layout import (
    ClusterError,
    ClusterPhase,
    ClusterRecord,
    Layout,
    Ports,
    are_free,
    choose_ports,
)
from lynq.cluster.pki import write_pki
from lynq.tls.context import client_context

START_SECONDS = 90.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.1
MAX_RESTART_DELAY = 5.0
MAX_EARLY_EXITS = 5
"""Consecutive early exits of a component after which the start fails."""
RESOURCES = Path(__file__).parent

_LOG_TAIL_LINES = 5


class Supervisor:
    """Runs the components of one cluster."""

    def __init__(self, layout: Layout, binary: Path) -> None:
        self._layout = layout
        self._binary = binary
        self._stopping = False
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._early_exits: Counter[str] = Counter()
        self._record = ClusterRecord(os.getpid(), _ports(layout))
        # Never written to: the components stop when it closes.
        self._lifeline, self._lifeline_writer = os.pipe()

    async def run(self, stop: asyncio.Event) -> None:
        """Start the cluster, run it until `stop`, and stop it."""
        self._prepare()
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(self._start_cluster(group))
            await stop.wait()
            starting.cancel()
            await self._stop_cluster()

    def _prepare(self) -> None:
        for folder in (self._layout.logs, self._layout.run):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o700)
        if not self._layout.pki.exists():
            write_pki(self._layout.pki)
        self._layout.kubeconfig.touch(mode=0o600)
        self._layout.kubeconfig.write_text(kubeconfig(self._layout, self._record.ports))
        shutil.copy(RESOURCES / "stages.yaml", self._layout.directory)
        self._publish()

    def _publish(self, phase: ClusterPhase | None = None, error: str = "") -> None:
        pids = {name: process.pid for name, process in self._processes.items()}
        self._record = msgspec.structs.replace(
            self._record, phase=phase or self._record.phase, error=error, components=pids
        )
        self._layout.write(self._record)

    async def _start_cluster(self, group: asyncio.TaskGroup) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                for component in (ETCD, APISERVER):
                    group.create_task(self._run_component(component))
                await self._wait_for_api_server()
                for component in DEPENDENTS:
                    group.create_task(self._run_component(component))
                await self._bootstrap()
        except (TimeoutError, ClusterError) as error:
            reason = str(error) or f"not ready after {START_SECONDS:.0f} s"
            self._publish(ClusterPhase.FAILED, f"{reason}\n{self._log_tails()}")
        else:
            self._publish(ClusterPhase.READY)

    def _log_tails(self) -> str:
        """Return the last lines of every log; the directory is deleted after a failed start."""
        tails = []
        for log in sorted(self._layout.logs.iterdir()):
            lines = log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
            tails += [f"{log.stem}: {line}" for line in lines]
        return "\n".join(tails)

    async def _run_component(self, component: str) -> None:
        """Start a component, and restart it whenever it exits, like a kubelet."""
        while not self._stopping:
            started = time.monotonic()
            process = await self._start(component)
            await process.wait()
            uptime = time.monotonic() - started
            early_exits = 0 if uptime > MAX_RESTART_DELAY else self._early_exits[component] + 1
            self._early_exits[component] = early_exits
            if not self._stopping:
                await asyncio.sleep(restart_delay(early_exits))

    async def _start(self, component: str) -> asyncio.subprocess.Process:
        flags = arguments(component, self._layout, self._record.ports)
        with self._layout.log(component).open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                self._binary,
                component,
                *flags,
                stdin=self._lifeline,
                stdout=log,
                stderr=log,
                cwd=self._layout.run,
                env=_environment(),
                # Ctrl-C in the terminal must reach only the supervisor, which stops them in order.
                start_new_session=True,
            )
        self._processes[component] = process
        self._publish()
        if self._stopping:  # the others were stopped while this one was started
            await _stop(process)
        return process

    async def _wait_for_api_server(self) -> None:
        url = f"https://{LOOPBACK}:{self._record.ports.apiserver}/readyz"
        trust = client_context((self._layout.pki / "ca.crt").read_text())
        while not await asyncio.to_thread(_is_ok, url, trust):
            for component, early_exits in self._early_exits.items():
                if early_exits >= MAX_EARLY_EXITS:
                    raise ClusterError(f"{component} exits immediately after its start")
            await asyncio.sleep(POLL_SECONDS)

    async def _bootstrap(self) -> None:
        """Create the nodes and the other initial objects; wait until pods can be scheduled."""
        bootstrap = str(RESOURCES / "bootstrap.yaml")
        await self._kubectl("apply", "--server-side", "--validate=false", "-f", bootstrap)
        wait = ("wait", f"--timeout={START_SECONDS:.0f}s")
        await self._kubectl(*wait, "--for=condition=Ready", "node", "--all")
        account = ("serviceaccount/default", "--namespace=default")
        await self._kubectl(*wait, "--for=create", *account)

    async def _kubectl(self, *command: str) -> None:
        process = await asyncio.create_subprocess_exec(
            self._binary,
            "kubectl",
            f"--kubeconfig={self._layout.kubeconfig}",
            *command,
            stdin=self._lifeline,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(),
        )
        _, stderr = await process.communicate()
        if process.returncode:
            raise ClusterError(f"kubectl {command[0]} failed: {stderr.decode().strip()}")

    async def _stop_cluster(self) -> None:
        """Stop the components: the clients of the API server before the API server."""
        self._stopping = True
        for component in (*DEPENDENTS, APISERVER, ETCD):
            if process := self._processes.get(component):
                await _stop(process)


def restart_delay(early_exits: int) -> float:
    """Return the seconds until a component is restarted after consecutive early exits."""
    # A larger exponent would overflow after a night of restarts.
    return min(POLL_SECONDS * 2.0 ** min(early_exits, 10), MAX_RESTART_DELAY)


async def _stop(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is None:
            process.send_signal(number)
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                continue


def _environment() -> dict[str, str]:
    return {**os.environ, "CONTROLPLANE_LIFELINE": "1"}


def _is_ok(url: str, trust: ssl.SSLContext) -> bool:
    # Without proxies: Python would use them for loopback too.
    no_proxy = urllib.request.ProxyHandler({})
    opener = urllib.request.build_opener(no_proxy, urllib.request.HTTPSHandler(context=trust))
    try:
        with opener.open(url, timeout=2) as response:
            return bool(response.status == 200)  # noqa: PLR2004
    except (urllib.error.URLError, OSError):
        return False


def _ports(layout: Layout) -> Ports:
    """Return the previous ports if they are free, so that copies of the kubeconfig stay valid."""
    previous = layout.read()
    return previous.ports if previous and are_free(previous.ports) else choose_ports()


async def _main(layout: Layout, binary: Path, *, lifeline: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    if lifeline:
        loop.add_reader(sys.stdin.fileno(), stop.set)
    await Supervisor(layout, binary).run(stop)


def main() -> None:
    """Run one cluster until a signal."""
    parser = argparse.ArgumentParser(prog="python -m lynq.cluster.supervisor")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--lifeline", action="store_true", help="stop when standard input closes")
    parser.add_argument("--temporary", action="store_true", help="delete the directory at the end")
    options = parser.parse_args()
    layout = Layout(options.directory)
    with layout.hold():
        asyncio.run(_main(layout, options.binary, lifeline=options.lifeline))
        if options.temporary:
            shutil.rmtree(layout.directory, ignore_errors=True)


if __name__ == "__main__":
    main()
