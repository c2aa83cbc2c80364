"""`lynq explain`: the root cause of nodes and rows that are not ready."""

import json
from datetime import UTC, datetime

from cluster.cli.conftest import Lynq
from cluster.cli.tenants import normalized, running_tenants
from lynq.cli.exit_codes import ExitCode
from lynq.kube.resource import EVENTS
from operated.environment import Environment
from waiting import eventually


async def warn_of_deleted_service(env: Environment, name: str) -> None:
    """Create the event of a Service that was deleted, as the API server does when it repairs."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    service = {"kind": "Service", "namespace": env.namespace, "name": name, "uid": "deleted"}
    event = {
        "metadata": {"name": "repair"},
        "involvedObject": service,
        "type": "Warning",
        "reason": "ClusterIPNotAllocated",
        "message": "Cluster IP is not allocated; repairing",
        "source": {"component": "ipallocator-repair-controller"},
        "lastTimestamp": now,
    }
    await env.client.create(EVENTS, event, env.namespace)


async def test_root_cause_of_a_row_comes_first(env: Environment, run_lynq: Lynq) -> None:
    await warn_of_deleted_service(env, "beta-web")
    async with running_tenants(env):
        ready = await run_lynq("explain", "acme")
        assert ready.exit_code == ExitCode.OK, ready.output
        assert normalized(ready.stdout, env) == "acme × web is ready: 3 of 3 resources, for AGE."

        async def explained() -> str:
            broken = await run_lynq("explain", "beta-web")
            assert broken.exit_code == ExitCode.NOT_READY, broken.output
            assert "ImagePullBackOff" in broken.stdout
            return broken.stdout

        assert normalized(await eventually(explained, every=0.2), env).splitlines() == [
            "beta × web is not ready: 1 of 3 resources, for AGE.",
            (
                "  cause   Deployment NS/beta-web (web): "
                'container "app" is waiting: ImagePullBackOff, for AGE'
            ),
            "          image registry.local/nonexistent:1",
            (
                "          spec.template.spec.containers[0].image comes from column plan "
                'of the row ("nonexistent")'
            ),
            "  waits   Service/beta-web (svc)",
            (
                "  next   correct the row; try it first: lynq plan --hub hub -n NS --sql "
                "\"UPDATE tenants SET plan = '…' WHERE uid = 'beta'\""
            ),
            "  see   docs/troubleshooting/causes.md#containerfailing",
        ]
        (data,) = json.loads((await run_lynq("explain", "beta", "-o", "json")).stdout)
        assert data["causes"][0]["kind"] == "ContainerFailing"
        assert data["causes"][0]["waiting"] == ["Service/beta-web (svc)"]

        rejected = await run_lynq("explain", "Gamma")
        assert rejected.exit_code == ExitCode.NOT_READY, rejected.output
        assert normalized(rejected.stdout, env).splitlines() == [
            "The row Gamma has no node.",
            (
                '  cause   LynqHub hub: rejected the row: node name "Gamma-web" is not a valid '
                'object name; use lower-case letters, digits, "-" and ".", a letter or digit '
                'around every "." (InvalidNodeName), for AGE'
            ),
            "  next   correct the row in tenants",
            "  see   docs/troubleshooting/causes.md#rowrejected",
        ]
        unknown = await run_lynq("explain", "unknown")
        assert unknown.exit_code == ExitCode.ERROR
        assert unknown.stderr == (
            f'Error: No LynqNode and no row "unknown" in the namespace "{env.namespace}". The row '
            "does not exist, or is not active: SELECT active FROM tenants WHERE uid = 'unknown'\n"
        )
