"""`lynq cluster`: a real Kubernetes control plane on this machine, without containers."""

import os
from pathlib import Path

import click

from lynq.cluster import DEFAULT_NAME, LocalCluster, all_clusters
from lynq.cluster.build import KUBERNETES, controlplane_binary
from lynq.cluster.layout import ClusterPhase
from lynq.cluster.progress import ProgressStep

by_name = click.option(
    "--name", default=DEFAULT_NAME, show_default=True, help="Which cluster; any number may run."
)


@click.group()
def cluster() -> None:
    """Run local Kubernetes clusters on loopback.

    etcd, kube-apiserver, kube-controller-manager and kube-scheduler are the real ones; KWOK plays
    the nodes. The first start on a machine builds them, which takes some minutes.
    """


@cluster.command()
def build() -> None:
    """Build the control plane if this machine has none yet, as the first `up` would."""
    click.echo(controlplane_binary())


@cluster.command()
@by_name
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the data here, also after `down`; else it goes with the cluster.",
)
def up(name: str, data_dir: Path | None) -> None:
    """Start a cluster and wait until pods can be scheduled."""
    target = LocalCluster(name)
    start(target, data_dir)
    click.echo(f"Cluster {name} is ready. To use it:\n\n  export KUBECONFIG={target.kubeconfig}\n")


@cluster.command()
@by_name
def down(name: str) -> None:
    """Stop a cluster and remove what it left, except a chosen data directory."""
    LocalCluster(name).down()
    click.echo(f"Cluster {name} is gone.")


@cluster.command()
def status() -> None:
    """List the clusters of this machine."""
    known = all_clusters()
    if not known:
        click.echo("No cluster here. Start one: lynq cluster up")
        return
    rows = [("NAME", "STATE", "API SERVER", "KUBECONFIG"), *(_columns(each) for each in known)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("   ".join(cells).rstrip())


@cluster.command()
@by_name
def kubeconfig(name: str) -> None:
    """Print the path of a cluster's kubeconfig: export KUBECONFIG=$(lynq cluster kubeconfig)."""
    click.echo(_running(name).kubeconfig)


@cluster.command(
    context_settings={
        "ignore_unknown_options": True,
        "help_option_names": [],
        # What follows kubectl's own verb is kubectl's: `expose` has a --name, too.
        "allow_interspersed_args": False,
    }
)
@by_name
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kubectl(name: str, arguments: tuple[str, ...]) -> None:
    """Run the kubectl that comes with the control plane, as the cluster's admin."""
    binary = str(controlplane_binary())
    config = f"--kubeconfig={_running(name).kubeconfig}"
    os.execv(binary, [binary, "kubectl", config, *arguments])  # noqa: S606


def start(target: LocalCluster, data_dir: Path | None = None) -> None:
    """Start a cluster and tell how it goes."""
    controlplane_binary()  # its building shows its own progress
    with ProgressStep(f"Starting Kubernetes {KUBERNETES}, cluster {target.name}", usually="5 s"):
        target.up(directory=data_dir)


def _running(name: str) -> LocalCluster:
    target = LocalCluster(name)
    if not target.alive:
        raise click.ClickException(
            f"no cluster named {name} is running: lynq cluster up --name {name}"
        )
    return target


def _columns(each: LocalCluster) -> tuple[str, ...]:
    if not each.alive:
        return each.name, f"dead, remove it: lynq cluster down --name {each.name}", "", ""
    record = each.layout.read()
    if record is None:  # its supervisor has yet to say a word
        return each.name, str(ClusterPhase.STARTING), "", ""
    server = f"https://127.0.0.1:{record.ports.apiserver}"
    return each.name, str(record.phase), server, str(each.kubeconfig)
