"""The process that owns a local cluster: starts its components, restarts them, ends with them.

`python -m lynq.cluster.supervisor DIRECTORY` runs until it is told to stop by a signal or, with
`--lifeline`, until its standard input closes: the pipe to a process that must not leave a cluster
behind, such as a test run. The components hang on a pipe of ours in the same way, so killing any
process of the chain, even with SIGKILL, ends everything below it.
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

from lynq.cluster.components import APISERVER, ETCD, FOLLOWERS, LOOPBACK, arguments, kubeconfig
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

START_SECONDS = 90.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.1
LONGEST_PAUSE = 5.0
HOPELESS_DEATHS = 5
"""How often a component may end early, one time after the other, before a start is given up."""
RESOURCES = Path(__file__).parent

_LAST_LINES = 5


class Supervisor:
    """Runs the components of one cluster."""

    def __init__(self, layout: Layout, binary: Path) -> None:
        self._layout = layout
        self._binary = binary
        self._stopping = False
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._deaths: Counter[str] = Counter()
        self._record = ClusterRecord(os.getpid(), _ports(layout))
        # Nobody writes to it: the components notice that it closes.
        self._lifeline, self._held = os.pipe()

    async def run(self, stop: asyncio.Event) -> None:
        """Bring the cluster up, keep it up until `stop`, take it down."""
        self._prepare()
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(self._bring_up(group))
            await stop.wait()
            starting.cancel()
            await self._take_down()

    def _prepare(self) -> None:
        self._layout.logs.mkdir(parents=True, exist_ok=True)
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

    async def _bring_up(self, group: asyncio.TaskGroup) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                for component in (ETCD, APISERVER):
                    group.create_task(self._keep_running(component))
                await self._answering()
                for component in FOLLOWERS:
                    group.create_task(self._keep_running(component))
                await self._fill()
        except (TimeoutError, ClusterError) as error:
            reason = str(error) or f"not ready after {START_SECONDS:.0f} s"
            self._publish(ClusterPhase.FAILED, f"{reason}\n{self._last_words()}")
        else:
            self._publish(ClusterPhase.READY)

    def _last_words(self) -> str:
        """Return the end of every log: whoever reads why it failed finds the folder gone."""
        ends = []
        for log in sorted(self._layout.logs.iterdir()):
            lines = log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
            ends += [f"{log.stem}: {line}" for line in lines]
        return "\n".join(ends)

    async def _keep_running(self, component: str) -> None:
        """Start a component, and start it again whenever it ends, as a kubelet would."""
        while not self._stopping:
            started = time.monotonic()
            process = await self._start(component)
            await process.wait()
            lived = time.monotonic() - started
            deaths = 0 if lived > LONGEST_PAUSE else self._deaths[component] + 1
            self._deaths[component] = deaths
            if not self._stopping:
                await asyncio.sleep(pause_after(deaths))

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
                env=_environment(),
                # A Ctrl-C in the terminal is for the supervisor, which stops them in order.
                start_new_session=True,
            )
        self._processes[component] = process
        self._publish()
        if self._stopping:  # all others were ended while this one was being started
            await _end(process)
        return process

    async def _answering(self) -> None:
        url = f"https://{LOOPBACK}:{self._record.ports.apiserver}/readyz"
        trust = ssl.create_default_context(cafile=self._layout.pki / "ca.crt")
        while not await asyncio.to_thread(_is_ok, url, trust):
            for component, deaths in self._deaths.items():
                if deaths >= HOPELESS_DEATHS:
                    raise ClusterError(f"{component} ends as soon as it is started")
            await asyncio.sleep(POLL_SECONDS)

    async def _fill(self) -> None:
        """Make the nodes and what else a cluster starts with; wait until pods can be scheduled."""
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
        _, complaint = await process.communicate()
        if process.returncode:
            raise ClusterError(f"kubectl {command[0]} failed: {complaint.decode().strip()}")

    async def _take_down(self) -> None:
        """End the components, the ones that write to the API server before the API server."""
        self._stopping = True
        for component in (*FOLLOWERS, APISERVER, ETCD):
            if process := self._processes.get(component):
                await _end(process)


def pause_after(deaths: int) -> float:
    """Return how long to wait before a component that ended early so often is started again."""
    # No more doublings than it takes: after a night of them the power would be no float any more.
    return min(POLL_SECONDS * 2.0 ** min(deaths, 10), LONGEST_PAUSE)


async def _end(process: asyncio.subprocess.Process) -> None:
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
    # Without the environment's proxies: Python would ask them for loopback, too.
    direct = urllib.request.ProxyHandler({})
    opener = urllib.request.build_opener(direct, urllib.request.HTTPSHandler(context=trust))
    try:
        with opener.open(url, timeout=2) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004
    except (urllib.error.URLError, OSError):
        return False


def _ports(layout: Layout) -> Ports:
    """Keep the ports of an earlier life, so that copies of the kubeconfig stay good."""
    before = layout.read()
    return before.ports if before and are_free(before.ports) else choose_ports()


async def _main(layout: Layout, binary: Path, *, lifeline: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    if lifeline:
        loop.add_reader(sys.stdin.fileno(), stop.set)
    await Supervisor(layout, binary).run(stop)


def main() -> None:
    """Own one cluster until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m lynq.cluster.supervisor")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--lifeline", action="store_true", help="end when standard input closes")
    parser.add_argument("--temporary", action="store_true", help="remove the folder at the end")
    options = parser.parse_args()
    layout = Layout(options.directory)
    with layout.hold():
        asyncio.run(_main(layout, options.binary, lifeline=options.lifeline))
        if options.temporary:
            shutil.rmtree(layout.directory, ignore_errors=True)


if __name__ == "__main__":
    main()
