"""long_output: a failure shows little output, and names the files that have more."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.fixture
def operator():
    print("\\n".join(f"started {number}" for number in range(30)))

def test_short():
    print("one line")
    assert "short" == ""

def test_long(operator):
    print("\\n".join(f"reconciled {number}" for number in range(30)))
    assert "long" == ""

def test_process(tmp_path):
    tmp_path.joinpath("replica").mkdir()
    tmp_path.joinpath("replica", "log").write_text("ended")
    tmp_path.joinpath("catalog").touch()
    assert "process" == ""

def test_passes(operator):
    pass
"""


def lines_of(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """Return what the failure of a test prints from its assertion on."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makepyfile(test_project=TESTS)
    others = ("lynq", "asyncio", "hypothesispytest", "xdist", "rerunfailures")
    result = pytester.runpytest_subprocess(
        "-plong_output", "-rN", "-k", name, *(f"-pno:{other}" for other in others)
    )
    lines = [line for line in result.outlines if line]
    first = next((i for i, line in enumerate(lines) if line.startswith("E ")), len(lines))
    return lines[first:-1]


def test_short_output_is_shown(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "one line" in lines_of(pytester, monkeypatch, "test_short")


def test_long_output_is_in_a_file_that_is_named_last(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    *before, title, path = lines_of(pytester, monkeypatch, "test_long")
    assert title.strip("- ") == "Logs"
    expected = [f"{word} {number}" for word in ("started", "reconciled") for number in range(30)]
    assert [line for line in Path(path).read_text().splitlines() if line in expected] == expected
    assert not set(before) & set(expected)


def test_logs_of_processes_are_named(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, title, path = lines_of(pytester, monkeypatch, "test_process")
    assert (title.strip("- "), Path(path).read_text()) == ("Logs", "ended")


def test_passed_test_names_no_file(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lines_of(pytester, monkeypatch, "test_passes") == []
