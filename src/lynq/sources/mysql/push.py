"""Push from MySQL and MariaDB: a thread follows the binlog and reports to the notifier.

The replication library blocks, so it has its own thread. The loop does what the thread cannot: it
connects the sockets, enforces connectTimeout for the login, and shuts the sockets down when the
channel is closed, which ends the thread in any read.

A transaction is in the binlog moments before other connections can read it. So all changes are
reported as not settled: see `lynq.sources.push.channel`.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from lynq.sources.errors import DriverMissing
from lynq.sources.mysql.settings import MySQLSettings
from lynq.sources.network import connect_timed_out
from lynq.sources.push.channel import ChangeNotifier, PushTiming
from lynq.sources.push.thread import CoalescedCallback, open_sockets, run_in_thread
from lynq.sources.query import Table

if TYPE_CHECKING:
    from lynq.sources.mysql.binlog import BinlogFollower


async def listen(
    settings: MySQLSettings,
    table: Table,
    uid: str,
    timing: PushTiming,
    notifier: ChangeNotifier,
) -> None:
    """Report changes of the table until the channel is lost or closed."""
    follower_class = _import_follower(settings)
    loop = asyncio.get_running_loop()
    try:
        async with (
            asyncio.timeout(settings.connect_timeout) as login_timeout,
            open_sockets(settings, 2) as sockets,
        ):

            def connected() -> None:
                # An expired timeout cannot be rescheduled: the sockets are being shut down.
                if not login_timeout.expired():
                    login_timeout.reschedule(None)
                    notifier.connected(settled=False)

            def stop() -> None:
                for cancellable in sockets:
                    cancellable.cancel()

            follower = follower_class(
                settings,
                table,
                timing.silence,
                connected=partial(loop.call_soon_threadsafe, connected),
                changed=CoalescedCallback(partial(notifier.changed, settled=False)).schedule,
                uid=uid,
            )
            name = f"binlog of {settings.host}:{settings.port}"
            await run_in_thread(partial(follower.follow, *sockets), stop=stop, name=name)
    except TimeoutError:
        raise connect_timed_out(settings) from None


def _import_follower(settings: MySQLSettings) -> "type[BinlogFollower]":
    """Import the class that needs the optional package: it is not installed everywhere."""
    try:
        from lynq.sources.mysql.binlog import BinlogFollower  # noqa: PLC0415 - see above
    except ImportError as error:
        raise DriverMissing(
            "push from MySQL needs the package mysql-replication: install it beside lynq",
            endpoint=settings.endpoint,
        ) from error
    return BinlogFollower
