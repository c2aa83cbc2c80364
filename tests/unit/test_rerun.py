import subprocess
import sys
from textwrap import dedent

import pytest

from databases import ServerError
from lynq.kube.errors import ConnectionFailed
from rerun import may_pass_again
from waiting import DeadlineError, InvariantError

pytest_plugins = "pytester"

CONFTEST = """
from pathlib import Path
from rerun import Reruns

def pytest_configure(config):
    for marker in ("timing", "history"):
        config.addinivalue_line("markers", marker)
    here = Path(__file__).parent
    config.pluginmanager.register(Reruns(here / "lock", (here / "servers",)))
"""
INI = f"""
[pytest]
pythonpath = {" ".join(sys.path)}
addopts = -p no:lynq
asyncio_default_fixture_loop_scope = session
"""
FAILS_ONCE = """
from pathlib import Path
import pytest
from waiting import DeadlineError, InvariantError

def fail_once(name, error):
    runs = Path(__file__).with_name(name)
    with runs.open("a") as file:
        file.write("run\\n")
    if runs.read_text().count("run") == 1:
        raise error
"""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DeadlineError("slow"), True),
        (TimeoutError(), True),
        (subprocess.TimeoutExpired("lynq", 60), True),
        (ServerError("the server did not start"), True),
        (ConnectionRefusedError(), True),
        (ConnectionFailed("connection lost", sent=True), True),
        (ExceptionGroup("tasks", [DeadlineError("slow")]), True),
        (ExceptionGroup("tasks", [DeadlineError("slow"), AssertionError("wrong")]), False),
        (InvariantError("the node was lost"), False),
        (AssertionError("wrong"), False),
        (RuntimeError("broken"), False),
        (None, False),
    ],
)
def test_a_deadline_or_an_error_of_the_environment_may_pass_again(
    error: BaseException | None, *, expected: bool
) -> None:
    assert may_pass_again(error, depends_on_time=False) is expected


def test_any_failure_but_a_loss_may_pass_again_where_time_decides() -> None:
    assert may_pass_again(AssertionError("0.6 s"), depends_on_time=True)
    assert not may_pass_again(InvariantError("the node was lost"), depends_on_time=True)


def run(
    pytester: pytest.Pytester, tests: str, *options: str, folder: str = "servers"
) -> pytest.RunResult:
    """Run tests of a folder with servers."""
    pytester.makeconftest(CONFTEST)
    pytester.makeini(INI)
    (pytester.mkdir(folder) / "test_it.py").write_text(FAILS_ONCE + dedent(tests))
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)


@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["one process", "two workers"])
def test_a_wait_that_ran_out_runs_once_more_at_the_end(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    result = run(
        pytester,
        """
        def test_slow(): fail_once("slow", DeadlineError("not Ready within 20 s"))
        @pytest.mark.timing
        def test_quick(): fail_once("quick", AssertionError("0.6 s, not 0.5 s"))
        def test_other(): pass
        """,
        *options,
    )
    result.assert_outcomes(passed=3)
    assert result.ret == 0
    result.stdout.fnmatch_lines_random(["*RERUN servers/test_it.py::test_slow*", "*0.6 s, not*"])


def test_a_second_failure_is_red(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_slow(): raise DeadlineError('never')")
    result.assert_outcomes(failed=1)
    assert result.ret == 1


def test_more_than_three_reruns_fail_the_run_without_trying(pytester: pytest.Pytester) -> None:
    tests = "".join(
        f"def test_{name}(): fail_once('{name}', DeadlineError('not Ready'))\n" for name in "abcd"
    )
    result = run(pytester, tests)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*FAILED: 4 tests would have to run once more*"])


@pytest.mark.parametrize(
    "test",
    [
        "def test_lost(): fail_once('it', InvariantError('the node was lost'))",
        "@pytest.mark.history\ndef test_history(): fail_once('it', DeadlineError('not Ready'))",
        "def test_wrong(): fail_once('it', AssertionError('wrong'))",
    ],
    ids=["lost", "history", "assertion"],
)
def test_a_loss_a_history_and_an_assertion_are_red_at_once(
    pytester: pytest.Pytester, test: str
) -> None:
    run(pytester, test).assert_outcomes(failed=1)


def test_a_pure_test_is_red_at_once(pytester: pytest.Pytester) -> None:
    test = "def test_pure(): fail_once('it', DeadlineError('not Ready'))"
    run(pytester, test, folder="unit").assert_outcomes(failed=1)


def test_a_failed_fixture_of_the_environment_is_created_once_more(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
        @pytest.fixture(scope="session")
        def server():
            fail_once("server", ConnectionRefusedError("port taken"))
            return "a server"
        def test_it(server): assert server == "a server"
        """,
    )
    result.assert_outcomes(passed=1)
