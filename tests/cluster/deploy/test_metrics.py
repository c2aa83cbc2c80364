"""Alerts and dashboard query only metrics that a running operator serves."""

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
    tenancy.set_row()
    # A foreign object with a field of the sample: a conflict has metrics of its own.
    foreign = {
        "metadata": {"name": f"{tenancy.uid}-settings", "namespace": tenancy.namespace},
        "data": {"plan": "theirs"},
    }
    await installer.client.apply(CONFIG_MAPS, foreign, manager="kubectl-edit")
    with starter.running(default) as run:
        await tenancy.apply_sample("hub-sqlite")
        await tenancy.apply_sample("form-policies")

        async def conflicted() -> bool:
            listed = (await tenancy.node("policies")).get("status", {}).get("resources", [])
            return any(resource.get("state") == "Conflicted" for resource in listed)

        await eventually(conflicted, within=30, every=0.2)

        def all_exist() -> bool:
            assert missing(tmp_path, run.scrape()) == ""
            return True

        await eventually(all_exist, within=20, every=1)
        # The host label is that of client-go: without scheme, with port.
        pattern = (
            r'rest_client_requests_total\{code="200",host="127\.0\.0\.1:\d+",method="GET"\} \d+'
        )
        assert re.search(pattern, run.scrape())
