"""tools/mutants.py: mutants are small changes, and a run tells noticed from unnoticed ones."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from mutations import mutants_of, units_of

TOOLS = Path(__file__).parents[3] / "tools"

CODE = """
def is_allowed(count: int, limit: int) -> bool:
    return count <= limit

def unchecked(count: int) -> int:
    return count + 1
"""
TESTS = """
from decider import is_allowed, unchecked

def test_limit():
    assert is_allowed(1, 1)
    assert not is_allowed(2, 1)

def test_unchecked():
    unchecked(1)
"""
RUN = """
import sys, pytest
sys.path[:0] = [{tools!r}, {project!r}]
import mutants
mutants.REQUIRED_PERCENT = {required}
mutants._GRACE_SECONDS = 0.5
explained = {explained!r}
run = mutants.MutationRun(["decider"], [("decider:unchecked", change) for change in explained])
pytest.main(["-q", "-p", "no:cacheprovider", {project!r}], plugins=[run])
print("failed before:", len(run.failed_before))
for mutant in run.results.killed: print("killed", mutant.change)
for mutant in run.results.survived: print("survived", mutant.change)
print("good:", mutants.report(run))
"""


def changes_of(body: str) -> set[str]:
    tree = ast.parse(f"def f(a, b, c):\n    {body}\n")
    return {mutant.change for unit in units_of("m", tree) for mutant in mutants_of(unit)}


@pytest.mark.parametrize(
    ("body", "change"),
    [
        ("return a == b", "a == b -> a != b"),
        ("return a < b", "a < b -> a <= b"),
        ("return a < b < c", "a < b < c -> a < b <= c"),
        ("return a and b", "a and b -> a or b"),
        ("return a and b", "a and b -> b"),
        ("return not a", "not a -> a"),
        ("return a - b", "a - b -> a"),
        ("return a | b", "a | b -> a & b"),
        ("return True", "True -> False"),
        ("return any(a)", "any(a) -> all(a)"),
        ("a.clear()", "a.clear() -> pass"),
        ("if a: return b", "if a -> if not a"),
        ("return [x for x in a if b]", "for x in a if b -> for x in a"),
        ("return a", "return a -> return None"),
    ],
)
def test_operator_makes_the_change(body: str, change: str) -> None:
    assert change in changes_of(body)


def test_equal_changes_of_a_function_are_told_apart() -> None:
    changes = changes_of("return [a == b, a == b]")
    assert {"a == b -> a != b", "a == b -> a != b (2)"} <= changes


@pytest.mark.parametrize(
    "body",
    ["return 'text'", "raise ValueError(f'{a + 1} is wrong')", "_log.info('text', count=a + 1)"],
)
def test_messages_are_not_mutated(body: str) -> None:
    assert changes_of(body) <= {"return 'text' -> return None"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "decider.py").write_text(CODE)
    (tmp_path / "test_decider.py").write_text(TESTS)
    return tmp_path


def run_mutants(project: Path, *, required: int = 0, explained: tuple[str, ...] = ()) -> list[str]:
    script = RUN.format(
        tools=str(TOOLS), project=str(project), required=required, explained=explained
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project, text=True, capture_output=True, check=False
    )
    return done.stdout.splitlines()


def test_run_tells_noticed_from_unnoticed_changes(project: Path) -> None:
    lines = run_mutants(project)
    assert "killed count <= limit -> count < limit" in lines
    assert "survived count + 1 -> count - 1" in lines


SURVIVORS = ("return count + 1 -> return None", "count + 1 -> count - 1", "1 -> 2")


@pytest.mark.parametrize(
    ("explained", "required", "good"),
    [
        pytest.param(SURVIVORS, 40, True, id="all explained"),
        pytest.param(SURVIVORS, 95, False, id="low score"),
        pytest.param(SURVIVORS[1:], 40, False, id="unexplained"),
        pytest.param((*SURVIVORS, "2 -> 3"), 40, False, id="explained, but gone"),
    ],
)
def test_run_is_good_with_its_score_and_every_survivor_explained(
    project: Path, explained: tuple[str, ...], required: int, *, good: bool
) -> None:
    lines = run_mutants(project, required=required, explained=explained)
    assert f"good: {good}" in lines
    assert len([line for line in lines if line.startswith("decider ")]) == 1


def test_loop_without_end_is_killed(project: Path) -> None:
    (project / "decider.py").write_text(
        "def drain(queue):\n    while queue:\n        queue.pop()\n    return queue\n"
    )
    (project / "test_decider.py").write_text(
        "from decider import drain\n\ndef test_queue():\n    assert not drain([1])\n"
    )
    assert "killed queue.pop() -> pass" in run_mutants(project)


def test_run_without_green_tests_makes_no_mutants(project: Path) -> None:
    (project / "test_decider.py").write_text("def test_broken():\n    assert False\n")
    lines = run_mutants(project)
    assert "failed before: 1" in lines
    assert not [line for line in lines if line.startswith(("killed", "survived"))]
