#!/usr/bin/env python3
"""Runs the unit tests against small wrong changes of the code that decides; `make mutants`.

A change that no test notices is a rule that nothing holds in place. The modules below decide about
deletion, ownership, conflict, approval and rollout. At least 95 % of their mutants must be killed;
each survivor is explained in equivalent_mutants.toml.

The tests are collected once. The first run records which tests call which function. Each mutant
then gets a forked process, which replaces the code of one function and runs the tests that call it,
the quickest first, until one fails. A mutant that loops is killed by an alarm. One unchanged
function per module is the control: a run that kills it measures nothing.

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
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from mutations import Mutant, Unit, mutants_of, units_of

ROOT = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
MODULES = (
    "lynq.api.digests",
    "lynq.api.node_metadata",
    "lynq.core.guard.absence",
    "lynq.core.guard.approval",
    "lynq.core.guard.deletion",
    "lynq.core.guard.protection",
    "lynq.core.guard.rejections",
    "lynq.core.guard.row_screening",
    "lynq.core.guard.window",
    "lynq.core.hub.diff",
    "lynq.core.hub.prune",
    "lynq.core.hub.rollout",
    "lynq.core.node.adoption",
    "lynq.core.node.adoption_policy",
    "lynq.core.node.conflict",
    "lynq.core.node.decide",
    "lynq.core.node.inventory",
    "lynq.core.node.managed_fields",
    "lynq.core.node.origin",
    "lynq.core.node.ownership",
    "lynq.core.node.ownership_patches",
    "lynq.core.node.prune",
    "lynq.core.node.successor",
    "lynq.core.rollout.budget",
    "lynq.core.rollout.facts",
    "lynq.core.rollout.progress",
)
TESTS = ("api", "core/guard", "core/hub", "core/node", "core/rollout")
REQUIRED_PERCENT = 95
PROCESSES = os.cpu_count() or 1
_SLOWEST = 10
"""A mutant may take this many times as long as the tests without it."""


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


class MutationRun:
    """A pytest plugin: replaces the loop over the tests by a loop over the mutants."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.modules = modules
        self.results = Results()
        self.failed_before: list[str] = []
        self._callers: dict[str, set[int]] = defaultdict(set)
        self._seconds: list[float] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once, then the mutants."""
        loaded = [importlib.import_module(name) for name in self.modules]
        files = {str(module.__file__): module.__name__ for module in loaded}
        self._run_unchanged(session.items, files)
        if not self.failed_before:
            mutants = []
            for module in loaded:
                units = units_of(module.__name__, _tree(module))
                self._run_control(units, session.items)
                mutants += [mutant for unit in units for mutant in mutants_of(unit)]
            self._run_mutants(mutants, session.items)
        return True

    def _run_control(self, units: Sequence[Unit], items: Sequence[pytest.Item]) -> None:
        called = [unit for unit in units if self._callers[str(unit)]]
        unit = min(called, key=lambda unit: len(self._callers[str(unit)]))
        process = self._fork(Mutant(unit, unit.function.lineno, "", unit.function), items)
        if os.waitpid(process, 0)[1]:
            raise RuntimeError(f"the control {unit} was killed without a change")

    def _run_unchanged(self, items: Sequence[pytest.Item], files: dict[str, str]) -> None:
        for index, item in enumerate(items):
            called: set[CodeType] = set()
            started = time.monotonic()
            with _profile(called, files):
                passed = _passes(item)
            self._seconds.append(time.monotonic() - started)
            if not passed:
                self.failed_before.append(item.nodeid)
            for code in called:
                unit = f"{files[code.co_filename]}:{code.co_qualname.split('.<locals>')[0]}"
                self._callers[unit].add(index)

    def _run_mutants(self, mutants: Sequence[Mutant], items: Sequence[pytest.Item]) -> None:
        running: dict[int, Mutant] = {}
        for number, mutant in enumerate(mutants, 1):
            if len(running) == PROCESSES:
                self._wait(running)
            running[self._fork(mutant, items)] = mutant
            if number % 50 == 0:
                done = self.results
                _print(f"{number}/{len(mutants)} mutants, {len(done.survived)} survived")
        while running:
            self._wait(running)

    def _fork(self, mutant: Mutant, items: Sequence[pytest.Item]) -> int:
        """Run the tests that call the unit against the mutant; return the process."""
        function = _function(mutant.unit)
        code = _compile(mutant, function.__code__)
        callers = sorted(self._callers[str(mutant.unit)], key=self._seconds.__getitem__)
        seconds = sum(self._seconds[index] for index in callers)
        process = os.fork()
        if process:
            return process
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(_SLOWEST * seconds) + 5)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        try:
            # Every import of the function keeps the same object.
            function.__code__ = code
            _clear_caches()
            survives = all(_passes(items[index]) for index in callers)
        except BaseException:  # noqa: BLE001 - a mutant may break pytest itself
            survives = False
        os._exit(0 if survives else 1)

    def _wait(self, running: dict[int, Mutant]) -> None:
        process, status = os.wait()
        mutant = running.pop(process)
        (self.results.killed if status else self.results.survived).append(mutant)


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


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _clear_caches() -> None:
    """Drop what functions without the mutant have computed."""
    for cached in gc.get_objects():
        if isinstance(cached, functools._lru_cache_wrapper):  # noqa: SLF001 - has no public name
            cached.cache_clear()


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


def explained_survivors() -> dict[tuple[str, str], str]:
    """Return the reasons of the survivors that change nothing."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(entry["unit"], entry["change"]): entry["reason"] for entry in entries}


def report(run: MutationRun, explained: dict[tuple[str, str], str]) -> bool:
    """Print the result; return whether it is good enough."""
    results = run.results
    unexplained = [mutant for mutant in results.survived if mutant.key not in explained]
    for mutant in sorted(unexplained, key=lambda mutant: (mutant.unit.module, mutant.line)):
        path = mutant.unit.module.replace(".", "/")
        _print(f"survived  src/{path}.py:{mutant.line} {mutant.unit.qualname}: {mutant.change}")
    survivors = {mutant.key for mutant in results.survived}
    run_units = {str(mutant.unit) for mutant in (*results.killed, *results.survived)}
    stale = [key for key in explained if key not in survivors and key[0] in run_units]
    if run.modules == MODULES:
        stale = [key for key in explained if key not in survivors]
    for unit, change in stale:
        _print(f"explained, and killed or gone: {unit}: {change}")
    for name in run.modules:
        counts = [
            sum(mutant.unit.module == name for mutant in group)
            for group in (results.killed, results.survived)
        ]
        _print(f"{name:40} {counts[0]:5} killed {counts[1]:4} survived")
    _print(
        f"{results.total} mutants, {results.percent:.1f} % killed, "
        f"{len(results.survived) - len(unexplained)} survivors explained as equivalent"
    )
    return not unexplained and not stale and results.percent >= REQUIRED_PERCENT


def main(modules: Sequence[str]) -> int:
    """Run the mutants of these modules; return the exit code."""
    os.chdir(ROOT)
    run = MutationRun(tuple(modules) or MODULES)
    tests = [f"tests/unit/{folder}" for folder in TESTS]
    pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", *tests], plugins=[run])
    for nodeid in run.failed_before:
        _print(f"fails without a mutant: {nodeid}")
    return 0 if report(run, explained_survivors()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
