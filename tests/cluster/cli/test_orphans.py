"""`lynq orphans`: retained objects are listed, and deleted only if they are orphans."""

import json

from cluster.cli.conftest import Lynq
from cluster.cli.tenants import normalized
from lynq.cli.exit_codes import ExitCode
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import Environment, Object, config_map
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import eventually


async def test_orphans_are_listed_adopted_and_deleted(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows(("acme", 1, "a"), ("beta", 1, "b"))
    await env.create_hub()
    await env.create_form(configMaps=[config_map(deletionPolicy="Retain")])
    # The label alone, set by hand, makes no orphan.
    labels = {"lynq.sh/orphaned": "true"}
    metadata = {"name": "mine", "namespace": env.namespace, "labels": labels}
    await env.client.create(CONFIG_MAPS, {"metadata": metadata})
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
        await wait_for_node_ready(env, "beta-web")
        # One row is left: an emptied table deletes nothing.
        env.set_rows(("acme", 0, "a"), ("beta", 0, "b"), ("corp", 1, "c"))
        await env.force_sync()
        await env.wait_for_nodes("corp-web")
    listed = await run_lynq("orphans")
    assert normalized(listed.stdout, env).splitlines() == [
        "NAMESPACE   OBJECT   REASON   RETAINED   AGE",
        "NS   configmap/acme-settings   LynqNodeDeleted   AGE   AGE",
        "NS   configmap/beta-settings   LynqNodeDeleted   AGE   AGE",
        "NS   configmap/mine   -   -   AGE",
    ]
    of_node = await run_lynq("orphans", "--node", "acme-web", "-o", "name")
    assert of_node.stdout == "configmap/acme-settings\n"
    of_none = await run_lynq("orphans", "--node", "elsewhere/acme-web", "-o", "name")
    assert of_none.stdout == ""
    unconfirmed = await run_lynq("orphans", "--delete")
    assert unconfirmed.exit_code == ExitCode.ERROR
    assert "Delete 2 orphans with all data: not confirmed." in unconfirmed.stderr
    assert await env.get(CONFIG_MAPS, "acme-settings")

    unwanted = await run_lynq("orphans", "--adopt", "--yes")
    assert unwanted.exit_code == ExitCode.OK
    assert "no node desires it; add its row or its entry again." in unwanted.stderr

    other = await run_lynq("orphans", "cm/acme", "--delete", "--yes")
    assert other.exit_code == ExitCode.ERROR
    assert '"cm/acme" is not an orphan' in other.stderr

    deleted = await run_lynq("orphans", "configmap/acme-settings", "--delete", "--yes")
    assert deleted.stdout.splitlines()[-1] == "configmap/acme-settings deleted", deleted.output
    assert await _is_gone(env, "acme-settings")
    mine = await run_lynq("orphans", "configmap/mine", "--delete", "--yes")
    assert "is not deleted: the operator did not retain it: its marks were set" in mine.stderr
    assert await env.get(CONFIG_MAPS, "mine")
    assert await env.get(CONFIG_MAPS, "beta-settings")


async def test_orphan_is_adopted_by_the_node_that_desires_it(
    env: Environment, run_lynq: Lynq
) -> None:
    env.set_rows(("acme", 1, "a"))
    await env.create_hub()
    await env.create_form(configMaps=[config_map(deletionPolicy="Retain")])
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
    # As from a backup that was made while the object was an orphan.
    await env.client.delete(CONFIG_MAPS, "acme-settings", env.namespace)
    metadata = {
        "name": "acme-settings",
        "labels": {"lynq.sh/orphaned": "true", "lynq.sh/managed": "true"},
        "annotations": {
            "lynq.sh/orphaned-at": "2026-01-01T00:00:00Z",
            "lynq.sh/orphaned-reason": "LynqNodeDeleted",
        },
    }
    orphan = await env.client.create(CONFIG_MAPS, {"metadata": metadata}, env.namespace)
    names = await run_lynq("orphans", "-o", "name")
    assert names.stdout == "configmap/acme-settings\n"
    listed = json.loads((await run_lynq("orphans", "-o", "json")).stdout)
    assert [(each["kind"], each["reason"]) for each in listed] == [("ConfigMap", "LynqNodeDeleted")]
    wide = await run_lynq("orphans", "-o", "wide")
    assert orphan["metadata"]["uid"] in wide.stdout

    adopted = await run_lynq("orphans", "--adopt", "--yes")
    assert adopted.exit_code == ExitCode.OK, adopted.output
    assert normalized(adopted.stderr, env).splitlines() == [
        "ConfigMap NS/acme-settings: desired by node NS/acme-web",
        "Reconcile 1 node, so that the operator adopts these objects.",
    ]
    assert adopted.stdout == "node/acme-web reconcile requested\n"
    async with running_operator(env):

        async def live() -> Object:
            found = await env.get(CONFIG_MAPS, "acme-settings")
            assert "lynq.sh/orphaned" not in found["metadata"]["labels"]
            return found

        assert (await eventually(live))["metadata"]["uid"] == orphan["metadata"]["uid"]
    none = await run_lynq("orphans")
    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "No orphans found.\n")


async def _is_gone(env: Environment, name: str) -> bool:
    async def gone() -> bool:
        try:
            await env.get(CONFIG_MAPS, name)
        except NotFound:
            return True
        return False

    return await eventually(gone)
