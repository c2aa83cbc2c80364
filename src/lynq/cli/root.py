"""The root command: registers the subcommands and prints expected errors in one line."""

from importlib.metadata import version
from typing import Any

import click

from lynq.cli.cluster import cluster
from lynq.cli.demo.command import demo
from lynq.cli.install import install
from lynq.cli.run import run
from lynq.cli.source import source
from lynq.cluster import ClusterError
from lynq.kube.errors import KubeError
from lynq.sources import SourceError


class _Commands(click.Group):
    """A group that prints expected errors without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  declared by click
        """Run the subcommand."""
        try:
            return super().invoke(ctx)
        except (ClusterError, KubeError, SourceError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("lynq"), prog_name="lynq")
def lynq() -> None:
    """Turn database rows into running Kubernetes infrastructure."""


for command in (cluster, demo, install, run, source):
    lynq.add_command(command)
