"""A failed test ends with its assertion: long output, such as an operator's log, goes to a file.

The last section of the failure names the file, and the logs of processes in the test's folder.
"""

from collections.abc import Generator
from pathlib import Path

import pytest

_FEW_LINES = 20
"""Output of so many lines is shown below the assertion."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Replace the long sections of a failure by the names of files."""
    report = yield
    if not report.failed:
        return report
    files = _logs(item)
    long = [each for each in report.sections if len(each[1].splitlines()) > _FEW_LINES]
    if long:
        file = item.config._tmp_path_factory.mktemp("output") / "output.log"  # type: ignore[attr-defined]
        file.write_text("".join(f"{title}\n{text}\n" for title, text in long), errors="replace")
        files.append(file)
    if files:
        report.sections = [each for each in report.sections if each not in long]
        report.sections.append(("Logs", "\n".join(map(str, files))))
    return report


def _logs(item: pytest.Item) -> list[Path]:
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if folder is None:
        return []
    paths = sorted(folder.rglob("*log"))
    return [path for path in paths if (path.name == "log" or path.suffix == ".log")]
