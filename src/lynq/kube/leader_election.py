"""Leader election: one process leads, and only while it surely holds the lease does it write.

The holder renews every `retry` seconds. Moments on its side are taken from BEFORE a renewal is
sent, and others start counting after it has arrived, so with the defaults:

    0 s    the last renewal that succeeded was sent
    9 s    the fence closes: no write is sent any more
    10 s   the lease counts as lost: `run` raises LeaseLost, and the process is to end
    15 s   the earliest moment another candidate may take the lease

A write that was let through in the last instant has six seconds to arrive. The fence reads the
clock itself at each write and depends on no task being scheduled in time: if this process was
frozen for a minute, the first thing it finds is a closed fence. For the same reason its clock is
one that goes on while the machine sleeps.

Work and renewal run side by side. When the work ends, or is cancelled, renewal goes on until the
work has really ended, because it may still be writing; then the lease is given back, and the next
leader need not wait for it to run out.

The rules of a lease: who holds it, who may take it, what to write. No clock, no network.

They are client-go's, so that our replicas and those of a Go operator respect each other:

- A candidate never compares its clock with another machine's. It notes, by its own clock, when it
  last saw the lease change; one that has not changed for its whole duration is free to take.
- A lease without a holder was released, and is free at once.
- `leaseTransitions` counts the times the lease went to somebody else.
"""

import asyncio
import math
import random
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

import structlog
from msgspec import field
from prometheus_client import Gauge

from lynq.api import Metadata
from lynq.api.wire import Wire
from lynq.kube.client import Client
from lynq.kube.errors import AlreadyExists, Conflict, Fenced, KubeError, NotFound
from lynq.kube.metrics import RuntimeMetrics
from lynq.kube.resource import LEASES


class LeaseSpec(Wire, frozen=True, gc=False):
    """What the holder of a lease writes."""

    # Null is what other clients leave behind when they release.
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(Wire, frozen=True, gc=False):
    """A Lease of coordination.k8s.io/v1."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: LeaseSpec = field(default_factory=LeaseSpec)

    @property
    def holder(self) -> str:
        """Who holds it; "" is nobody."""
        return self.spec.holder_identity or ""


class LeaseStep(Enum):
    """What a candidate does next."""

    CREATE = "create"
    TAKE = "take"
    RENEW = "renew"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class LeaseObservation:
    """The lease as last seen (None: there is none), and when it was first seen like that."""

    lease: Lease | None
    since: float

    def updated(self, lease: Lease | None, now: float) -> "LeaseObservation":
        """Return what is known after seeing `lease` at `now`.

        A label put on the lease is no sign of life: only what the holder writes counts.
        """
        if lease and self.lease and lease.spec == self.lease.spec:
            return replace(self, lease=lease)
        return LeaseObservation(lease, now)

    def next_step(self, identity: str, now: float) -> LeaseStep:
        """Return what the candidate `identity` does about it at `now`."""
        if self.lease is None:
            return LeaseStep.CREATE
        if self.lease.holder == identity:
            return LeaseStep.RENEW
        expires = self.since + (self.lease.spec.lease_duration_seconds or 0)
        return LeaseStep.WAIT if self.lease.holder and now < expires else LeaseStep.TAKE


def acquire_or_renew(
    lease: Lease | None, identity: str, *, seconds: int, at: datetime
) -> dict[str, Any]:
    """Return the spec that makes, or keeps, `identity` the holder."""
    keeps = lease is not None and lease.holder == identity
    transitions = 0 if lease is None else (lease.spec.lease_transitions or 0) + (not keeps)
    acquired = lease.spec.acquire_time if lease is not None and keeps else None
    return {
        "holderIdentity": identity,
        "leaseDurationSeconds": seconds,
        "acquireTime": _micro_time(acquired or at),
        "renewTime": _micro_time(at),
        "leaseTransitions": transitions,
    }


def release(at: datetime) -> dict[str, Any]:
    """Return the spec of a lease that its holder gives back."""
    # One second, not zero: the API server refuses that, and who reads only the duration waits.
    return {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": _micro_time(at),
        "renewTime": _micro_time(at),
    }


def _micro_time(moment: datetime) -> str:
    """Return Kubernetes' MicroTime: six digits behind the point, always."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


DEFAULT_LEASE: Final = "f2130106.lynq.sh"
FENCE_MARGIN: Final = 1.0
_JITTER: Final = 1.2
_GIVE_BACK: Final = 2.0
"""Seconds to give the lease back in, before it is left to run out."""

_log = structlog.get_logger(__name__)


class LeaseLost(KubeError):  # noqa: N818 - says what happened, as in errors.py
    """Somebody else may lead now; this process must end."""


