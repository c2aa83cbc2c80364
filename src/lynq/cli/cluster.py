"""`lynq cluster`: local Kubernetes clusters without containers."""

import os
from pathlib import Path

import click

from lynq.cli.exit_codes import CommandError
from lynq.cli.output import print_line, print_rows
from lynq.cluster import DEFAULT_NAME, LocalCluster, all_clusters
from lynq.cluster.build import KUBERNETES, controlplane_binary
from lynq.cluster.layout import ClusterPhase
from lynq.cluster.progress import ProgressStep

name_option = click.option(
    "--name", default=DEFAULT_NAME, show_default=True, help="The name of the cluster."
)


@click.group()
def cluster() -> None:
    """Run local Kubernetes clusters on loopback.

    etcd, kube-apiserver, kube-controller-manager and kube-scheduler are the original programs; KWOK
    simulates the nodes. The first start on a machine builds them, which takes some minutes.
    """


@cluster.command()
def build() -> None:
    """Build the control plane and print its path."""
    print_line(str(controlplane_binary()))


@cluster.command()
@name_option
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the data, which `down` keeps. Default: a directory that `down` deletes.",
)
def up(name: str, data_dir: Path | None) -> None:
    """Start a cluster and wait until pods can be scheduled."""
    target = LocalCluster(name)
    start(target, data_dir)
    for line in (
        f"cluster {name!r} is ready. To use it, run:",
        "",
        f"  export KUBECONFIG={target.kubeconfig}",
        "",
    ):
        print_line(line)


@cluster.command()
@name_option
def down(name: str) -> None:
    """Stop a cluster and delete its data.

    A directory of --data-dir is kept.
    """
    LocalCluster(name).down()
    print_line(f"cluster {name!r} deleted")


@cluster.command()
def status() -> None:
    """List the clusters of this machine."""
    clusters = all_clusters()
    if not clusters:
        print_line("No clusters found. Start one with: lynq cluster up")
        return
    header = ("NAME", "STATUS", "API SERVER", "KUBECONFIG")
    print_rows([header, *(_columns(target) for target in clusters)])


@cluster.command()
@name_option
def kubeconfig(name: str) -> None:
    """Print the path of a cluster's kubeconfig.

    Example: export KUBECONFIG=$(lynq cluster kubeconfig)
    """
    print_line(str(_running(name).kubeconfig))


@cluster.command(
    context_settings={
        "ignore_unknown_options": True,
        "help_option_names": [],
        # Options behind the command of kubectl are its own: `expose` has a --name too.
        "allow_interspersed_args": False,
    }
)
@name_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kubectl(name: str, arguments: tuple[str, ...]) -> None:
    """Run the kubectl of the control plane as admin of a cluster."""
    binary = str(controlplane_binary())
    config = f"--kubeconfig={_running(name).kubeconfig}"
    os.execv(binary, [binary, "kubectl", config, *arguments])  # noqa: S606


def start(target: LocalCluster, data_dir: Path | None = None) -> None:
    """Start a cluster and report the progress."""
    controlplane_binary()  # reports its own progress
    with ProgressStep(f"Starting Kubernetes {KUBERNETES}, cluster {target.name}", usually="5 s"):
        target.up(directory=data_dir)


def _running(name: str) -> LocalCluster:
    target = LocalCluster(name)
    if not target.alive:
        raise CommandError(
            f"cluster {name!r} is not running; start it with: lynq cluster up --name {name}"
        )
    return target


def _columns(target: LocalCluster) -> tuple[str, ...]:
    if not target.alive:
        return target.name, f"stopped (lynq cluster down --name {target.name})", "", ""
    record = target.layout.read()
    if record is None:  # not written by the supervisor yet
        return target.name, str(ClusterPhase.STARTING), "", ""
    server = f"https://127.0.0.1:{record.ports.apiserver}"
    return target.name, str(record.phase), server, str(target.kubeconfig)
