"""Push from MySQL and MariaDB: a thread follows the binlog, the loop rings the bell.

The library that speaks the protocol blocks, so it has a thread. The loop keeps what the thread
cannot do: it dials, it gives up when logging in takes too long, and it cuts the lines when the
channel is closed, which ends the thread at whatever read it waits in.

A transaction reaches us once it is in the binlog, moments before others can read it. So nothing
that comes from here is settled: see `bell`.
"""

import asyncio
from functools import partial
from types import ModuleType

from lynq.sources.errors import ConnectTimedOut, DriverMissing
from lynq.sources.push.channel import ChangeNotifier, PushTiming
from lynq.sources.push.thread import CancelScope, open_sockets, run_in_thread
from lynq.sources.query import Table
from lynq.sources.settings import MySQLSettings


async def listen(
    settings: MySQLSettings, table: Table, timing: PushTiming, bell: ChangeNotifier
) -> None:
    """Ring the bell when the table changes, until the channel is lost or closed."""
    binlog = _driver(settings)
    loop = asyncio.get_running_loop()
    try:
        async with (
            asyncio.timeout(settings.connect_timeout) as limit,
            open_sockets(settings, 2) as lines,
        ):

            def connected() -> None:
                # Too late is too late: the lines are being cut already.
                if not limit.expired():
                    limit.reschedule(None)
                    bell.connected(settled=False)

            def cut() -> None:
                for line in lines:
                    line.cut()

            follower = binlog.BinlogFollower(
                settings,
                table,
                timing.silence,
                connected=partial(loop.call_soon_threadsafe, connected),
                changed=CancelScope(partial(bell.changed, settled=False)).pull,
            )
            name = f"binlog of {settings.host}:{settings.port}"
            await run_in_thread(partial(follower.follow, *lines), stop=cut, name=name)
    except TimeoutError:
        raise ConnectTimedOut(
            f"no connection within {settings.connect_timeout:g} s", place=settings.place
        ) from None


def _driver(settings: MySQLSettings) -> ModuleType:
    """Import what only push needs: installations that poll do without it."""
    try:
        from lynq.sources.push import binlog  # noqa: PLC0415 - see above
    except ImportError as error:
        raise DriverMissing(
            "push from MySQL needs mysql-replication: install lynq[push]", place=settings.place
        ) from error
    return binlog
