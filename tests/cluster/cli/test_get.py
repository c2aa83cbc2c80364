"""`lynq get`, `lynq tree` and `lynq rejected`: the state of hubs, forms, nodes and objects."""

import json

import yaml

from cluster.cli.conftest import Lynq
from cluster.cli.tenants import normalized, running_tenants
from lynq.cli.exit_codes import ExitCode
from operated.environment import Environment


async def test_hubs_forms_and_nodes_are_listed_with_their_state(
    env: Environment, run_lynq: Lynq
) -> None:
    async with running_tenants(env):
        await env.wait_for_status(failed=2, ready=1)
        everything = await run_lynq("get")
        assert everything.exit_code == ExitCode.OK, everything.output
        assert normalized(everything.stdout, env).splitlines() == [
            "NAME   READY   STATE   CAUSE   AGE",
            "hub   1/3   Degraded   2 failed, 1 rejected   AGE",
            "",
            "NAME   HUB   READY   STATE   CAUSE   AGE",
            "web   hub   1/2   Progressing   -   AGE",
            "",
            "NAME   UID   FORM   READY   STATE   CAUSE   AGE",
            "acme-web   acme   web   3/3   Ready   -   AGE",
            "beta-web   beta   web   1/3   Progressing   web: ReplicasNotReady   AGE",
        ]
        problems = await run_lynq("get", "--problems", "-o", "name")
        assert problems.stdout.splitlines() == ["hub/hub", "form/web", "node/beta-web"]
        filtered = await run_lynq("get", "nodes", "--where", "state!=Ready,uid=b*", "-o", "json")
        assert [item["metadata"]["name"] for item in json.loads(filtered.stdout)["items"]] == [
            "beta-web"
        ]
        wrong = await run_lynq("get", "nodes", "--where", "color=red")
        assert wrong.exit_code == ExitCode.ERROR
        assert wrong.stderr.startswith('Error: --where: "color" is not one of state, form,')

        tree = await run_lynq("tree", "hub/hub")
        assert normalized(tree.stdout, env).splitlines() == [
            "LynqHub/hub   Degraded   1/3 nodes ready; 2 failed, 1 rejected",
            "└─ LynqForm/web   Progressing   1/2 nodes ready",
            "   ├─ LynqNode/acme-web   Ready   3/3 resources ready",
            "   └─ LynqNode/beta-web   Progressing   1/3 resources ready",
            "      ├─ Deployment/beta-web (web)   Progressing   0 of 1 replicas ready",
            (
                "      ├─ Service/beta-web (svc)   Waiting   "
                'waiting for dependency "web" to become ready'
            ),
            "      └─ ConfigMap/beta-settings (settings)   Ready",
        ]
        node = await run_lynq("tree", "acme")
        assert node.stdout.count("Ready") == 4, node.output

        names = await run_lynq("tree", "hub", "-o", "name")
        assert names.stdout.splitlines() == [
            "hub/hub",
            "form/web",
            "node/acme-web",
            "deployment/acme-web",
            "service/acme-web",
            "configmap/acme-settings",
            "node/beta-web",
            "deployment/beta-web",
            "service/beta-web",
            "configmap/beta-settings",
        ]
        data = json.loads((await run_lynq("tree", "node/beta-web", "-o", "json")).stdout)
        assert (data["kind"], data["state"]) == ("LynqNode", "Progressing")
        assert data["children"][0] == {
            "kind": "Deployment",
            "namespace": env.namespace,
            "name": "beta-web",
            "id": "web",
            "state": "Progressing",
            "detail": "0 of 1 replicas ready",
        }
        text = (await run_lynq("tree", "node/beta-web", "-o", "yaml")).stdout
        assert yaml.safe_load(text) == data

        rejected = await run_lynq("rejected", "hub")
        assert (
            normalized(rejected.stdout, env)
            .splitlines()[1]
            .startswith(
                'Gamma   InvalidNodeName   node name "Gamma-web" is not a valid object name; use '
            )
        )
        assert json.loads((await run_lynq("rejected", "hub", "-o", "json")).stdout)["count"] == 1
