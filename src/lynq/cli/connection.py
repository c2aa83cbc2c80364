"""The options of commands that connect to a cluster."""

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
        help="Path of the kubeconfig. Default: $KUBECONFIG, the pod's service account, or "
        "~/.kube/config.",
    )
    context = click.option(
        "--context", help="Context of the kubeconfig. Default: its current-context."
    )
    return kubeconfig(context(command))


def _file(text: str) -> Path | None:
    """Parse the path of an existing file; like with Go's flags, an empty path is none."""
    path: Path | None = _FILE.convert(text, None, None) if text else None
    return path
