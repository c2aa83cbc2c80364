"""Leader election: one process leads, and it writes only while it certainly holds the lease.

The leader renews every `retry` seconds. It measures from before a renewal is sent, and other
candidates measure from after it has arrived. So with the defaults:

    0 s    the last successful renewal is sent
    9 s    the fence closes: no write is sent any more
    10 s   the lease is lost: `run` raises LeaseLost, and the process must exit
    15 s   the earliest time at which another candidate may acquire the lease

A write that passes the fence at the last moment has six seconds to arrive. The fence reads the
clock at each write and does not depend on the scheduling of a task: a process that was frozen for a
minute finds the fence closed. For the same reason the clock continues while the machine is
suspended.

The leader's work and the renewal run concurrently. When the work ends or is cancelled, renewal
continues until the work has ended, because it may still write. Then the lease is released, so that
the next leader does not have to wait for its expiry.

`lease` has the rules of the lease, which are client-go's. `rival_leases` keeps shards of different
M apart.
"""

import asyncio
import math
import random
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import structlog
from prometheus_client import Gauge

from lynq.kube.client import Client
from lynq.kube.errors import AlreadyExists, Conflict, Fenced, KubeError, NotFound
from lynq.kube.lease import Lease, LeaseObservation, LeaseStep, acquire_or_renew, release
from lynq.kube.metrics import RuntimeMetrics
from lynq.kube.resource import LEASES
from lynq.kube.rival_leases import RivalLeases

DEFAULT_LEASE: Final = "f2130106.lynq.sh"
FENCE_MARGIN: Final = 1.0
_JITTER: Final = 1.2
_RELEASE_TIMEOUT: Final = 2.0
"""Seconds to release the lease; after that it expires by itself."""

_log = structlog.get_logger(__name__)


class LeaseLost(KubeError):  # noqa: N818 - says what happened, as in errors.py
    """Another process may lead now; this process must exit."""


