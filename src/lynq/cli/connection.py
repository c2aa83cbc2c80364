"""The options of commands that connect to a cluster, and the connection."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import click

from lynq.cli.exit_codes import CommandError

if TYPE_CHECKING:
    from lynq.kube import Client

Command = TypeVar("Command", bound=Callable[..., Any])

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connection to a cluster, and the namespace that the command is about."""

    client: "Client"
    namespace: str
    """The namespace of `--namespace`, or of the context."""
    all_namespaces: bool = False

    @property
    def listed_namespace(self) -> str | None:
        """The namespace to list; None: all namespaces."""
        return None if self.all_namespaces else self.namespace


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The options `--kubeconfig`, `--context`, `--namespace` and `--all-namespaces`."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Cluster]:
        """Connect for the duration of the block."""
        from lynq.kube import Client, load_config  # noqa: PLC0415 - slow to import

        config = load_config(kubeconfig=self.kubeconfig, context=self.context)
        namespace = self.namespace or config.namespace or "default"
        async with Client.connect(config) as client:
            yield Cluster(client, namespace, self.all_namespaces)


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


def namespace_option(command: Command) -> Command:
    """Add `--namespace`."""
    option = click.option(
        "-n", "--namespace", metavar="NAME", help="Namespace. Default: that of the context."
    )
    return option(command)


Run: TypeAlias = Callable[..., Coroutine[Any, Any, None]]
"""A command: takes the `Cluster`, then its own parameters."""


def cluster_command(run: Run) -> Callable[..., None]:
    """Connect to the cluster and run a coroutine with it; adds the connection options and `-n`."""
    return namespace_option(connection_options(_connected(run)))


def listing_command(run: Run) -> Callable[..., None]:
    """Like `cluster_command`, and add `--all-namespaces`."""
    option = click.option("-A", "--all-namespaces", is_flag=True, help="List all namespaces.")
    return option(cluster_command(run))


def _connected(run: Run) -> Callable[..., None]:
    @wraps(run)
    def command(
        kubeconfig: Path | None,
        context: str | None,
        namespace: str | None,
        all_namespaces: bool = False,  # noqa: FBT002 - click passes it by name
        **parameters: Any,  # noqa: ANN401 - those of the command
    ) -> None:
        options = ClusterOptions(kubeconfig, context, namespace, all_namespaces)
        run_connected(run, options, **parameters)

    return command


def run_connected(run: Run, options: ClusterOptions, **parameters: Any) -> None:  # noqa: ANN401
    """Connect to the cluster and run a coroutine with it; raises CommandError."""
    # The loop of the standard library, whatever loop the process uses elsewhere.
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        runner.run(_run(run, options, parameters))


async def _run(run: Run, options: ClusterOptions, parameters: dict[str, Any]) -> None:
    from lynq.kube.errors import KubeError  # noqa: PLC0415 - slow to import

    try:
        async with options.connect() as cluster:
            await run(cluster, **parameters)
    except KubeError as error:
        raise CommandError(str(error)) from error


def _file(text: str) -> Path | None:
    """Parse the path of an existing file; like with Go's flags, an empty path is none."""
    path: Path | None = _FILE.convert(text, None, None) if text else None
    return path
