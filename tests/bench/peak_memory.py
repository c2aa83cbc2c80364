"""Measures peak memory and duration of one read in a separate process.

It is a separate module because the measured process imports it by name, and the name of a bench
module exists only inside pytest.
"""

import asyncio
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from lynq.sources import Query, Settings, open_source


def measure_in_process(settings: Settings, query: Query) -> tuple[float, float]:
    """Return the peak resident memory in MB and the seconds of the read."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, settings, query).result()


def _measure(settings: Settings, query: Query) -> tuple[float, float]:
    async def read() -> None:
        source = open_source(settings)
        async for _ in source.read(query):
            pass
        await source.close()

    start = time.perf_counter()
    asyncio.run(read())
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024, time.perf_counter() - start
