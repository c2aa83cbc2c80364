"""The root command: imports a subcommand when it is used, and prints expected errors in one line.

The help of `lynq` needs no subcommand, because importing all of them takes seconds. So each one is
listed here with its summary; a test compares it with the command's own.
"""

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

from lynq.cli.exit_codes import CommandError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A subcommand that is not imported yet."""

    target: str
    """`module:attribute` of the click command."""
    summary: str


SECTIONS: Final[dict[str, dict[str, Subcommand]]] = {
    "Plan": {
        "plan": Subcommand(
            "lynq.cli.plan:plan", "Show what a form, a statement or a table would change."
        ),
    },
    "Look": {
        "dashboard": Subcommand(
            "lynq.cli.dashboard:dashboard",
            "Serve the dashboard: every row, node and resource in the browser, problems first.",
        ),
        "diff": Subcommand(
            "lynq.cli.diff:diff", "Compare the live objects of a node with the desired ones."
        ),
        "events": Subcommand("lynq.cli.events:events", "List the events of hubs, forms and nodes."),
        "explain": Subcommand(
            "lynq.cli.explain:explain", "Explain why a node or a row is not ready."
        ),
        "get": Subcommand("lynq.cli.get:get", "List hubs, forms and nodes with their state."),
        "logs": Subcommand("lynq.cli.logs:logs", "Print the log of the operator."),
        "orphans": Subcommand(
            "lynq.cli.orphans:orphans", "List objects that were retained, or adopt or delete them."
        ),
        "rejected": Subcommand("lynq.cli.rejected:rejected", "List the rows that a hub rejected."),
        "top": Subcommand("lynq.cli.top:top", "Show rows, nodes and the load of the operator."),
        "trace": Subcommand("lynq.cli.trace:trace", "Trace an object back to its row."),
        "tree": Subcommand("lynq.cli.tree:tree", "Show a hub or a node with everything below it."),
    },
    "Act": {
        "approve": Subcommand(
            "lynq.cli.approve:approve",
            "Approve the deletions that the deletion guard of a hub holds.",
        ),
        "pause": Subcommand("lynq.cli.pause:pause", "Pause a hub, a form or a node."),
        "reconcile": Subcommand(
            "lynq.cli.trigger:reconcile", "Apply all resources of a node now, changed or not."
        ),
        "resume": Subcommand("lynq.cli.pause:resume", "Resume a paused hub, form or node."),
        "sync": Subcommand("lynq.cli.trigger:sync", "Read the rows of a hub now."),
        "wait": Subcommand(
            "lynq.cli.wait:wait", "Wait until a hub, a form or a node has reached a goal."
        ),
    },
    "Forms": {
        "lint": Subcommand("lynq.cli.lint:lint", "Find what is valid and may still go wrong."),
        "render": Subcommand("lynq.cli.render:render", "Print the manifests of forms for rows."),
        "schema": Subcommand(
            "lynq.cli.schema:schema",
            "Print the JSON schemas of LynqHub, LynqForm and LynqNode, for editors.",
        ),
        "test": Subcommand(
            "lynq.cli.form_test:test", "Compare the manifests of forms with expected ones."
        ),
        "validate": Subcommand(
            "lynq.cli.validate:validate",
            "Check hubs and forms as admission does, without a cluster.",
        ),
    },
    "Set up": {
        "completion": Subcommand(
            "lynq.cli.completion:completion", "Print the completion script of a shell."
        ),
        "doctor": Subcommand(
            "lynq.cli.doctor:doctor",
            "Check the installation: CRDs, operator, webhooks, rights, databases, clock and scale.",
        ),
        "export": Subcommand(
            "lynq.cli.export:export", "Write a hub, its forms and its ConfigMaps as YAML files."
        ),
        "import": Subcommand(
            "lynq.cli.takeover:import_", "Show what the swap from the Go operator would write."
        ),
        "source": Subcommand("lynq.cli.source:source", "Check and prepare the databases of hubs."),
    },
    "Run": {
        "cluster": Subcommand(
            "lynq.cli.cluster:cluster", "Run local Kubernetes clusters on loopback."
        ),
        "demo": Subcommand("lynq.cli.demo.command:demo", "Run a demo on a local cluster."),
        "install": Subcommand("lynq.cli.install:install", "Install the CRDs of Lynq."),
        "run": Subcommand("lynq.cli.run:run", "Run the operator until SIGTERM or SIGINT."),
    },
}
"""The subcommands by the section of the help that lists them."""

SUBCOMMANDS: Final = {
    name: subcommand for section in SECTIONS.values() for name, subcommand in section.items()
}

PLUGIN: Final = "kubectl-lynq"
"""The name of the executable that `kubectl lynq` starts."""


class _Commands(click.Group):
    """Imports subcommands when they are used, and prints expected errors without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - declared by click
        """Return the names of all subcommands."""
        return sorted(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand."""
        if cmd_name not in SUBCOMMANDS:
            return None
        module, _, attribute = SUBCOMMANDS[cmd_name].target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        if ctx.resilient_parsing:
            # A shell asks for completions.
            import_module("lynq.cli.completion").complete_names(command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the subcommands that begin with the text, without importing them."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - slow to import

        names = [name for name in sorted(SUBCOMMANDS) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=SUBCOMMANDS[name].summary) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; an unknown one gets the names that are close to it."""
        if not ctx.resilient_parsing and args and args[0] not in SUBCOMMANDS:
            from difflib import get_close_matches  # noqa: PLC0415 - rarely needed

            if names := get_close_matches(args[0], SUBCOMMANDS, n=1):
                ctx.fail(f"No such command '{args[0]}'. Did you mean {names[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the subcommands by section."""
        for section, subcommands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(
                    [(name, subcommand.summary) for name, subcommand in subcommands.items()]
                )

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - declared by click
        """Run the subcommand."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            from lynq.api.text import shown  # noqa: PLC0415 - slow to import

            # Errors of arguments, which a script may have from a row, are printed by click.
            vars(error)["message"] = shown(error.message)
            raise
        except Exception as error:
            if isinstance(error, _expected_errors()):
                raise CommandError(str(error)) from error
            raise


def _expected_errors() -> tuple[type[Exception], ...]:
    """Return the errors whose message is complete; only of modules that are in use."""
    names = (
        ("lynq.cluster", "ClusterError"),
        ("lynq.kube.errors", "KubeError"),
        ("lynq.sources", "SourceError"),
    )
    return tuple(
        getattr(sys.modules[module], name) for module, name in names if module in sys.modules
    )


def _print_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from importlib.metadata import version  # noqa: PLC0415 - slow to import

    from lynq.cli.output import print_line  # noqa: PLC0415 - slow to import

    print_line(f"lynq, version {version('lynq')}")
    context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def lynq() -> None:
    """Turn database rows into running Kubernetes infrastructure."""


def main() -> None:
    """Run `lynq`; the help says `kubectl lynq` if kubectl started it."""
    is_plugin = os.path.basename(sys.argv[0]).startswith(PLUGIN)  # noqa: PTH119 - pathlib is slow
    lynq(prog_name="kubectl lynq" if is_plugin else "lynq")
