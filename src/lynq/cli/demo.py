"""`lynq demo`: shows on this machine what there is to show."""

import asyncio

import click

from lynq.cli.install import install_all
from lynq.cluster import Cluster
from lynq.cluster.build import KUBERNETES, controlplane_binary
from lynq.cluster.progress import Step

NAME = "demo"

CLOSING = """
The cluster "{name}" runs in the background and knows hubs, forms and nodes. Look around:

  lynq cluster kubectl --name {name} get crds
  lynq cluster kubectl --name {name} explain lynqform.spec.deployments
  lynq cluster down --name {name}

The demo ends here for now: the operator, which turns rows into resources, is not built yet.
"""


@click.command()
def demo() -> None:
    """Start a local cluster and install the three kinds in it."""
    target = Cluster(NAME)
    if target.alive:
        click.echo(f"The cluster {NAME} is already running.")
    else:
        controlplane_binary()
        with Step(f"Starting Kubernetes {KUBERNETES}, cluster {NAME}", usually="5 s"):
            target.up()
    asyncio.run(install_all(target.kubeconfig))
    click.echo(CLOSING.format(name=NAME))
