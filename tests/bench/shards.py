"""The bytes that each of four shards receives, against a quarter of what one process receives."""

import asyncio
import subprocess
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from background_tasks import run_in_background
from bench.measuring import memory_mib
from bench.shapes import PLAIN
from bench.tables import Results
from bench.workloads import Bench, Tenants

SHARDS = 4
ROWS = 1000


@dataclass(slots=True)
class ByteCounter:
    """Forwards connections to the API server, and counts the bytes that it sends."""

    host: str
    port: int
    received: int = 0

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection until either side closes it."""
        server_reader, server_writer = await asyncio.open_connection(self.host, self.port)
        ends = [self._pump(reader, server_writer), self._pump(server_reader, writer, count=True)]
        tasks = [asyncio.ensure_future(end) for end in ends]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for each in (writer, server_writer):
            each.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, count: bool = False
    ) -> None:
        while data := await reader.read(1 << 16):
            self.received += len(data) if count else 0
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def counted(kubeconfig: Path, folder: Path) -> AsyncIterator[tuple[ByteCounter, Path]]:
    """Yield a counter and the kubeconfig of clients whose bytes it counts."""
    config = yaml.safe_load(kubeconfig.read_bytes())  # noqa: ASYNC240 - a small file
    cluster = config["clusters"][0]["cluster"]
    server = urlsplit(cluster["server"])
    counter = ByteCounter(server.hostname or "", server.port or 443)
    listener = await asyncio.start_server(counter.forward, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    cluster["server"] = f"https://127.0.0.1:{port}"
    path = folder / f"kubeconfig-{port}"
    path.write_text(yaml.safe_dump(config))
    try:
        yield counter, path
    finally:
        listener.close()


async def measure_shards(bench: Bench, results: Results) -> None:
    """Measure one process, and four shards with the same work."""
    (whole,) = await received_bytes(bench, results, [()])
    flags = [(f"--shard={number}/{SHARDS}",) for number in range(SHARDS)]
    results.figures[f"MB received by one process, {ROWS} rows"] = round(whole / 1e6, 1)
    for number, received in enumerate(await received_bytes(bench, results, flags)):
        title = f"bytes received by shard {number} of {SHARDS}, against a quarter"
        results.figures[title] = round(received / (whole / SHARDS), 2)


async def received_bytes(
    bench: Bench, results: Results, flags: Sequence[tuple[str, ...]]
) -> list[int]:
    """Create all rows with one process per set of flags; return the bytes that each received."""
    tenants = Tenants(bench, await bench.namespace("bench"), PLAIN, ROWS)
    await tenants.create_rows()
    processes: list[subprocess.Popen[bytes]] = []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lynq-bench-")))
        await stack.enter_async_context(run_in_background(tenants.watch.run()))
        counters = []
        for process_flags in flags:
            counter, kubeconfig = await stack.enter_async_context(
                counted(bench.cluster.kubeconfig, folder)
            )
            counters.append(counter)
            process = subprocess.Popen(tenants.command(kubeconfig, *process_flags))
            stack.callback(process.wait)
            stack.callback(process.terminate)
            processes.append(process)
        await tenants.create_hub()
        await tenants.create_form()
        await tenants.wait_until_ready(ROWS)
        await bench.settle()
        for number, process in enumerate(processes):
            title = f"RSS of process {number} of {len(processes)}, {ROWS} nodes, MiB"
            results.figures[title] = round(memory_mib(process.pid), 1)
        return [counter.received for counter in counters]
