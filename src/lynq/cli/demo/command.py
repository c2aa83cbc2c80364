"""`lynq demo`: starts a cluster and the operator, runs the demo, and leaves both running."""

import asyncio
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Final

import click
import yaml
from rich.console import Console

from lynq.api import LynqForm, LynqHub
from lynq.cli.cluster import start
from lynq.cli.demo import operator
from lynq.cli.demo.rows import FILE, TenantTable
from lynq.cli.demo.steps import DemoRun
from lynq.cli.install import install_all
from lynq.cli.output import print_document, print_line
from lynq.cluster import LocalCluster
from lynq.cluster.layout import clusters_directory
from lynq.kube import Client, load_config
from lynq.kube.resource import resource_of

NAME: Final = "demo"

_KINDS: Final = {kind.definition.kind: resource_of(kind.definition) for kind in (LynqHub, LynqForm)}
_CLOSING: Final = """
The cluster and the operator keep running in the background. Try:

  {kubectl} get lynqhubs,lynqforms,lynqnodes,deployments,services
  {kubectl} get lynqnode acme-web -o yaml       # state and reason of every resource
  {kubectl} delete deployment acme-app          # it is re-created
  {sql}
  tail -f {log}

The dashboard is at {dashboard}; it needs no login here.
The table is {table}.
The hub and the form are in {manifests}.

To stop and delete everything, run:

  {lynq} cluster down --name {name}
"""
_CHANGE: Final = "UPDATE tenants SET replicas = 5 WHERE name = 'acme'"


@click.command()
@click.option(
    "--exit", "cleanup", is_flag=True, help="Stop the cluster and the operator at the end."
)
def demo(cleanup: bool) -> None:
    """Run a demo on a local cluster.

    Rows of a SQLite table become resources, and changes of the rows change the resources.
    """
    target = LocalCluster(NAME)
    if target.alive:
        print_line(f"cluster {NAME!r} is already running")
    else:
        start(target)
    try:
        asyncio.run(_run(target, TenantTable(_directory() / FILE)))
    finally:
        if cleanup:
            target.down()
            operator.wait_for_end(_directory())
            shutil.rmtree(_directory(), ignore_errors=True)
    if not cleanup:
        print_document(_closing())


async def _run(target: LocalCluster, table: TenantTable) -> None:
    await install_all(target.kubeconfig)
    table.create()
    operator.ensure_running(target, table.path.parent)
    if url := operator.dashboard_url(table.path.parent):
        print_line(f"The dashboard is at {url}; it has the rights of the demo's kubeconfig.")
    async with Client.connect(load_config(kubeconfig=target.kubeconfig)) as client:
        for manifest in yaml.safe_load_all(_manifests().read_text()):
            await client.apply(_KINDS[manifest["kind"]], manifest, manager="lynq-demo", force=True)
            print_line(
                f"{manifest['kind'].lower()}/{manifest['metadata']['name']} serverside-applied"
            )
        await DemoRun(Console(), client, table).run()


def _directory() -> Path:
    return clusters_directory().parent / NAME


def _manifests() -> Path:
    return Path(str(files("lynq.cli.demo").joinpath("shop.yaml")))


def _closing() -> str:
    directory, lynq = _directory(), sys.argv[0]
    table = directory / FILE
    code = (
        f"import sqlite3; c = sqlite3.connect('{table}'); c.execute(\\\"{_CHANGE}\\\"); c.commit()"
    )
    return _CLOSING.format(
        kubectl=f"{lynq} cluster kubectl --name {NAME}",
        sql=f'sqlite3 {table} "{_CHANGE}"' if shutil.which("sqlite3") else f'python3 -c "{code}"',
        log=directory / operator.LOG,
        dashboard=operator.dashboard_url(directory) or "no address: see the log",
        table=table,
        manifests=_manifests(),
        lynq=lynq,
        name=NAME,
    )
