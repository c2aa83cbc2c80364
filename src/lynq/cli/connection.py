"""The options of every command that talks to a cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


def connection_options(command: Command) -> Command:
    """Add `--kubeconfig` and `--context`."""
    kubeconfig = click.option(
        "--kubeconfig",
        type=_file,
        metavar="FILE",
        help="Else $KUBECONFIG, else the pod's service account, else ~/.kube/config.",
    )
    context = click.option("--context", help="The context in it; else its current one.")
    return kubeconfig(context(command))


def _file(text: str) -> Path | None:
    """Read the path of a file that is there; as with Go's flags, an empty one was not given."""
    found: Path | None = _FILE.convert(text, None, None) if text else None
    return found
