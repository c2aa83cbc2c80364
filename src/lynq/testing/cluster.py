"""A local cluster with an operator, for tests: a real API server, without containers.

    applied = lynq_cluster.apply(lynq_form("web.yaml"), rows=[{"uid": "acme", "plan": "pro"}])
    applied.wait_ready(30)

Each application of a form has a namespace and a table of its own, so that tests do not disturb one
another. The operator reads the tables from SQLite files.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from lynq.api import LynqForm, LynqHub, LynqNode, crds
from lynq.api.activate import ACTIVE
from lynq.api.conditions import is_true
from lynq.api.names import API_VERSION
from lynq.api.naming import NodePair, node_name
from lynq.api.reasons import ConditionType
from lynq.cli.demo import operator
from lynq.cluster import LocalCluster
from lynq.kube import Client, Discovery, load_config
from lynq.kube.crd_install import install_crd
from lynq.kube.resource import resource_of
from lynq.testing.form import FormUnderTest, Manifest, variable_texts

T = TypeVar("T")

_MANAGER: Final = "lynq-testing"
_POLL_SECONDS: Final = 0.1
_OF_ROW: Final = ("uid", "activate")
_HUBS: Final = resource_of(LynqHub.definition)
_FORMS: Final = resource_of(LynqForm.definition)
_NODES: Final = resource_of(LynqNode.definition)


@dataclass(slots=True)
class OperatedCluster:
    """A local cluster with the CRDs of Lynq and a running operator."""

    cluster: LocalCluster
    directory: Path
    """The directory of the tables, and of the operator's log."""
    _applied: int = field(default=0, repr=False)

    @classmethod
    def start(cls, directory: Path) -> "OperatedCluster":
        """Start a cluster that ends with this process, at the latest; raises ClusterError."""
        cluster = LocalCluster(f"pytest-{os.getpid()}")
        cluster.up(owned=True)
        operated = cls(cluster, directory)
        try:
            operated.run(_install)
            operator.ensure_running(cluster, directory)
        except BaseException:
            cluster.down()
            raise
        return operated

    def stop(self) -> None:
        """Stop the cluster and the operator."""
        self.cluster.down()
        operator.wait_for_end(self.directory)

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the administrator, for kubectl and for clients."""
        return self.cluster.kubeconfig

    def run(self, call: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """Call a coroutine function with a client; a test may have an event loop of its own."""

        async def connected() -> T:
            async with Client.connect(load_config(kubeconfig=self.kubeconfig)) as client:
                return await call(client)

        with ThreadPoolExecutor(1) as executor:
            return executor.submit(asyncio.run, connected()).result()

    def apply(self, form: FormUnderTest, rows: Sequence[Mapping[str, object]]) -> "AppliedForm":
        """Apply a form and a hub with these rows, given by their variables."""
        self._applied += 1
        namespace = f"lynq-test-{self._applied}"
        applied = AppliedForm(self, form, namespace, self.directory / f"{namespace}.db")
        mapped = form.hub.spec.extra_value_mappings if form.hub else ()
        applied.create(rows, mapped)
        return applied


@dataclass(slots=True)
class AppliedForm:
    """A form in a namespace of the cluster, and the table of its hub."""

    cluster: OperatedCluster
    form: FormUnderTest
    namespace: str
    table: Path
    """A SQLite file with the table `rows`, whose columns have the names of the variables."""
    _columns: list[str] = field(default_factory=list, repr=False)

    def create(self, rows: Sequence[Mapping[str, object]], mapped: Iterable[str]) -> None:
        """Create the table, the namespace, the hub and the form."""
        names = (name for row in rows for name in row)
        self._columns = list(dict.fromkeys((*_OF_ROW, *mapped, *names)))
        with closing(sqlite3.connect(self.table)) as connection:
            # Readers and writers do not block each other.
            connection.execute("PRAGMA journal_mode=WAL")
            columns = ", ".join(f'"{name}" TEXT' for name in self._columns)
            connection.execute(f"CREATE TABLE rows ({columns})")
        self.set_rows(rows)
        self.cluster.run(self._apply)

    async def _apply(self, client: Client) -> None:
        discovery = Discovery(client)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        await client.apply(
            await discovery.resource("v1", "Namespace"), namespace, manager=_MANAGER, force=True
        )
        for resource, manifest in ((_HUBS, self._hub()), (_FORMS, self._form())):
            await client.apply(resource, manifest, manager=_MANAGER, force=True)

    def _hub(self) -> dict[str, Any]:
        extras = {name: name for name in self._columns if name not in _OF_ROW}
        return {
            "apiVersion": API_VERSION,
            "kind": "LynqHub",
            "metadata": {"name": self.form.form.spec.hub_id, "namespace": self.namespace},
            "spec": {
                "source": {
                    "type": "sqlite",
                    "syncInterval": "1s",
                    "changes": "Push",
                    "sqlite": {"path": self.table.name, "table": "rows"},
                },
                "valueMappings": {"uid": "uid", "activate": "activate"},
                "extraValueMappings": extras,
            },
        }

    def _form(self) -> dict[str, Any]:
        manifest = self.form.manifest
        return manifest | {"metadata": manifest["metadata"] | {"namespace": self.namespace}}

    def set_rows(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Replace all rows of the table in one transaction."""
        values = [{"activate": "true"} | variable_texts(row) for row in rows]
        marks = ", ".join("?" for _ in self._columns)
        with closing(sqlite3.connect(self.table)) as connection, connection:
            connection.execute("DELETE FROM rows")
            connection.executemany(
                f"INSERT INTO rows VALUES ({marks})",  # noqa: S608 - only question marks
                [[row.get(name) for name in self._columns] for row in values],
            )

    def nodes(self) -> dict[str, LynqNode]:
        """Return the LynqNodes by the uid of their row."""

        async def listed(client: Client) -> dict[str, LynqNode]:
            nodes = await client.list(_NODES, self.namespace, into=LynqNode)
            return {node.spec.uid: node for node in nodes}

        return self.cluster.run(listed)

    def wait_ready(self, seconds: float = 60) -> "AppliedForm":
        """Wait until every active row has a Ready LynqNode; raises AssertionError."""
        deadline = time.monotonic() + seconds
        while problems := self._problems():
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"not ready after {seconds:g} s: {'; '.join(problems)}; "
                    f"the log of the operator is {self.cluster.directory / operator.LOG}"
                )
            time.sleep(_POLL_SECONDS)
        return self

    def _problems(self) -> list[str]:
        nodes = self.nodes()
        form = self.form.form.metadata.name
        missing = [
            f"LynqNode {node_name(NodePair(uid, form))} does not exist"
            for uid in self._uids()
            if uid not in nodes
        ]
        return [*missing, *filter(None, map(_node_problem, nodes.values()))]

    def _uids(self) -> list[str]:
        with closing(sqlite3.connect(self.table)) as connection:
            rows = connection.execute("SELECT uid, activate FROM rows").fetchall()
        return [uid for uid, activate in rows if activate in ACTIVE]

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Manifest:
        """Return an object; its namespace is that of the form, unless another is given."""

        async def read(client: Client) -> Manifest:
            resource = await Discovery(client).resource(api_version, kind)
            place = (namespace or self.namespace) if resource.namespaced else None
            return Manifest(await client.get(resource, name, place))

        return self.cluster.run(read)


async def _install(client: Client) -> None:
    for crd in crds.build():
        await install_crd(client, crd)


def _node_problem(node: LynqNode) -> str:
    is_current = node.status.observed_generation == node.metadata.generation
    if is_current and is_true(node.status.conditions, ConditionType.READY):
        return ""
    states = [
        f"{each.id} is {each.state}{': ' if each.message else ''}{each.message}"
        for each in node.status.resources
        if each.message
    ]
    return f"LynqNode {node.metadata.name} is not Ready ({', '.join(states) or 'no status yet'})"
