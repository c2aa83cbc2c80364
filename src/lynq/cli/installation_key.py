"""The installation key for commands that render as the operator does."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from lynq.api.installation_key import KeyState, MissingKey
from lynq.cli.connection import Cluster
from lynq.controllers.installation_key import KEY_SECRET, read_key
from lynq.kube.errors import KubeError

Command = TypeVar("Command", bound=Callable[..., Any])


def key_option(command: Command) -> Command:
    """Add `--operator-namespace`, in which the Secret of the key is."""
    option = click.option(
        "--operator-namespace",
        default="lynq-system",
        show_default=True,
        help="Namespace of the operator, for the key of random values.",
    )
    return option(command)


async def installation_key(cluster: Cluster, namespace: str) -> KeyState:
    """Return the key, or why it cannot be read: then templates with random values fail."""
    try:
        return await read_key(cluster.client, namespace, KEY_SECRET)
    except KubeError as error:
        return MissingKey(f"the installation key cannot be read: {error}")
