"""scripts/check: every gate runs, its summary names those that failed, and the hooks run them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
CHECK = ROOT / "scripts" / "check"
GATES = re.findall(r'^    "([\w-]+) ', CHECK.read_text(), re.MULTILINE)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository in which every command succeeds."""
    for program in ("ruff", "mypy", "lint-imports", "python", "pytest"):
        replace(tmp_path / ".venv" / "bin" / program, "exit 0")
    replace(tmp_path / "scripts" / "ui", "exit 0")
    for folder in ("tools", "tests"):
        (tmp_path / folder).mkdir()
    shutil.copy(CHECK, tmp_path / "scripts" / "check")
    return tmp_path


def replace(program: Path, script: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def check(project: Path, *names: str) -> "subprocess.CompletedProcess[str]":
    command = [str(project / "scripts" / "check"), *names]
    return subprocess.run(command, text=True, capture_output=True, check=False)


def started(done: "subprocess.CompletedProcess[str]") -> list[str]:
    return [line.split(":")[0] for line in done.stdout.splitlines()]


def test_every_gate_runs(project: Path) -> None:
    done = check(project)
    assert (done.returncode, started(done)) == (0, GATES)


def test_gates_after_a_failed_one_run_and_the_summary_is_last(project: Path) -> None:
    replace(project / ".venv" / "bin" / "mypy", "exit 1")
    (project / "scripts" / "ui").unlink()
    done = check(project)
    assert (done.returncode, started(done)) == (1, GATES)
    assert done.stderr.splitlines()[-1] == "failed: mypy ui; again: scripts/check mypy ui"


def test_named_gates_run_alone(project: Path) -> None:
    done = check(project, "mypy", "ui")
    assert (done.returncode, started(done)) == (0, ["mypy", "ui"])


def test_unknown_gate_is_an_error(project: Path) -> None:
    done = check(project, "mypy", "types")
    assert (done.returncode, done.stderr) == (2, "There is no gate types.\n")


def test_hooks_run_every_gate() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"].split() for hook in local["hooks"] if "stages" not in hook]
    assert {program for program, *_ in entries} == {"scripts/check"}
    assert sorted(gate for _, *gates in entries for gate in gates) == sorted(GATES)


def test_pages_of_the_dashboard_are_not_checked_without_node(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/bash", ROOT / "scripts" / "ui", "--check"],
        env={"PATH": str(tmp_path)},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert "requires Node" in done.stderr
