"""`lynq orphans`: retained objects are listed, and deleted only if they are orphans."""

from cluster.cli.conftest import Lynq
from cluster.cli.tenants import normalized
from cluster.controllers.environment import Environment, config_map
from cluster.controllers.running_operator import running_operator, wait_for_node_ready
from lynq.cli.exit_codes import ExitCode
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS
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
        env.set_rows(("acme", 0, "a"), ("beta", 0, "b"))
        await env.force_sync()
        await env.wait_for_nodes()
    listed = await run_lynq("orphans")
    assert normalized(listed.stdout, env).splitlines() == [
        "NAMESPACE   OBJECT   REASON   RETAINED   AGE",
        "NS   configmap/acme-settings   LynqNodeDeleted   AGE   AGE",
        "NS   configmap/beta-settings   LynqNodeDeleted   AGE   AGE",
        "NS   configmap/mine   -   -   AGE",
    ]
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


async def _is_gone(env: Environment, name: str) -> bool:
    async def gone() -> bool:
        try:
            await env.get(CONFIG_MAPS, name)
        except NotFound:
            return True
        return False

    return await eventually(gone)