def boot_clock() -> float:
    """Return seconds that never jump and go on while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class LeaderElection:
    """One candidate for one lease; a shard has a `name` of its own."""

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
    ) -> None:
        if not duration > renew_deadline > max(retry * _JITTER, FENCE_MARGIN) > 0:
            raise ValueError("a lease needs duration > renew_deadline > 1.2 × retry, and > 1 s")
        self.identity = identity or f"{socket.gethostname()}_{uuid.uuid4()}"
        # The fence asks whether the lease holds; the lease itself cannot ask that. Nor may a
        # renewal wait its turn behind a thousand writes to a slow API server.
        self._client = client.unfenced()
        self._namespace = namespace
        self._name = name
        self._duration = duration
        self._renew_deadline = renew_deadline
        self._retry = retry
        self._clock = clock
        self._gauge = leading or RuntimeMetrics.unread().leading(name)
        self._seen = LeaseObservation(None, clock())
        self._renewed_at: float | None = None

    @property
    def leads(self) -> bool:
        """Whether the lease surely is ours at this moment."""
        return self._time_left(FENCE_MARGIN) > 0

    def fence(self) -> None:
        """Raise Fenced unless the lease surely is ours: the hook for `Client.fenced`."""
        if not self.leads:
            raise Fenced(f"write held back: the lease {self._name} is not surely ours")

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, run `lead` while holding it, give it back.

        Returns when `lead` does. Cancels it and raises LeaseLost when the lease is lost.
        """
        await self._acquire()
        leading = asyncio.ensure_future(lead())
        keeping = asyncio.create_task(self._keep(), name=f"lease-{self._name}")
        try:
            await asyncio.wait((leading, keeping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(leading)
            await _end(keeping)
            await self._give_back()
        if not keeping.cancelled():
            keeping.result()
        leading.result()

    async def _acquire(self) -> None:
        _log.info("waiting for the lease", lease=self._name, identity=self.identity)
        while not await self._attempt():
            # Often: a lease that is given back is taken within 0.75 s, and a look is one small GET.
            # Spread, so that candidates do not all reach for it in one moment.
            await asyncio.sleep(self._retry * random.uniform(0.25, 0.375))  # noqa: S311
        self._gauge.set(1)
        _log.info("leading", lease=self._name, identity=self.identity)

    async def _keep(self) -> None:
        """Renew until the lease is lost, and raise LeaseLost then."""
        try:
            while True:
                async with asyncio.timeout(self._time_left()):
                    await self._renew()
        except TimeoutError:
            # Lost by any clock, be it a hair behind the one of the timeout: not to be given back.
            self._renewed_at = None
            raise LeaseLost(
                f"lease {self._name}: not renewed within {self._renew_deadline:g} s"
            ) from None
        finally:
            self._gauge.set(0)

    async def _renew(self) -> None:
        await asyncio.sleep(self._retry)
        while not await self._attempt():
            self._check_holder()
            await asyncio.sleep(self._retry)

    def _check_holder(self) -> None:
        lease = self._seen.lease
        if lease is not None and lease.holder not in ("", self.identity):
            self._renewed_at = None
            raise LeaseLost(f"lease {self._name}: taken by {lease.holder}")

    async def _attempt(self) -> bool:
        """Try once to get or renew the lease; a hanging API server is a failure, not a wait."""
        try:
            async with asyncio.timeout(self._renew_deadline / 2):
                return await self._try()
        except (KubeError, TimeoutError) as error:
            text = str(error) or "no answer in time"
            _log.warning("lease not renewed", lease=self._name, error=text)
            return False

    async def _try(self) -> bool:
        # As its holder we know the lease without looking, until a write says otherwise.
        if self._holds(self._seen.lease) and await self._write():
            return True
        self._seen = self._seen.updated(await self._read(), self._clock())
        step = self._seen.next_step(self.identity, self._clock())
        return step is not LeaseStep.WAIT and await self._write()

    def _holds(self, lease: Lease | None) -> bool:
        return lease is not None and lease.holder == self.identity

    async def _read(self) -> Lease | None:
        try:
            return await self._client.get(LEASES, self._name, self._namespace, into=Lease)
        except NotFound:
            return None

    async def _write(self) -> bool:
        """Write our claim; False when somebody was faster, or the lease is not there."""
        started = self._clock()
        # Up, never down: others must not take what we still count on.
        seconds = math.ceil(self._duration)
        known = self._seen.lease
        spec = acquire_or_renew(known, self.identity, seconds=seconds, at=datetime.now(UTC))
        try:
            lease = await (self._create(spec) if known is None else self._patch(known, spec))
        except (AlreadyExists, Conflict, NotFound):
            return False
        self._seen = self._seen.updated(lease, started)
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

    async def _patch(self, known: Lease, spec: dict[str, Any]) -> Lease:
        # A patch leaves alone what others put on the lease; the version makes it fail if
        # anybody wrote since we looked.
        patch = {"metadata": {"resourceVersion": known.metadata.resource_version}, "spec": spec}
        return await self._client.patch(LEASES, self._name, patch, self._namespace, into=Lease)

    async def _give_back(self) -> None:
        known = self._seen.lease
        if known is None or not self._holds(known) or self._time_left() <= 0:
            return
        # Closed before the lease goes: from here on, nothing of ours may be written.
        self._renewed_at = None
        try:
            async with asyncio.timeout(_GIVE_BACK):
                await self._release(known)
        except (KubeError, TimeoutError) as error:
            text = str(error) or "no answer in time"
            _log.warning("lease not given back, it will run out", lease=self._name, error=text)
        else:
            _log.info("lease given back", lease=self._name)

    async def _release(self, known: Lease) -> None:
        try:
            await self._patch(known, release(datetime.now(UTC)))
        except Conflict:
            # A renewal that was cut short may have arrived all the same, and moved the lease on.
            newest = await self._read()
            if newest is None or not self._holds(newest):
                raise
            await self._patch(newest, release(datetime.now(UTC)))

    def _time_left(self, margin: float = 0.0) -> float:
        if self._renewed_at is None:
            return 0.0
        return self._renewed_at + self._renew_deadline - margin - self._clock()


async def _end(task: asyncio.Future[None]) -> None:
    """Cancel a task and wait until it has ended, whichever way."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        # Looked at, so that asyncio does not report it a second time.
        task.exception()
