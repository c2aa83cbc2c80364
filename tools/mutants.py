#!/usr/bin/env python3
"""Runs the unit tests against small wrong changes of the code that decides; `make mutants`.

A change that no test notices is a rule that nothing holds in place. The modules below decide about
deletion, ownership, conflict, approval and rollout. At least 95 % of their mutants must be killed;
each survivor is explained in equivalent_mutants.toml.

The tests are collected once. The first run records which tests call which function. Each mutant
then gets a forked process, one at a time, which replaces the code of one function and runs the
tests that call it until one fails: first those that killed mutants of the same function, then the
quickest. A mutant that loops is killed when a test has used its processor time, so a loaded machine
kills none. Property tests try few examples and shrink none. One unchanged function per module is
the control: a run that kills it measures nothing.

    python tools/mutants.py [MODULE…]      without arguments: all modules
"""

import ast
import functools
import gc
import importlib
import inspect
import os
import signal
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Never

import pytest
from _pytest.runner import runtestprotocol
from mutations import Key, Mutant, Unit, mutants_of, units_of

ROOT = Path(__file__).parents[1]
_UNIT = ROOT / "tests" / "unit"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
MODULES = (
    "lynq.api.activate",
    "lynq.api.digests",
    "lynq.api.initial_inventory",
    "lynq.api.node_metadata",
    "lynq.controllers.node.claims",
    "lynq.controllers.node.finalize",
    "lynq.controllers.node.prune",
    "lynq.controllers.node.release",
    "lynq.core.form.retained",
    "lynq.core.guard.absence",
    "lynq.core.guard.approval",
    "lynq.core.guard.approval_request",
    "lynq.core.guard.deletion",
    "lynq.core.guard.hold",
    "lynq.core.guard.protection",
    "lynq.core.guard.rejections",
    "lynq.core.guard.row_screening",
    "lynq.core.guard.window",
    "lynq.core.hub.confirm",
    "lynq.core.hub.desired_node",
    "lynq.core.hub.diff",
    "lynq.core.hub.initial_inventory",
    "lynq.core.hub.plan",
    "lynq.core.hub.plan_cache",
    "lynq.core.hub.plan_check",
    "lynq.core.hub.prune",
    "lynq.core.hub.rollout",
    "lynq.core.hub.selected_rows",
    "lynq.core.hub.state",
    "lynq.core.hub.status",
    "lynq.core.hub.write_window",
    "lynq.core.node.adoption",
    "lynq.core.node.adoption_policy",
    "lynq.core.node.apply_errors",
    "lynq.core.node.conflict",
    "lynq.core.node.decide",
    "lynq.core.node.desired_object",
    "lynq.core.node.inventory",
    "lynq.core.node.jobs",
    "lynq.core.node.managed_fields",
    "lynq.core.node.merge_patch",
    "lynq.core.node.namespace_use",
    "lynq.core.node.objects",
    "lynq.core.node.origin",
    "lynq.core.node.ownership",
    "lynq.core.node.ownership_patches",
    "lynq.core.node.prune",
    "lynq.core.node.siblings",
    "lynq.core.node.state",
    "lynq.core.node.step",
    "lynq.core.node.successor",
    "lynq.core.node.write_limits",
    "lynq.core.rollout.budget",
    "lynq.core.rollout.facts",
    "lynq.core.rollout.progress",
    "lynq.core.rollout.waves",
)
TESTS = (
    "api/test_activate.py",
    "api/test_digests.py",
    "api/test_node_metadata.py",
    "core/form/test_retained.py",
    "core/guard",
    "core/hub",
    "core/node",
    "core/rollout",
)
SHELL = "lynq.controllers."
SHELL_TESTS = ("controllers/node", "controllers/operator", "controllers/regressions")
"""Tests of whole passes. They call the core, too, and are slow: they count for the shell alone."""
REQUIRED_PERCENT = 95
_SLOWEST = 4
"""A test may take this many times as long as without the mutant, and _GRACE_SECONDS."""
_GRACE_SECONDS = 2


