"""One read in a process of its own: what it holds in memory at most, and how long it takes.

A module by itself, because the process that is measured has to find it under the name that the
bench knows it by, which a bench's own module has only inside pytest.
"""

import asyncio
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from lynq.sources import Query, Settings, open_source


def in_a_process(settings: Settings, query: Query) -> tuple[float, float]:
    """Return the peak of resident memory in MB, and the seconds."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measured, settings, query).result()


def _measured(settings: Settings, query: Query) -> tuple[float, float]:
    async def read() -> None:
        source = open_source(settings)
        async for _ in source.read(query):
            pass
        await source.close()

    began = time.perf_counter()
    asyncio.run(read())
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024, time.perf_counter() - began
