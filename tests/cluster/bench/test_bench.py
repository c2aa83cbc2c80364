"""The small tier of `make bench`: request counts and bodies are asserted, seconds are not."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import databases
from bench.__main__ import BINLOG, SIZES, provision
from bench.shapes import SHAPES
from bench.tables import Results
from bench.workloads import Bench
from built_in_resources import SERVICE_ACCOUNTS, SERVICES
from lynq.cluster import LocalCluster
from lynq.kube import Client
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import NODES

ROWS = 10
STATUS = "patch lynqnodes/status"
WRITES = ("create lynqnodes", "apply configmaps", "apply services", "apply serviceaccounts")


@pytest.fixture
def bench(cluster: LocalCluster, client: Client, crds: None) -> Iterator[Bench]:
    del crds
    with databases.mariadb(*BINLOG) as database:
        yield Bench(cluster, client, database)


async def test_bench_counts_the_requests_of_each_row(bench: Bench) -> None:
    results = Results({"cores": 2})
    await provision(bench, "plain", ROWS, results, SIZES["small"])

    (comparison,) = results.comparisons
    # Not the total: the cluster is shared, and its controllers write, too.
    floor = comparison.floor.requests
    assert [floor[key] for key in (*WRITES, STATUS)] == [ROWS] * 5
    counts = comparison.requests_per_row()
    assert [counts[key] for key in WRITES] == [1] * 4, counts
    # The hub has written the inventory; a slow write costs a second status.
    assert 1 <= counts[STATUS] <= 2, counts
    assert "rows → Ready" in results.text()
    assert json.loads(json.dumps(results.as_json()))["comparisons"][0]["rows"] == ROWS


async def test_floor_stores_what_the_operator_stores(bench: Bench) -> None:
    shape = SHAPES["plain"]
    namespace = await bench.namespace("floor")
    await bench.floor("provision", namespace, "plain", 1)
    async with bench.tenants(shape, 1) as tenants:
        await bench.provision(tenants)
        for resource, name in (
            (NODES, "t00000-web"),
            (CONFIG_MAPS, "t00000-settings"),
            (SERVICES, "t00000-web"),
            (SERVICE_ACCOUNTS, "t00000-account"),
        ):
            floor = await bench.client.get(resource, name, namespace)
            ours = await bench.client.get(resource, name, tenants.namespace)
            assert _fields(floor) == _fields(ours), resource
            assert len(json.dumps(floor)) == pytest.approx(len(json.dumps(ours)), rel=0.02)


def _fields(value: Any) -> Any:
    """Return a value without its scalars; who wrote a field does not matter."""
    match value:
        case dict():
            return {key: _fields(item) for key, item in value.items() if key != "managedFields"}
        case list():
            return [_fields(item) for item in value]
        case _:
            return None