def boot_clock() -> float:
    """Return monotonic seconds that include the time while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class LeaderElection:
    """One candidate for one lease; each shard has its own `name`."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str = DEFAULT_LEASE,
        identity: str | None = None,
        duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry: float = 2.0,
        clock: Callable[[], float] = boot_clock,
        leading: Gauge | None = None,
        is_rival: Callable[[str], bool] | None = None,
        must_check_rivals: bool = True,
    ) -> None:
        if not duration > renew_deadline > max(retry * _JITTER, FENCE_MARGIN) > 0:
            raise ValueError("a lease requires duration > renew_deadline > 1.2 × retry, and > 1 s")
        self.identity = identity or f"{socket.gethostname()}_{uuid.uuid4()}"
        # Renewals must not be subject to the fence that depends on them, and must not queue behind
        # a thousand writes to a slow API server.
        self._client = client.unfenced()
        self._namespace = namespace
        self._name = name
        self._duration = duration
        self._renew_deadline = renew_deadline
        self._retry = retry
        self._clock = clock
        self._gauge = leading or RuntimeMetrics.unexposed().leading(name)
        self._rivals = is_rival and RivalLeases(
            self._client, namespace, is_rival, clock=clock, is_required=must_check_rivals
        )
        self._observation = LeaseObservation(None, clock())
        self._renewed_at: float | None = None
        self._was_deleted = False
        """Whether the lease was deleted while this process led, and a rival may lead since."""

    @property
    def leads(self) -> bool:
        """Whether this process certainly holds the lease at this moment, and no rival leads."""
        return not self._was_deleted and self._time_left(FENCE_MARGIN) > 0

    def fence(self) -> None:
        """Raise Fenced unless this process certainly holds the lease; see `Client.fenced`."""
        if not self.leads:
            raise Fenced(f"write not sent: this process may no longer hold the lease {self._name}")

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Acquire the lease, run `lead` while holding it, release it.

        Returns when `lead` returns. If the lease is lost, cancels `lead` and raises LeaseLost.
        """
        await self._acquire()
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.create_task(self._renew_until_lost(), name=f"lease-{self._name}")
        try:
            await asyncio.wait((leading, renewing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel(leading)
            await _cancel(renewing)
            await self._release_held()
        if not renewing.cancelled():
            renewing.result()
        leading.result()

    async def _acquire(self) -> None:
        _log.info("waiting for the lease", lease=self._name, identity=self.identity)
        while not (await self._attempt() and await self._excludes_rivals()):
            # A released lease is acquired within 0.75 s; one attempt is one small GET. Jittered, so
            # that candidates do not attempt it all at once.
            await asyncio.sleep(self._retry * random.uniform(0.25, 0.375))  # noqa: S311
        self._gauge.set(1)
        _log.info("leading", lease=self._name, identity=self.identity)

    async def _excludes_rivals(self) -> bool:
        """Return whether no rival lease is held; release our own lease and wait if one is."""
        rival = await self._held_rival()
        if rival == "":
            return True
        await self._release_held()
        _log.info(
            "waiting for the lease of another shard", lease=self._name, rival=rival or "unknown"
        )
        while rival != "":
            await asyncio.sleep(self._retry * random.uniform(0.5, 1))  # noqa: S311
            rival = await self._held_rival()
        return False

    async def _held_rival(self) -> str | None:
        """Return a rival lease that is held; "" if there is none, None if that is unknown."""
        if self._rivals is None:
            return ""
        try:
            async with asyncio.timeout(self._renew_deadline / 2):
                return await self._rivals.held()
        except (KubeError, TimeoutError) as error:
            text = str(error) or "no response in time"
            _log.warning("leases of other shards unknown", lease=self._name, error=text)
            return None

    async def _renew_until_lost(self) -> None:
        """Renew the lease; raises LeaseLost when it is lost."""
        try:
            while True:
                async with asyncio.timeout(self._time_left()):
                    await self._renew()
        except TimeoutError:
            # Lost, even if the clock of the fence is slightly behind that of the timeout: the lease
            # must not be released.
            self._renewed_at = None
            why = (
                "deleted, and the leases of other shards are unknown"
                if self._was_deleted
                else f"not renewed within {self._renew_deadline:g} s"
            )
            raise LeaseLost(f"lease {self._name}: {why}") from None
        finally:
            self._gauge.set(0)

    async def _renew(self) -> None:
        await asyncio.sleep(self._retry)
        while not (await self._attempt() and await self._has_no_rival()):
            self._check_holder()
            await asyncio.sleep(self._retry)

    async def _has_no_rival(self) -> bool:
        """Return whether no rival leads since the lease was deleted; False if that is unknown.

        Raises LeaseLost if one does. The lease is not released, but expires: writes that were sent
        may still arrive.
        """
        if not self._was_deleted:
            return True
        rival = await self._held_rival()
        if rival:
            self._renewed_at = None
            raise LeaseLost(
                f"lease {self._name}: deleted, and the lease of another shard is held: {rival}"
            )
        if rival is None:
            return False
        self._was_deleted = False
        self._renewed_at = self._observation.since
        return True

    def _check_holder(self) -> None:
        lease = self._observation.lease
        if lease is not None and lease.holder not in ("", self.identity):
            self._renewed_at = None
            raise LeaseLost(f"lease {self._name}: acquired by {lease.holder}")

    def _check_revoked(self) -> None:
        """Raise LeaseLost if another shard revoked the lease, because it had expired.

        A lease that was deleted did not exclude rivals: they are checked after it is created again.
        """
        lease = self._observation.lease
        if self._rivals is None or self._renewed_at is None:
            return
        if lease is None:
            self._was_deleted = True
        elif not lease.holder:
            self._renewed_at = None
            raise LeaseLost(f"lease {self._name}: revoked by another shard")

    async def _attempt(self) -> bool:
        """Try once to acquire or renew the lease; an API server that hangs is a failure."""
        try:
            async with asyncio.timeout(self._renew_deadline / 2):
                return await self._try()
        except LeaseLost:
            raise
        except (KubeError, TimeoutError) as error:
            text = str(error) or "no response in time"
            _log.warning("lease not renewed", lease=self._name, error=text)
            return False

    async def _try(self) -> bool:
        # The holder knows the lease without a read, until a write fails.
        if self._holds(self._observation.lease) and await self._write():
            return True
        self._observation = self._observation.updated(await self._read(), self._clock())
        self._check_revoked()
        step = self._observation.next_step(self.identity, self._clock())
        return step is not LeaseStep.WAIT and await self._write()

    def _holds(self, lease: Lease | None) -> bool:
        return lease is not None and lease.holder == self.identity

    async def _read(self) -> Lease | None:
        try:
            return await self._client.get(LEASES, self._name, self._namespace, into=Lease)
        except NotFound:
            return None

    async def _write(self) -> bool:
        """Acquire or renew the lease; return False after a concurrent change or deletion."""
        started = self._clock()
        # Rounded up: others must not acquire the lease while this process still relies on it.
        seconds = math.ceil(self._duration)
        current = self._observation.lease
        spec = acquire_or_renew(current, self.identity, seconds=seconds, at=datetime.now(UTC))
        try:
            lease = await (self._create(spec) if current is None else self._patch(current, spec))
        except (AlreadyExists, Conflict, NotFound):
            return False
        self._observation = self._observation.updated(lease, started)
        # A lease that was created again opens the fence only after rivals were checked.
        if not self._was_deleted:
            self._renewed_at = started
        return True

    async def _create(self, spec: dict[str, Any]) -> Lease:
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": spec,
        }
        return await self._client.create(LEASES, body, into=Lease)

    async def _patch(self, lease: Lease, spec: dict[str, Any]) -> Lease:
        # A patch keeps the metadata of others; with the version it fails after a concurrent write.
        patch = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        return await self._client.patch(LEASES, self._name, patch, self._namespace, into=Lease)

    async def _release_held(self) -> None:
        lease = self._observation.lease
        if lease is None or not self._holds(lease) or self._time_left() <= 0:
            return
        # The fence closes before the release: no further write may be sent.
        self._renewed_at = None
        try:
            async with asyncio.timeout(_RELEASE_TIMEOUT):
                await self._release(lease)
        except (KubeError, TimeoutError) as error:
            text = str(error) or "no response in time"
            _log.warning("lease not released, it will expire", lease=self._name, error=text)
        else:
            _log.info("lease released", lease=self._name)

    async def _release(self, lease: Lease) -> None:
        try:
            await self._patch(lease, release(datetime.now(UTC)))
        except Conflict:
            # A cancelled renewal may have arrived nevertheless.
            current = await self._read()
            if current is None or not self._holds(current):
                raise
            await self._patch(current, release(datetime.now(UTC)))

    def _time_left(self, margin: float = 0.0) -> float:
        if self._renewed_at is None:
            return 0.0
        return self._renewed_at + self._renew_deadline - margin - self._clock()


async def _cancel(task: asyncio.Future[None]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        # Retrieved, so that asyncio does not log it as unhandled.
        task.exception()
