"""The walk of a hub: its rows become nodes."""

from lynq.api.naming import bucket_of
from operated.environment import HUBS, Environment

ROWS = (("acme", 1, "pro"), ("beta", 1, "free"), ("corp", 1, "pro"))
ALL = (
    "acme-web-app",
    "acme-worker",
    "beta-web-app",
    "beta-worker",
    "corp-web-app",
    "corp-worker",
)


async def test_three_rows_and_two_forms_become_six_nodes(env: Environment) -> None:
    env.set_rows(*ROWS, ("idle", 0, "pro"))
    await env.create_hub()
    await env.create_form("web-app")
    await env.create_form("worker")

    async with env.run_controllers():
        await env.wait_for_nodes(*ALL)
        await env.set_nodes_ready(ALL)

        await env.wait_for_status(referencingTemplates=2, desired=6, ready=6, failed=0)
        assert (await env.condition("Ready"))["reason"] == "DatabaseConnected"
        node = (await env.nodes())["acme-worker"]
        bucket = str(bucket_of(env.namespace, "acme-worker"))
        labels = {"lynq.sh/hub": "hub", "lynq.sh/uid": "acme", "lynq.sh/bucket": bucket}
        assert node["metadata"]["labels"] == labels
        assert node["spec"]["configMaps"][0]["nameTemplate"] == "acme-settings"
        assert "lynq.sh/hub-finalizer" in (await env.get(HUBS, "hub"))["metadata"]["finalizers"]
