"""Runs tests repeatedly on a slow machine and counts what fails: `make races`.

    python tests/races.py [--rounds N] [--minutes N] [--busy N] [--seed N] [ARGUMENT OF PYTEST…]

Without arguments of pytest, the tests marked `timing` and the families that were flaky are run.
Busy processes take the CPU, `delays` holds back what clients and servers send, and no test is run
again after a failure. The table has the tests that failed, with the first line of each kind of
failure; the reports of pytest have the rest.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

from delays import SEED

TESTS = Path(__file__).parent
SERVER_FOLDERS = [
    str(TESTS / name) for name in ("browser", "cluster", "dashboard", "docs", "faults", "sources")
]
FAMILIES = [
    str(TESTS / path)
    for path in (
        "cluster/controllers/node/test_missing_rights.py",
        "cluster/controllers/operator/test_push.py",
        "cluster/deploy/test_missing_rights.py",
        "cluster/kube/test_discovery.py",
        "dashboard/test_rights.py",
        "sources/push",
    )
]
"""Tests of rights that are granted, schemas that are served, and notifications."""
SELECTIONS = [["-m", "timing", *SERVER_FOLDERS], FAMILIES]
_BUSY = "while True: pass"
_HAS_RUN = (0, 1, 2)
"""Exit codes of pytest after tests: passed, failed, interrupted."""
_NUMBERS = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+")

Failures = dict[str, Counter[str]]
"""The kinds of failures of each test."""


@contextmanager
def busy_processes(number: int, seconds: float) -> Iterator[None]:
    """Run processes that never wait, for `seconds` at most."""
    command = ["timeout", str(seconds), sys.executable, "-c", _BUSY]
    processes = [subprocess.Popen(command) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def run(selection: list[str], seed: int, report: Path, seconds: float) -> None:
    """Run tests with delays; at the end of `seconds`, stop before the next test."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short"]
    # The first failure counts: no rerun.
    command += ["-p", "no:reruns", f"--junitxml={report}", *selection]
    with report.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, env=os.environ | {SEED: str(seed)})
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
    if process.returncode not in _HAS_RUN:
        sys.exit(f"pytest did not run the tests, see {log.name}")


def count(report: Path, runs: Counter[str], failures: Failures) -> None:
    """Add the results of one run."""
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}".removeprefix("tests.")
        if case.find("skipped") is None:
            runs[name] += 1
        for problem in (*case.findall("failure"), *case.findall("error")):
            lines = (problem.get("message") or "no message").splitlines()
            failures[name][_NUMBERS.sub("N", lines[0])[:160]] += 1


def table(runs: Counter[str], failures: Failures) -> str:
    """Return the tests that failed, most often first."""
    lines = [f"{'runs':>4} {'failed':>6}  test, and the first line of each kind of failure"]
    for name, kinds in sorted(failures.items(), key=lambda item: (-item[1].total(), item[0])):
        lines.append(f"{runs[name]:4} {kinds.total():6}  {name}")
        lines += [f"{number:11}  {kind}" for kind, number in kinds.most_common()]
    lines.append(f"{runs.total()} runs of {len(runs)} tests, {len(failures)} tests failed")
    return "\n".join(lines)


def main() -> int:
    """Run the rounds; return 1 if a test failed."""
    parser = argparse.ArgumentParser(description="Find racing tests.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=30, help="no test starts later")
    parser.add_argument("--busy", type=int, default=2, help="number of busy processes")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; 0: no delays")
    options, selected = parser.parse_known_args()
    folder = Path(tempfile.mkdtemp(prefix="lynq-races-"))
    print(f"reports of pytest: {folder}", flush=True)  # noqa: T201
    end = time.monotonic() + options.minutes * 60
    runs, failures = Counter[str](), defaultdict[str, Counter[str]](Counter)
    with busy_processes(options.busy, options.minutes * 60 + 600):
        for number in range(options.rounds):
            seed = options.seed and options.seed + number
            for part, selection in enumerate([selected] if selected else SELECTIONS):
                if (seconds := end - time.monotonic()) <= 0:
                    break
                report = folder / f"round-{number + 1}-{part + 1}.xml"
                run(selection, seed, report, seconds)
                count(report, runs, failures)
                print(  # noqa: T201
                    f"round {number + 1} of {options.rounds}, part {part + 1}, seed {seed}: "
                    f"{runs.total()} runs, {sum(kinds.total() for kinds in failures.values())}"
                    f" failures so far",
                    flush=True,
                )
    print(table(runs, failures))  # noqa: T201
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
