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
RESOURCES = 3


@pytest.fixture
def bench(cluster: LocalCluster, client: Client, crds: None) -> Iterator[Bench]:
    del crds
    with databases.mariadb(*BINLOG) as database:
        yield Bench(cluster, client, database)


async def test_bench_counts_the_requests_of_each_row(bench: Bench) -> None:
    results = Results({"cores": 2})
    await provision(bench, "plain", ROWS, results, SIZES["small"])

    (comparison,) = results.comparisons
    assert comparison.floor.requests.total() == ROWS * (RESOURCES + 2)
    counts = comparison.requests_per_row()
    assert counts["create lynqnodes"] == 1
    for plural in ("configmaps", "services", "serviceaccounts"):
        assert counts[f"apply {plural}"] == 1
    shared = ("events", "lynqhubs", "lynqforms", "secrets")
    of_rows = [count for key, count in counts.items() if not any(name in key for name in shared)]
    assert sum(of_rows) <= RESOURCES + 3, counts
    assert "rows → Ready" in results.text()
    assert json.loads(json.dumps(results.as_json()))["comparisons"][0]["rows"] == ROWS
