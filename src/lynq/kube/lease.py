"""The rules of a lease: who may acquire it, and what is written.

The rules of the lease are client-go's, so that replicas of Lynq and of a Go operator exclude each
other:

- A candidate never compares its clock with that of another machine. It records by its own clock
  when it last observed a change; a lease without a change for its duration has expired.
- A lease without a holder was released and can be acquired at once.
- `leaseTransitions` counts the changes of the holder.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from msgspec import field

from lynq.api import Metadata
from lynq.api.wire import Wire


class LeaseSpec(Wire, frozen=True, gc=False):
    """The spec of a Lease; written by its holder."""

    # Other clients release a lease with null.
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
        """The identity of the holder; "" if there is none."""
        return self.spec.holder_identity or ""


class LeaseStep(Enum):
    """The next step of a candidate."""

    CREATE = "create"
    TAKE = "take"
    RENEW = "renew"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class LeaseObservation:
    """The last observed lease (None: there is none), and since when its spec is unchanged."""

    lease: Lease | None
    since: float

    def updated(self, lease: Lease | None, now: float) -> "LeaseObservation":
        """Return the observation after `lease` was read at `now`.

        Only a change of the spec counts as a renewal; metadata can be changed by others.
        """
        if lease and self.lease and lease.spec == self.lease.spec:
            return replace(self, lease=lease)
        return LeaseObservation(lease, now)

    def next_step(self, identity: str, now: float) -> LeaseStep:
        """Return the next step of the candidate `identity` at `now`."""
        if self.lease is None:
            return LeaseStep.CREATE
        if self.lease.holder == identity:
            return LeaseStep.RENEW
        expires = self.since + (self.lease.spec.lease_duration_seconds or 0)
        return LeaseStep.WAIT if self.lease.holder and now < expires else LeaseStep.TAKE


def acquire_or_renew(
    lease: Lease | None, identity: str, *, seconds: int, at: datetime
) -> dict[str, Any]:
    """Return the spec with which `identity` acquires or renews the lease."""
    renews = lease is not None and lease.holder == identity
    transitions = 0 if lease is None else (lease.spec.lease_transitions or 0) + (not renews)
    acquired = lease.spec.acquire_time if lease is not None and renews else None
    return {
        "holderIdentity": identity,
        "leaseDurationSeconds": seconds,
        "acquireTime": _micro_time(acquired or at),
        "renewTime": _micro_time(at),
        "leaseTransitions": transitions,
    }


def release(at: datetime) -> dict[str, Any]:
    """Return the spec of a released lease."""
    # Not zero, which the API server rejects.
    return {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": _micro_time(at),
        "renewTime": _micro_time(at),
    }


def _micro_time(moment: datetime) -> str:
    """Return Kubernetes' MicroTime, which always has six fractional digits."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
