"""What alerts and dashboard ask for is in the text that a real operator serves."""

import re
from pathlib import Path

from cluster.deploy.installation import Installer, Starter
from cluster.deploy.tenants import Tenancy
from deploy.manifests import Object
from deploy.promtool import missing
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually


async def test_alerts_and_panels_query_existing_metrics(
    default: list[Object],
    installer: Installer,
    starter: Starter,
    tenancy: Tenancy,
    tmp_path: Path,
) -> None:
    tenancy.row()
    # There before us, with a field that the sample wants, too: a conflict has series of its own.
    foreign = {
        "metadata": {"name": f"{tenancy.uid}-settings", "namespace": tenancy.namespace},
        "data": {"plan": "theirs"},
    }
    await installer.client.apply(CONFIG_MAPS, foreign, manager="kubectl-edit")
    with starter.running(default) as run:
        await tenancy.sample("hub-sqlite")
        await tenancy.sample("form-policies")

        async def conflicted() -> bool:
            listed = (await tenancy.node("policies")).get("status", {}).get("resources", [])
            return any(resource.get("state") == "Conflicted" for resource in listed)

        await eventually(conflicted, within=30, every=0.2)
        found = ""

        def complete() -> bool:
            nonlocal found
            complaints = missing(tmp_path, run.scrape())
            assert complaints == ""
            return True

        await eventually(complete, within=20, every=1)
        # As client-go counts them: without scheme, with port.
        asked = r'rest_client_requests_total\{code="200",host="127\.0\.0\.1:\d+",method="GET"\} \d+'
        assert re.search(asked, run.scrape())
