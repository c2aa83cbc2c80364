"""Completion without a cluster: commands, options, scripts, and silence on errors."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from lynq.cli.completion import cobra_completions
from lynq.cli.root import lynq


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_calls_lynq(shell: str) -> None:
    result = CliRunner().invoke(lynq, ["completion", shell])
    assert result.exit_code == 0, result.output
    assert f"_LYNQ_COMPLETE={shell}_complete" in result.stdout


def test_commands_are_completed_with_their_summaries() -> None:
    assert cobra_completions(["reco"]) == (
        "reconcile\tApply all resources of a node now, changed or not.\n:4\n"
    )


def test_options_and_choices_are_completed() -> None:
    assert "--timeout\t" in cobra_completions(["wait", "--time"])
    assert cobra_completions(["wait", "--for", "se"]) == "settled\n:4\n"
    assert "sql-grants\t" in cobra_completions(["source", "sql-g"])


def test_files_are_left_to_the_shell() -> None:
    assert cobra_completions(["approve", "hub", "--plan", ""]) == ":0\n"


@pytest.mark.parametrize("words", [[], ["frobnicate", ""], ["--", ""], ["sync", "--nonsense", ""]])
def test_wrong_words_are_silent(words: list[str]) -> None:
    assert cobra_completions(words).splitlines()[-1].startswith(":")


def test_missing_cluster_is_silent(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("{}")
    words = ["sync", "--kubeconfig", str(tmp_path / "config"), ""]
    assert cobra_completions(words) == ":4\n"


def test_kubectl_finds_the_completion_of_the_plugin() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    scripts = project["project"]["scripts"]
    assert scripts["kubectl_complete-lynq"] == "lynq.cli.completion:kubectl_complete"


def test_numbers_are_no_names() -> None:
    cobra_completions(["run", "--node-concurrency", ""])
    result = CliRunner().invoke(lynq, ["run", "--node-concurrency=0"])
    assert "not in the range" in result.output
