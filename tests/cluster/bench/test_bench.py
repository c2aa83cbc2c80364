"""The small tier of `make bench`: request counts are asserted, seconds are not."""

import json
from collections.abc import Iterator

import pytest

import databases
from bench.__main__ import BINLOG, SIZES, provision
from bench.tables import Results
from bench.workloads import Bench
from lynq.cluster import LocalCluster
from lynq.kube import Client

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
