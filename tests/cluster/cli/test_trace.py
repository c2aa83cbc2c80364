"""`lynq trace`: any object back to its row."""

import json

from cluster.cli.conftest import Lynq
from cluster.cli.tenants import normalized, running_tenants
from lynq.cli.exit_codes import ExitCode
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import Environment

PODS = Resource("", "v1", "Pod", "pods", namespaced=True)


async def test_object_is_traced_to_its_row(env: Environment, run_lynq: Lynq) -> None:
    async with running_tenants(env):
        traced = await run_lynq("trace", "cm/acme-settings")
        assert traced.exit_code == ExitCode.OK, traced.output
        assert normalized(traced.stdout, env).splitlines() == [
            "ConfigMap/acme-settings   NS   applied TIME by lynq-operator",
            "└─ LynqNode/acme-web   NS   generation 1, Ready True (Reconciled)",
            "   └─ LynqForm/web   NS   generation 1, entry configMaps[settings]",
            "      └─ LynqHub/hub   NS   sqlite rows.db tenants, read TIME",
            "         └─ row uid = acme   changed TIME",
        ]
        pods = await env.client.list(PODS, env.namespace, labels="app=acme-web")
        pod = pods.items[0]["metadata"]["name"]
        steps = json.loads((await run_lynq("trace", f"pod/{pod}", "-o", "json")).stdout)
        assert [step["kind"] for step in steps] == [
            "Pod",
            "ReplicaSet",
            "Deployment",
            "LynqNode",
            "LynqForm",
            "LynqHub",
            "row",
        ]
        copy = await env.get(CONFIG_MAPS, "acme-settings")
        kept = {key: copy["metadata"][key] for key in ("labels", "ownerReferences")}
        metadata = {"name": "copy", "namespace": env.namespace} | kept
        await env.client.create(CONFIG_MAPS, {"metadata": metadata})
        copied = await run_lynq("trace", "configmap/copy")
        assert copied.exit_code == ExitCode.NOT_MANAGED
        assert "which does not list it: the marks were copied or edited" in copied.stderr
        foreign = await run_lynq("trace", "cm/kube-root-ca.crt")
        assert foreign.exit_code == ExitCode.NOT_MANAGED
        assert "has no mark of a LynqNode: it is not managed." in foreign.stderr
