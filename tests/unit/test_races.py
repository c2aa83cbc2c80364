"""The table of `make races`."""

from collections import Counter, defaultdict
from pathlib import Path

from races import count, table

REPORT = """
<testsuites><testsuite>
<testcase classname="tests.faults.test_a" name="test_one"/>
<testcase classname="tests.faults.test_a" name="test_two"><failure message="{message}"/></testcase>
<testcase classname="tests.faults.test_a" name="test_three"><skipped/></testcase>
</testsuite></testsuites>
"""


def test_table_counts_each_kind_of_failure(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    runs, failures = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for message in ("took 3.1 s", "took 4.0 s", "uid 1a2b3c4d&#10;more", "uid deadbeef"):
        report.write_text(REPORT.format(message=message))
        count(report, runs, failures)
    assert table(runs, failures).splitlines()[1:] == [
        "   4      4  faults.test_a::test_two",
        "          2  took N.N s",
        "          2  uid N",
        "8 runs of 2 tests, 1 tests failed",
    ]
