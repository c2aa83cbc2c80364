"""Leases of other names whose holders exclude the holder of ours.

Shards of two different M share objects, and their leases have different names. So a candidate that
has acquired its own lease lists the others, and leads only if no rival is held. Of two candidates
that do so at once, at least one sees the other, because each writes before it lists.

A rival that expired is revoked: its holder is removed before we lead. A process that was frozen
finds its lease without a holder when it resumes, and gives up instead of renewing it.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import structlog

from lynq.kube.client import Client
from lynq.kube.errors import Conflict, Forbidden, NotFound
from lynq.kube.lease import Lease, LeaseObservation, LeaseStep, release
from lynq.kube.resource import LEASES

_log = structlog.get_logger(__name__)


class RivalLeases:
    """Observes the leases of a namespace that exclude ours."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        is_rival: Callable[[str], bool],
        *,
        clock: Callable[[], float],
        is_required: bool = True,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._is_rival = is_rival
        self._clock = clock
        self._is_required = is_required
        self._observations: dict[str, LeaseObservation] = {}

    async def held(self) -> str:
        """Return the name of a rival that is held, "" if there is none; raises KubeError."""
        try:
            leases = await self._client.list(LEASES, self._namespace, into=Lease)
        except Forbidden as error:
            if self._is_required:
                raise
            _log.warning("leases of shards not checked", error=str(error))
            return ""
        for lease in leases.items:
            if self._is_rival(lease.metadata.name) and await self._is_held(lease):
                return lease.metadata.name
        return ""

    async def _is_held(self, lease: Lease) -> bool:
        name, now = lease.metadata.name, self._clock()
        observed = self._observations.get(name, LeaseObservation(None, now)).updated(lease, now)
        self._observations[name] = observed
        if observed.next_step("", now) is LeaseStep.WAIT:
            return True
        return bool(lease.holder) and not await self._revoke(lease)

    async def _revoke(self, lease: Lease) -> bool:
        """Remove the holder of an expired lease; return False if it was renewed meanwhile."""
        name, version = lease.metadata.name, lease.metadata.resource_version
        patch = {
            "metadata": {"resourceVersion": version},
            "spec": release(datetime.now(UTC)),
        }
        try:
            await self._client.patch(LEASES, name, patch, self._namespace, into=Lease)
        except Conflict:
            return False
        except NotFound:
            return True
        _log.info("expired lease revoked", lease=name, holder=lease.holder)
        return True
