"""The options of every command that talks to a cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def connection_options(command: Command) -> Command:
    """Add `--kubeconfig` and `--context`."""
    kubeconfig = click.option(
        "--kubeconfig",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Else $KUBECONFIG, else the pod's service account, else ~/.kube/config.",
    )
    context = click.option("--context", help="The context in it; else its current one.")
    return kubeconfig(context(command))
