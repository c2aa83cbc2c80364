"""The options of `lynq dashboard` that are refused before a cluster is needed."""

import pytest
from click.testing import CliRunner

from lynq.cli.dashboard import dashboard


@pytest.mark.parametrize(
    "url", ["docs.example.com", "javascript:alert(1)", "https://", "https://a b", "https://a?b=c"]
)
def test_address_of_the_documentation_is_an_address_of_the_web(url: str) -> None:
    result = CliRunner().invoke(dashboard, ["--docs-url", url])
    assert result.exit_code == 2
    assert "must begin with https://" in result.output
