"""The rules of a lease: who holds it, who may take it, what to write. No clock, no network.

They are client-go's, so that our replicas and those of a Go operator respect each other:

- A candidate never compares its clock with another machine's. It notes, by its own clock, when it
  last saw the lease change; one that has not changed for its whole duration is free to take.
- A lease without a holder was released, and is free at once.
- `leaseTransitions` counts the times the lease went to somebody else.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from msgspec import field

from lynq.api import Metadata
from lynq.api.wire import Wire


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
