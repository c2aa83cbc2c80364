"""Finished Jobs are removed after their TTL."""

from datetime import UTC, datetime, timedelta
from typing import Any

from contract.manifests import JOBS, exists, job, wait_until_removed
from lynq.kube import Client
from waiting import stays


async def finish(client: Client, namespace: str, ended: datetime) -> None:
    """Write the status of a Job that has completed, as the Job controller does."""

    def condition(kind: str) -> dict[str, Any]:
        return {"type": kind, "status": "True", "lastTransitionTime": ended.isoformat()}

    status = {
        "startTime": ended.isoformat(),
        "completionTime": ended.isoformat(),
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    }
    await client.patch(JOBS, "web", {"status": status}, namespace, subresource="status")


async def test_finished_job_is_removed_after_its_ttl(client: Client, namespace: str) -> None:
    await client.create(JOBS, job(namespace, ttlSecondsAfterFinished=60))
    await finish(client, namespace, datetime.now(UTC) - timedelta(seconds=60))
    await wait_until_removed(client, "web", namespace, JOBS)


async def test_finished_job_stays_until_its_ttl_ends(client: Client, namespace: str) -> None:
    await client.create(JOBS, job(namespace, ttlSecondsAfterFinished=60))
    await finish(client, namespace, datetime.now(UTC))
    await stays(lambda: exists(client, JOBS, "web", namespace), seconds=0.3)


async def test_finished_job_without_a_ttl_stays(client: Client, namespace: str) -> None:
    await client.create(JOBS, job(namespace))
    await finish(client, namespace, datetime.now(UTC) - timedelta(seconds=60))
    await stays(lambda: exists(client, JOBS, "web", namespace), seconds=0.3)


async def test_unfinished_job_stays(client: Client, namespace: str) -> None:
    await client.create(JOBS, job(namespace, ttlSecondsAfterFinished=0))
    await stays(lambda: exists(client, JOBS, "web", namespace), seconds=0.3)
