"""The root command: its help, the imports behind it and the exit codes."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import SECTIONS, SUBCOMMANDS, lynq


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


def test_help_of_the_plugin_says_kubectl() -> None:
    assert (
        "Usage: kubectl lynq" in CliRunner().invoke(lynq, ["-h"], prog_name="kubectl lynq").output
    )