@dataclass
class Results:
    """What became of the mutants."""

    killed: list[Mutant] = field(default_factory=list)
    survived: list[Mutant] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Number of mutants that were run."""
        return len(self.killed) + len(self.survived)

    @property
    def percent(self) -> float:
        """Share of the mutants that a test noticed."""
        return 100 * len(self.killed) / self.total if self.total else 0.0

    def of(self, module: str) -> "Results":
        """Return the results of one module."""
        killed, survived = (
            [mutant for mutant in group if mutant.unit.module == module]
            for group in (self.killed, self.survived)
        )
        return Results(killed, survived)


class MutationRun:
    """A pytest plugin: replaces the loop over the tests by a loop over the mutants."""

    def __init__(self, modules: Sequence[str], explained: Collection[Key] = ()) -> None:
        self.modules = modules
        self.explained = explained
        self.results = Results()
        self.failed_before: list[str] = []
        self._items: Sequence[pytest.Item] = ()
        self._caches: list[Any] = []
        self._callers: dict[str, set[int]] = defaultdict(set)
        self._seconds: list[float] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once, then the mutants."""
        if session.testsfailed:
            raise session.Interrupted("a test cannot be collected")
        loaded = [importlib.import_module(name) for name in self.modules]
        files = {str(module.__file__): module.__name__ for module in loaded}
        self._items = session.items
        self._run_unchanged(files)
        if not self.failed_before:
            self._caches = _caches()
            # The processes share the objects that no garbage collection touches.
            gc.freeze()
            _print(f"{'module':34} mutants  killed  explained  score")
            for module in loaded:
                self._run_module(module)
        return True

    def _run_unchanged(self, files: dict[str, str]) -> None:
        shell = {file: name for file, name in files.items() if name.startswith(SHELL)}
        for index, item in enumerate(self._items):
            called: set[CodeType] = set()
            started = time.process_time()
            with _profile(called, shell if _is_of_shell(item) else files):
                passed = _passes(item)
            self._seconds.append(time.process_time() - started)
            if not passed:
                self.failed_before.append(item.nodeid)
            for code in called:
                unit = f"{files[code.co_filename]}:{code.co_qualname.split('.<locals>')[0]}"
                self._callers[unit].add(index)

    def _run_module(self, module: ModuleType) -> None:
        units = units_of(module.__name__, _tree(module))
        self._run_control(units)
        for unit in units:
            kills: Counter[int] = Counter()
            for mutant in mutants_of(unit):
                if self._kills(mutant, kills):
                    self.results.killed.append(mutant)
                    continue
                self.results.survived.append(mutant)
                if mutant.key not in self.explained:
                    _print(f"survived  {unit}, line {mutant.line}: {mutant.change}")
        _print_row(module.__name__, self.results.of(module.__name__), self.explained)

    def _run_control(self, units: Sequence[Unit]) -> None:
        called = [unit for unit in units if self._callers[str(unit)]]
        unit = min(called, key=lambda unit: len(self._callers[str(unit)]))
        if self._kills(Mutant(unit, unit.function.lineno, "", unit.function), Counter()):
            raise RuntimeError(f"the control {unit} was killed without a change")

    def _kills(self, mutant: Mutant, kills: Counter[int]) -> bool:
        """Return whether a test fails with the mutant, and count the kills of that test."""
        function = _function(mutant.unit)
        code = _compile(mutant, function.__code__)
        callers = self._callers[str(mutant.unit)]
        tests = sorted(callers, key=lambda index: (-kills[index], self._seconds[index]))
        reader, writer = os.pipe()
        process = os.fork()
        if not process:
            # Every import of the function keeps the same object.
            function.__code__ = code
            for cache in self._caches:
                cache.cache_clear()
            self._run_until_failure(tests, writer)
        os.close(writer)
        killer = os.read(reader, 16)
        os.close(reader)
        _, status = os.waitpid(process, 0)
        kills.update([int(killer)] if killer else [])
        return bool(status)

    def _run_until_failure(self, tests: Iterable[int], writer: int) -> Never:
        """Run the tests in this process, tell which one fails, and end the process."""
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        for index in tests:
            _limit_processor_time(self._seconds[index])
            try:
                survives = _passes(self._items[index])
            except BaseException:  # noqa: BLE001 - a mutant may break pytest itself
                survives = False
            if not survives:
                os.write(writer, str(index).encode())
                os._exit(1)
        os._exit(0)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class _profile:  # noqa: N801 - a context manager
    """Collects the code of the target files that is called."""

    def __init__(self, called: set[CodeType], files: dict[str, str]) -> None:
        self._called = called
        self._files = files

    def __enter__(self) -> None:
        called, files = self._called, self._files

        def profile(frame: FrameType, event: str, _argument: object) -> None:
            if event == "call" and frame.f_code.co_filename in files:
                called.add(frame.f_code)

        sys.setprofile(profile)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


