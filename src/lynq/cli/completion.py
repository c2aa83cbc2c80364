"""Completion of commands and names: the scripts of shells, and the plugin protocol of kubectl.

Names come from the cluster of the options on the line, with the viewer's rights. Completion is
silent: after a second, or after any error, no names are offered.
"""

import asyncio
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from lynq.cli.output import print_document

_SECONDS: Final = 1.0
"""How long the names of the cluster may take."""
_NO_FILES: Final = 4
"""The directive of cobra, whose protocol kubectl speaks: do not offer files."""
_FILES: Final = 0
_CAPITALS: Final = re.compile("[A-Z]+")
_KINDS: Final = {"HUB": "hub", "FORM": "form", "NODE": "node", "UID": "node"}


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    Commands, options and the names of hubs, forms and nodes are completed. For `kubectl lynq`, the
    executable kubectl_complete-lynq does the same; it is installed with lynq.

    \b
    Examples:
      source <(lynq completion bash)
      lynq completion zsh > ~/.zfunc/_lynq
      lynq completion fish > ~/.config/fish/completions/lynq.fish
    """
    from lynq.cli.root import lynq  # noqa: PLC0415 - the root imports this module

    shell_class = get_completion_class(shell)
    if shell_class is not None:
        print_document(shell_class(lynq, {}, "lynq", "_LYNQ_COMPLETE").source())


def kubectl_complete() -> None:
    """Run `kubectl_complete-lynq`: kubectl passes the words, the last one is incomplete."""
    print_document(cobra_completions(sys.argv[1:]))


def cobra_completions(words: list[str]) -> str:
    """Return the completions of words as lines, and the directive that ends them."""
    from lynq.cli.root import lynq  # noqa: PLC0415 - the root imports this module

    items: list[CompletionItem] = []
    with suppress(Exception):
        shell = ShellComplete(lynq, {}, "kubectl lynq", "_LYNQ_COMPLETE")
        items = shell.get_completions(words[:-1], words[-1] if words else "")
    wants_files = any(item.type in {"file", "dir"} for item in items)
    lines = [
        f"{item.value}\t{item.help}" if item.help else str(item.value)
        for item in items
        if item.type == "plain"
    ]
    return "".join(f"{line}\n" for line in (*lines, f":{_FILES if wants_files else _NO_FILES}"))


def complete_names(command: click.Command) -> None:
    """Let the parameters of a command complete the names of objects."""
    for parameter in command.params:
        if kinds := _kinds_of(parameter):
            parameter.type = ObjectName(kinds)
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            complete_names(subcommand)


def _kinds_of(parameter: click.Parameter) -> tuple[str, ...]:
    """Return the kinds that a parameter names, by its name and its metavar."""
    if not isinstance(parameter.type, click.types.StringParamType):
        return ()
    name = (parameter.name or "").removesuffix("_name")
    if name == "namespace":
        return ("namespace",)
    words = [*_CAPITALS.findall(parameter.metavar or ""), name.upper()]
    return tuple(dict.fromkeys(_KINDS[word] for word in words if word in _KINDS))


class ObjectName(click.types.StringParamType):
    """The name of an object; completed with the names in the cluster."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self._kinds = kinds

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 - declared by click
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the names that begin with the text."""
        names: list[str] = []
        with suppress(Exception):
            names = asyncio.run(_names(ctx.params, self._kinds))
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


async def _names(parameters: dict[str, Any], kinds: tuple[str, ...]) -> list[str]:
    from lynq.cli.connection import ClusterOptions  # noqa: PLC0415 - slow to import
    from lynq.cli.lookup import FORMS, HUBS, NODES  # noqa: PLC0415 - slow to import
    from lynq.kube import PartialObject  # noqa: PLC0415 - slow to import
    from lynq.kube.resource import NAMESPACES  # noqa: PLC0415 - slow to import

    resources = {"hub": HUBS, "form": FORMS, "node": NODES, "namespace": NAMESPACES}
    kubeconfig = parameters.get("kubeconfig")
    options = ClusterOptions(
        kubeconfig=Path(kubeconfig) if kubeconfig else None,
        context=parameters.get("context"),
        namespace=parameters.get("namespace"),
    )
    names: list[str] = []
    async with asyncio.timeout(_SECONDS), options.connect() as cluster:
        for kind in kinds:
            namespace = cluster.namespace if kind != "namespace" else None
            listed = await cluster.client.list(resources[kind], namespace, into=PartialObject)
            prefix = f"{kind}/" if len(kinds) > 1 else ""
            names += [f"{prefix}{item.metadata.name}" for item in listed.items]
    return names


if __name__ == "__main__":
    kubectl_complete()
