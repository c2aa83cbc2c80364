"""`lynq install`: puts the three kinds into a cluster."""

import asyncio
from pathlib import Path

import click

from lynq.api import crds
from lynq.cli.connection import connection_options
from lynq.kube import Client, load_config
from lynq.kube.crd_install import install_crd


@click.command()
@connection_options
@click.option("--dry-run", is_flag=True, help="Let the API server check, but store nothing.")
def install(kubeconfig: Path | None, context: str | None, dry_run: bool) -> None:
    """Apply the definitions of LynqHub, LynqForm and LynqNode to the current cluster."""
    asyncio.run(install_all(kubeconfig, context, dry_run=dry_run))


async def install_all(
    kubeconfig: Path | None, context: str | None = None, *, dry_run: bool = False
) -> None:
    """Install every definition and say what became of it."""
    suffix = " (dry run)" if dry_run else ""
    async with Client.connect(load_config(kubeconfig=kubeconfig, context=context)) as client:
        for definition in crds.build():
            outcome = await install_crd(client, definition, dry_run=dry_run)
            click.echo(f"{definition['metadata']['name']} {outcome}{suffix}")
