"""The root command: its help, the imports behind it and the exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import SECTIONS, SUBCOMMANDS, lynq

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: nowhere
contexts: [{name: nowhere, context: {cluster: nowhere, user: absent}}]
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: absent, user: {token: none}}]
"""


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_summary_in_the_help_is_that_of_the_command(name: str) -> None:
    command = lynq.get_command(lynq.make_context("lynq", [], resilient_parsing=True), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(limit=100) == SUBCOMMANDS[name].summary


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_help_shows_no_control_word_of_click(name: str) -> None:
    assert "\\b" not in CliRunner().invoke(lynq, [name, "--help"]).output


def test_help_lists_every_section() -> None:
    output = CliRunner().invoke(lynq, ["--help"]).output
    assert [section for section in SECTIONS if f"\n{section}:\n" not in output] == []


def test_help_imports_no_subcommand() -> None:
    code = (
        "import sys; from lynq.cli.root import lynq\n"
        "lynq(['--help'], standalone_mode=False)\n"
        "print('|'.join(sorted(sys.modules)), file=sys.stderr)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = set(process.stderr.strip().split("|"))
    slow = {"aiohttp", "asyncio", "cryptography", "msgspec", "rich", "yaml", "lynq.kube"}
    assert slow & modules == set()


def test_unknown_command_is_an_error() -> None:
    result = CliRunner().invoke(lynq, ["frobnicate"])
    assert result.exit_code == ExitCode.ERROR
    assert "No such command 'frobnicate'" in result.output


def test_misspelled_command_gets_a_suggestion() -> None:
    result = CliRunner().invoke(lynq, ["explian"])
    assert result.exit_code == ExitCode.ERROR
    assert result.stderr.endswith("Error: No such command 'explian'. Did you mean explain?\n")


@pytest.mark.parametrize("group", ["source", "cluster"])
def test_help_of_a_group_truncates_no_summary(group: str) -> None:
    assert "..." not in CliRunner().invoke(lynq, [group, "--help"]).stdout.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("plan", "Name the hub, or a file with forms: --hub NAME or -f FILE."),
        ("trace /acme", '"/acme" is not KIND/NAME, for example deployment/acme-web.'),
        ("orphans --adopt --delete", "Use either --adopt or --delete."),
        ("get pods", '"pods" is not one of hub, form and node.'),
    ],
)
def test_wrong_input_is_one_sentence(arguments: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    result = CliRunner().invoke(lynq, [*arguments.split(), "--kubeconfig", str(file)])
    assert (result.exit_code, result.output) == (ExitCode.ERROR, f"Error: {sentence}\n")


def test_help_of_the_plugin_says_kubectl() -> None:
    assert (
        "Usage: kubectl lynq" in CliRunner().invoke(lynq, ["-h"], prog_name="kubectl lynq").output
    )
