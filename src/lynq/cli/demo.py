"""`lynq demo`: shows on this machine what there is to show."""

import asyncio
import sys

import click

from lynq.cli.cluster import start
from lynq.cli.install import install_all
from lynq.cluster import Cluster

NAME = "demo"

CLOSING = """
The cluster "{name}" runs in the background and knows hubs, forms and nodes. Look around:

  {lynq} cluster kubectl --name {name} get crds
  {lynq} cluster kubectl --name {name} explain lynqform.spec.deployments
  {lynq} cluster down --name {name}

The demo ends here for now: the operator, which turns rows into resources, is not built yet.
"""


@click.command()
def demo() -> None:
    """Start a local cluster and install the three kinds in it."""
    target = Cluster(NAME)
    if target.alive:
        click.echo(f"The cluster {NAME} is already running.")
    else:
        start(target)
    asyncio.run(install_all(target.kubeconfig))
    click.echo(CLOSING.format(name=NAME, lynq=sys.argv[0]))
