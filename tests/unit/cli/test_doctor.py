"""The options of `lynq doctor`."""

import pytest
from click.testing import CliRunner

from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import lynq


@pytest.mark.parametrize("account", ["lynq", "system:serviceaccount:lynq:operator", "a/b/c", "/b"])
def test_account_of_the_operator_has_a_namespace_and_a_name(account: str) -> None:
    result = CliRunner().invoke(lynq, ["doctor", "--service-account", account])
    assert result.exit_code == ExitCode.ERROR
    assert "is not NAMESPACE/NAME" in result.stderr