def _passes(item: pytest.Item) -> bool:
    # Every fixture is torn down: a mutant must not meet values that were made without it.
    reports = runtestprotocol(item, log=False, nextitem=None)
    return not any(report.failed for report in reports)


def _is_of_shell(item: pytest.Item) -> bool:
    return any(item.path.is_relative_to(_UNIT / folder) for folder in SHELL_TESTS)


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _caches() -> list[Any]:
    """Return the caches with what functions without the mutant have computed."""
    cache_type = functools._lru_cache_wrapper  # noqa: SLF001 - has no public name
    return [found for found in gc.get_objects() if isinstance(found, cache_type)]


def _limit_processor_time(seconds: float) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, _SLOWEST * seconds + _GRACE_SECONDS)


def _function(unit: Unit) -> FunctionType:
    """Return the live function of a unit."""
    found: Any = sys.modules[unit.module]
    for name in unit.qualname.split("."):
        found = inspect.getattr_static(found, name)
    if isinstance(found, property):
        found = found.fget
    found = inspect.unwrap(getattr(found, "__func__", found))
    if not isinstance(found, FunctionType):
        raise TypeError(f"{unit} is not a function")
    return found


def _compile(mutant: Mutant, code: CodeType) -> CodeType:
    """Compile the mutated function where it stands, so that its closure keeps its shape."""
    tree = _tree(sys.modules[mutant.unit.module])
    line = mutant.unit.function.lineno
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    parents: list[ast.Module | ast.ClassDef] = [tree, *classes]
    for parent in parents:
        parent.body = [mutant.function if node.lineno == line else node for node in parent.body]
    compiled = compile(ast.fix_missing_locations(tree), code.co_filename, "exec")
    return next(each for each in _codes(compiled) if each.co_qualname == code.co_qualname)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def explained_survivors() -> dict[Key, str]:
    """Return the reasons of the survivors that change nothing."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(entry["unit"], entry["change"]): entry["reason"] for entry in entries}


def report(run: MutationRun) -> bool:
    """Print the total; return whether the score is good and every survivor is explained."""
    _print_row("total", run.results, run.explained)
    stale = stale_explanations(run)
    for unit, change in stale:
        _print(f"explained, but killed or gone: {unit}: {change}")
    unexplained = [mutant for mutant in run.results.survived if mutant.key not in run.explained]
    return not unexplained and not stale and run.results.percent >= REQUIRED_PERCENT


def stale_explanations(run: MutationRun) -> list[Key]:
    """Return the explanations of mutants that were killed or do not exist."""
    survivors = {mutant.key for mutant in run.results.survived}
    stale = [key for key in run.explained if key not in survivors]
    if run.modules == MODULES:
        return stale
    return [key for key in stale if key[0].split(":")[0] in run.modules]


def _print_row(name: str, results: Results, explained: Container[Key]) -> None:
    equivalent = sum(mutant.key in explained for mutant in results.survived)
    counts = f"{results.total:7} {len(results.killed):7} {equivalent:10}"
    _print(f"{name:34} {counts} {results.percent:5.1f}%")


def main(modules: Sequence[str]) -> int:
    """Run the mutants of these modules; return the exit code."""
    os.chdir(ROOT)
    started = time.monotonic()
    options = ["-qq", "-p", "no:cacheprovider", "--no-header", "--hypothesis-profile=mutants"]
    run = MutationRun(tuple(modules) or MODULES, explained_survivors())
    of_shell = [name.startswith(SHELL) for name in run.modules]
    paths = (*(() if all(of_shell) else TESTS), *(SHELL_TESTS if any(of_shell) else ()))
    pytest.main([*options, *(str(_UNIT / path) for path in paths)], plugins=[run])
    for nodeid in run.failed_before:
        _print(f"fails without a mutant: {nodeid}")
    is_good = report(run)
    _print(f"{time.monotonic() - started:.0f} s")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
