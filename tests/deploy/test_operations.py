"""docs/how-to/operations.md documents every flag."""

import click

from deploy.manifests import ROOT
from lynq.cli.run import run

PAGE = (ROOT / "docs" / "how-to" / "operations.md").read_text()


def test_every_flag_is_documented() -> None:
    flags = [option.opts[0] for option in run.params if isinstance(option, click.Option)]
    assert len(flags) > 30
    assert [flag for flag in flags if f"`{flag}`" not in PAGE] == []


def test_every_documented_flag_exists() -> None:
    table = PAGE.partition("## Flags")[2].partition("## Rights")[0]
    flags = {option.opts[0] for option in run.params if isinstance(option, click.Option)}
    documented = {word.strip("`,") for word in table.split() if word.startswith("`--")}
    assert documented - flags - {"--flag", "--flag=value"} == set()
