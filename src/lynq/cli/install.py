"""`lynq install`: installs the CRDs."""

import asyncio
from pathlib import Path

import click

from lynq.api import crds
from lynq.cli.connection import connection_options
from lynq.cli.output import print_line
from lynq.kube import Client, load_config
from lynq.kube.crd_install import install_crd


@click.command()
@connection_options
@click.option(
    "--dry-run", is_flag=True, help="Validate on the API server without storing anything."
)
def install(kubeconfig: Path | None, context: str | None, dry_run: bool) -> None:
    """Install the CRDs of Lynq.

    The kinds are LynqHub, LynqForm and LynqNode. Existing CRDs are updated.
    """
    asyncio.run(install_all(kubeconfig, context, dry_run=dry_run))


async def install_all(
    kubeconfig: Path | None, context: str | None = None, *, dry_run: bool = False
) -> None:
    """Install every CRD and print the results."""
    suffix = " (dry run)" if dry_run else ""
    async with Client.connect(load_config(kubeconfig=kubeconfig, context=context)) as client:
        for crd in crds.build():
            result = await install_crd(client, crd, dry_run=dry_run)
            print_line(f"{crd['metadata']['name']} {result}{suffix}")
