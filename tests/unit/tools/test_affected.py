"""tools/affected.py: a change chooses the tests that reach it, and more if that is unknown."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from affected import Selection, Tree
from line_coverage.recorder import OUTPUT
from line_coverage.records import Record, Records

TOOLS = Path(__file__).parents[3] / "tools"
GUARD = "def evaluate(a):\n    if a:\n        return 1\n    return 2\n"
FILES = {
    "src/lynq/guard.py": GUARD,
    "src/lynq/hub.py": "from lynq.guard import evaluate\n\ndef plan():\n    evaluate(1)\n",
    "src/lynq/query.py": "def read():\n    return 1\n",
    "tests/conftest.py": "",
    "tests/waiting.py": "",
    "tests/unit/test_guard.py": "from lynq.guard import evaluate\n",
    "tests/unit/test_hub.py": "from lynq.hub import plan\n",
    "tests/unit/test_query.py": "from lynq.query import read\n",
    "tests/unit/docs/test_names.py": "",
    "tests/cluster/conftest.py": "import waiting\n",
    "tests/cluster/test_hold.py": "",
    "tests/cluster/test_sync.py": "",
    "tests/sources/test_read.py": "from lynq.query import read\n",
    "tests/docs/test_pages.py": "",
}
NAMES = "tests/unit/docs/test_names.py"
SERVERS = ["tests/cluster/test_hold.py", "tests/cluster/test_sync.py", "tests/docs/test_pages.py"]
RECORDS = {
    "tests/unit/test_guard.py": {"src/lynq/guard.py": {2, 3, 4}},
    "tests/unit/test_hub.py": {"src/lynq/guard.py": {2, 3}, "src/lynq/hub.py": {4}},
    "tests/cluster/test_hold.py": {"src/lynq/guard.py": {2, 4}},
    "tests/cluster/test_sync.py": {"src/lynq/guard.py": {2, 3}, "src/lynq/hub.py": {4}},
    "tests/docs/test_pages.py": {"src/lynq/query.py": {2}},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository in which nothing has changed."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def chosen(
    root: Path,
    changed: Mapping[str, str],
    records: Mapping[str, Mapping[str, set[int]]] = {},
    commit: str = "HEAD",
) -> list[str]:
    """Return the files of tests that these changes choose."""
    for name, text in changed.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    def record_of(test: str) -> Record | None:
        lines = {path: frozenset(numbers) for path, numbers in records.get(test, {}).items()}
        return Record(commit, lines) if lines else None

    def source_at(commit: str, path: str) -> str | None:
        return FILES.get(path, "") if commit == "HEAD" else None

    return Selection(Tree(root), record_of, source_at).files(changed)


def test_changed_line_chooses_the_tests_that_execute_it(root: Path) -> None:
    changed = {"src/lynq/guard.py": GUARD.replace("return 2", "return 3")}
    files = chosen(root, changed, RECORDS)
    assert files == [NAMES, "tests/unit/test_guard.py", "tests/cluster/test_hold.py"]


def test_changed_constant_chooses_the_tests_of_the_modules_that_import_it(root: Path) -> None:
    changed = {"src/lynq/guard.py": f"LIMIT = 1\n{GUARD}"}
    records = {**RECORDS, "tests/sources/test_read.py": {"src/lynq/query.py": {2}}}
    files = chosen(root, changed, records)
    assert files == [NAMES, *list(RECORDS)[:4]]


def test_tests_without_a_record_are_chosen_by_imports_or_because_they_start_processes(
    root: Path,
) -> None:
    changed = {"src/lynq/guard.py": GUARD.replace("return 2", "return 3")}
    pure = [NAMES, "tests/unit/test_guard.py", "tests/unit/test_hub.py"]
    assert chosen(root, changed) == [*pure, *SERVERS]
    assert chosen(root, changed, RECORDS, commit="gone") == [*pure, *SERVERS]


def test_changed_fixture_chooses_the_tests_below_it(root: Path) -> None:
    expected = [NAMES, "tests/cluster/test_hold.py", "tests/cluster/test_sync.py"]
    assert chosen(root, {"tests/waiting.py": "x = 1"}, RECORDS) == expected


def test_changed_test_is_chosen(root: Path) -> None:
    assert chosen(root, {"tests/unit/test_hub.py": ""}, RECORDS) == [
        NAMES,
        "tests/unit/test_hub.py",
    ]


def test_changed_page_chooses_the_tests_of_the_documentation(root: Path) -> None:
    assert chosen(root, {"docs/start.md": ""}, RECORDS) == [NAMES, "tests/docs/test_pages.py"]


def test_changed_data_chooses_the_tests_of_the_nearest_folder(root: Path) -> None:
    changed = {"tests/cluster/golden/status.yaml": ""}
    expected = [NAMES, "tests/cluster/test_hold.py", "tests/cluster/test_sync.py"]
    assert chosen(root, changed, RECORDS) == expected


@pytest.mark.parametrize("path", ["pyproject.toml", "tests/conftest.py", "src/lynq/data.bin"])
def test_file_that_any_test_may_need_chooses_all(root: Path, path: str) -> None:
    tests = [name for name in FILES if "/test_" in name]
    assert sorted(chosen(root, {path: ""}, RECORDS)) == sorted(tests)


def test_nothing_changed_chooses_nothing(root: Path) -> None:
    assert chosen(root, {}, RECORDS) == []


def test_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    records = Records(tmp_path / "lines")
    assert records.read("a") is None
    records.write("a", "abc", ["src/lynq/a.py:1", "src/lynq/a.py:3", "src/lynq/b.py:2"])
    lines = {"src/lynq/a.py": frozenset({1, 3}), "src/lynq/b.py": frozenset({2})}
    assert records.read("a") == Record("abc", lines)


def test_lines_of_a_killed_process_are_recorded(tmp_path: Path) -> None:
    script = """
import os, signal
from line_coverage.recorder import record_process
record_process()
from lynq.api.naming import NodePair, node_name
node_name(NodePair("acme", "web"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    output = tmp_path / "lines"
    path = f"{TOOLS}{os.pathsep}{TOOLS.parent / 'src'}"
    subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, OUTPUT: str(output), "PYTHONPATH": path},
        check=False,
    )
    lines = output.read_text().splitlines()
    assert all(line.startswith("src/lynq/") for line in lines)
    assert any(line.startswith("src/lynq/api/naming.py:") for line in lines)
