"""Leader election between candidates on a real API server, with short leases."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from lynq.controllers.options import Shard
from lynq.kube import Client, LeaderElection, LeaseLost, Request, Response, RuntimeMetrics, Send
from lynq.kube.errors import Fenced
from lynq.kube.leader_election import boot_clock
from lynq.kube.lease import Lease
from lynq.kube.resource import CONFIG_MAPS, LEASES
from waiting import at_most, eventually, stays

NAME = "f2130106.lynq.sh"


class Candidate:
    """A candidate with the observations of a test."""

    def __init__(self, client: Client, namespace: str, identity: str, **options: Any) -> None:
        self.blocked = False
        self.before_create = _nothing
        self.before_patch = _nothing
        self.after_patch = _nothing
        self.leading_since = float("inf")
        self.ended_at = float("inf")
        self.election = LeaderElection(
            client.intercepted(self._intercept),
            namespace=namespace,
            identity=identity,
            duration=3,
            renew_deadline=2,
            retry=0.1,
            **options,
        )

    async def lead(self) -> None:
        self.leading_since = boot_clock()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended_at = boot_clock()

    @property
    def leads(self) -> bool:
        return self.election.leads

    @property
    def has_started(self) -> bool:
        """Whether the work of a leader has started."""
        return self.leading_since < float("inf")

    async def _intercept(self, request: Request, send: Send) -> Response:
        if self.blocked:
            # An API server that accepts the request and never responds.
            await _never()
        if request.verb == "create":
            await self.before_create()
        if request.verb != "patch":
            return await send(request)
        await self.before_patch()
        response = await send(request)
        await self.after_patch()
        return response


async def _nothing() -> None: ...


async def _never() -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def standing(
    candidate: Candidate, lead: Callable[[], Awaitable[None]] | None = None
) -> AsyncIterator["asyncio.Task[None]"]:
    """Run a candidate during the block."""
    task = asyncio.create_task(candidate.election.run(lead or candidate.lead))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def lease_of(client: Client, namespace: str) -> Lease:
    return await client.get(LEASES, NAME, namespace, into=Lease)


@pytest.mark.timing
async def test_standby_takes_over_after_the_release(client: Client, namespace: str) -> None:
    first = Candidate(client, namespace, "first")
    second = Candidate(client, namespace, "second")
    async with standing(first) as leader:
        await eventually(lambda: first.leads)
        async with standing(second):
            renewed = (await lease_of(client, namespace)).spec.renew_time

            async def renewed_again() -> bool:
                return (await lease_of(client, namespace)).spec.renew_time != renewed

            await eventually(renewed_again)
            assert not second.leads

            leader.cancel()
            # Without a release, the lease would have to expire.
            with at_most(seconds=2):
                await eventually(lambda: second.leads)
            assert not first.leads
            lease = await lease_of(client, namespace)
            assert (lease.holder, lease.spec.lease_transitions) == ("second", 1)
    assert first.ended_at <= second.leading_since
    assert (await lease_of(client, namespace)).holder == ""


async def test_lease_is_released_during_its_renewal(client: Client, namespace: str) -> None:
    """The renewal has arrived; its response has not."""
    candidate = Candidate(client, namespace, "renewing")
    renewing = asyncio.Event()

    async def answer_never() -> None:
        candidate.after_patch = _nothing
        renewing.set()
        await _never()

    async with standing(candidate):
        await eventually(lambda: candidate.leads)
        candidate.after_patch = answer_never
        await renewing.wait()
    assert (await lease_of(client, namespace)).holder == ""


async def test_lease_is_released_at_a_slow_api_server(client: Client, namespace: str) -> None:
    candidate = Candidate(client, namespace, "patient")
    async with standing(candidate):
        await eventually(lambda: candidate.leads)
        candidate.before_patch = lambda: asyncio.sleep(0.5)
    assert (await lease_of(client, namespace)).holder == ""


async def test_lease_of_another_holder_is_not_released(client: Client, namespace: str) -> None:
    candidate = Candidate(client, namespace, "robbed")
    async with standing(candidate) as leader:
        await eventually(lambda: candidate.leads)
        candidate.before_patch = _never
        await client.patch(LEASES, NAME, {"spec": {"holderIdentity": "robber"}}, namespace)
        candidate.before_patch = _nothing
        leader.cancel()
    assert (await lease_of(client, namespace)).holder == "robber"


@pytest.mark.timing
async def test_disconnected_leader_is_fenced_before_another_leads(
    client: Client, namespace: str
) -> None:
    first = Candidate(client, namespace, "first")
    second = Candidate(client, namespace, "second")
    async with standing(first) as leader:
        await eventually(lambda: first.leads)
        async with standing(second):
            first.blocked = True
            with at_most(seconds=2.5):
                with at_most(seconds=1.5):
                    await eventually(lambda: not first.leads)
                with pytest.raises(LeaseLost, match="not renewed"):
                    await leader
            assert not second.leads
            await eventually(lambda: second.leads)
    assert first.ended_at < second.leading_since


async def test_writes_are_sent_only_while_leading(client: Client, namespace: str) -> None:
    candidate = Candidate(client, namespace, "only")
    fenced = client.fenced(candidate.election.fence)

    async def write(name: str) -> None:
        await fenced.create(CONFIG_MAPS, {"metadata": {"name": name}}, namespace)

    with pytest.raises(Fenced):
        await write("before")
    async with standing(candidate):
        await eventually(lambda: candidate.leads)
        await write("during")
    with pytest.raises(Fenced):
        await write("after")
    listed = await fenced.list(CONFIG_MAPS, namespace, into=Lease)
    names = {item.metadata.name for item in listed.items}
    assert names & {"before", "during", "after"} == {"during"}


@pytest.mark.timing
async def test_lease_acquired_by_another_is_lost_at_once(client: Client, namespace: str) -> None:
    registry = CollectorRegistry()
    gauge = RuntimeMetrics(registry).leading(NAME)
    candidate = Candidate(client, namespace, "robbed", leading=gauge)

    def status() -> float | None:
        return registry.get_sample_value("leader_election_master_status", {"name": NAME})

    async with standing(candidate) as leader:
        await eventually(lambda: candidate.leads)
        assert status() == 1
        await client.patch(LEASES, NAME, {"spec": {"holderIdentity": "robber"}}, namespace)
        with pytest.raises(LeaseLost, match="acquired by robber"):
            await asyncio.wait_for(leader, 1.5)
        assert not candidate.leads
        assert status() == 0
    assert (await lease_of(client, namespace)).holder == "robber"


async def test_deleted_lease_is_re_created_by_its_holder(client: Client, namespace: str) -> None:
    candidate = Candidate(client, namespace, "holder")
    async with standing(candidate) as leader:
        await eventually(lambda: candidate.leads)
        uid = (await lease_of(client, namespace)).metadata.uid
        await client.delete(LEASES, NAME, namespace)

        async def there_again() -> bool:
            leases = await client.list(LEASES, namespace, into=Lease)
            return any(
                lease.holder == "holder" and lease.metadata.uid != uid for lease in leases.items
            )

        await eventually(there_again)
        assert candidate.leads
        assert not leader.done()


async def test_lease_re_created_by_another_is_not_overwritten(
    client: Client, namespace: str
) -> None:
    candidate = Candidate(client, namespace, "holder")
    async with standing(candidate) as leader:
        await eventually(lambda: candidate.leads)
        candidate.before_create = lambda: _make_lease(client, namespace, holder="faster")
        await client.delete(LEASES, NAME, namespace)
        with pytest.raises(LeaseLost, match="acquired by faster"):
            await leader
    assert (await lease_of(client, namespace)).holder == "faster"


async def _make_lease(client: Client, namespace: str, *, holder: str, name: str = NAME) -> None:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 3}
    await client.create(LEASES, {"metadata": {"name": name}, "spec": spec}, namespace)


async def test_metadata_of_others_on_the_lease_is_kept(client: Client, namespace: str) -> None:
    candidate = Candidate(client, namespace, "holder")
    async with standing(candidate) as leader:
        await eventually(lambda: candidate.leads)
        await client.patch(LEASES, NAME, {"metadata": {"labels": {"team": "blue"}}}, namespace)
        before = (await lease_of(client, namespace)).spec.renew_time

        async def renewed() -> bool:
            return (await lease_of(client, namespace)).spec.renew_time != before

        await eventually(renewed)
        assert (await lease_of(client, namespace)).metadata.labels == {"team": "blue"}
        assert not leader.done()


async def test_lease_is_released_when_the_work_fails(client: Client, namespace: str) -> None:
    async def fail() -> None:
        raise LookupError("no work")

    candidate = Candidate(client, namespace, "failing")
    async with standing(candidate, fail) as leader:
        with pytest.raises(LookupError, match="no work"):
            await leader
    assert (await lease_of(client, namespace)).holder == ""


@pytest.mark.timing
async def test_renewal_continues_until_the_work_has_ended(client: Client, namespace: str) -> None:
    led_at_the_end: list[bool] = []
    candidate = Candidate(client, namespace, "slow")

    async def end_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            # Longer than the lease is valid without a renewal.
            await asyncio.sleep(2.5)
            led_at_the_end.append(candidate.leads)

    async with standing(candidate, end_slowly) as leader:
        await eventually(lambda: candidate.leads)
        leader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leader
    assert led_at_the_end == [True]


@pytest.mark.parametrize(
    "times",
    [
        {"duration": 10, "renew_deadline": 10},
        {"renew_deadline": 2, "retry": 2},
        {"renew_deadline": 1, "retry": 0.1},
        {"retry": -1, "renew_deadline": 0.5},
    ],
)
async def test_invalid_lease_durations_are_rejected(
    client: Client, times: dict[str, float]
) -> None:
    with pytest.raises(ValueError, match="a lease requires"):
        LeaderElection(client, namespace="default", **times)  # type: ignore[arg-type]


def shard_candidate(client: Client, namespace: str, shard: Shard, identity: str) -> Candidate:
    return Candidate(client, namespace, identity, name=shard.lease, is_rival=shard.excludes_lease)


async def test_shard_of_another_m_leads_only_after_those_that_share_its_objects(
    client: Client, namespace: str
) -> None:
    old = [
        shard_candidate(client, namespace, Shard(number, 2), f"old-{number}") for number in (0, 1)
    ]
    new = shard_candidate(client, namespace, Shard(1, 3), "new")
    async with AsyncExitStack() as stopping:
        for candidate in old:
            await stopping.enter_async_context(standing(candidate))
        await eventually(lambda: all(candidate.has_started for candidate in old))
        async with standing(new):
            await stays(lambda: not new.has_started, seconds=1)
            await stopping.aclose()
            await eventually(lambda: new.has_started, within=5)
            assert new.leading_since > max(candidate.ended_at for candidate in old)


async def test_shards_that_share_no_object_lead_together(client: Client, namespace: str) -> None:
    one = shard_candidate(client, namespace, Shard(0, 2), "one")
    other = shard_candidate(client, namespace, Shard(1, 4), "other")
    async with standing(one), standing(other):
        await eventually(lambda: one.has_started and other.has_started)


async def test_frozen_shard_does_not_resume_beside_a_shard_of_another_m(
    client: Client, namespace: str
) -> None:
    old = shard_candidate(client, namespace, Shard(0, 2), "old")
    new = shard_candidate(client, namespace, Shard(), "new")
    async with standing(old) as ended:
        await eventually(lambda: old.has_started)
        async with standing(new):
            old.blocked = True
            await eventually(lambda: new.has_started, within=10)
        await asyncio.wait((ended,), timeout=5)
        assert isinstance(ended.exception(), LeaseLost)
        assert old.ended_at < new.leading_since
        lease = await client.get(LEASES, Shard(0, 2).lease, namespace, into=Lease)
        assert lease.holder == ""


async def test_revoked_lease_is_lost(client: Client, namespace: str) -> None:
    candidate = shard_candidate(client, namespace, Shard(0, 2), "one")
    async with standing(candidate) as ended:
        await eventually(lambda: candidate.has_started)
        patch = {"spec": {"holderIdentity": ""}}
        await client.patch(LEASES, Shard(0, 2).lease, patch, namespace)
        await asyncio.wait((ended,), timeout=5)
        assert isinstance(ended.exception(), LeaseLost)
        assert not candidate.leads


async def test_shard_whose_lease_was_deleted_ends_beside_a_shard_of_another_m(
    client: Client, namespace: str
) -> None:
    old = shard_candidate(client, namespace, Shard(0, 2), "old")
    async with standing(old) as ended:
        await eventually(lambda: old.has_started)
        await _make_lease(client, namespace, holder="new", name=Shard(0, 4).lease)
        await client.delete(LEASES, Shard(0, 2).lease, namespace)
        await asyncio.wait((ended,), timeout=5)
        assert isinstance(ended.exception(), LeaseLost)
        assert not old.leads
        leases = await client.list(LEASES, namespace, into=Lease)
        holders = {lease.metadata.name: lease.holder for lease in leases.items}
        # Writes that were sent may still arrive, so the lease expires.
        assert holders == {Shard(0, 2).lease: "old", Shard(0, 4).lease: "new"}


async def test_shard_re_creates_its_deleted_lease(client: Client, namespace: str) -> None:
    """A shard that shares no object with it is no reason to end."""
    shard = shard_candidate(client, namespace, Shard(0, 2), "one")
    other = shard_candidate(client, namespace, Shard(1, 4), "other")
    async with standing(shard) as leader, standing(other):
        await eventually(lambda: shard.has_started and other.has_started)
        await client.delete(LEASES, Shard(0, 2).lease, namespace)

        async def there_again() -> bool:
            leases = await client.list(LEASES, namespace, into=Lease)
            return any(lease.holder == "one" for lease in leases.items)

        await eventually(there_again)
        # Longer than the lease is valid without a renewal.
        await stays(lambda: not leader.done(), seconds=2.5)
        await eventually(lambda: shard.leads, within=2)
