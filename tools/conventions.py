#!/usr/bin/env python3
"""Checks the conventions of the source tree that no linter knows; `make check` runs it.

| rule | reason |
|---|---|
| retired names stay retired | a word that was replaced must not return beside its successor |
| a class name has one home | a reader who greps for a class finds one thing |
| a package facade shadows no module | `lynq.a.b` is either a module or a name |
| a name of a facade has one import path | other packages import it from the facade only |
| the core reads no clock | time is an argument |

`lynq.template` follows Go's packages, whose type names repeat: its class names are not compared.
"""

import ast
import gc
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

RETIRED_NAMES = Path(__file__).with_name("retired_names.toml")
_CLOCK = re.compile(r"\b(datetime\.now|datetime\.utcnow|date\.today|time\.(time|monotonic)\w*)\(")


@dataclass(frozen=True, slots=True)
class Module:
    """One source file."""

    name: str
    path: Path
    text: str
    tree: ast.Module
    is_package: bool
    imports: tuple[tuple[str, str], ...]
    """Module and name of each `from … import …`, wherever it stands."""

    @property
    def classes(self) -> list[str]:
        """The names of its classes at the top level."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]


def modules_below(source: Path) -> dict[str, Module]:
    """Return the modules below a source folder by their dotted name."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        relative = path.relative_to(source)
        is_package = relative.name == "__init__.py"
        parts = relative.parent.parts if is_package else relative.with_suffix("").parts
        text = path.read_text()
        tree = ast.parse(text)
        name = ".".join(parts)
        modules[name] = Module(name, path, text, tree, is_package, tuple(_imports(tree)))
    return modules


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def violations(source: Path, tests: Path | None = None) -> list[str]:
    """Return every violation below a source folder, one sentence each."""
    modules = modules_below(source)
    others = modules_below(tests) if tests else {}
    return [
        *_retired_names(modules),
        *_class_names_with_two_homes(modules),
        *_facades(modules, others),
        *_clocks_in_core(modules),
    ]


def _retired_names(modules: Mapping[str, Module]) -> Iterator[str]:
    retired = tomllib.loads(RETIRED_NAMES.read_text())
    for module in modules.values():
        stem = module.name.rpartition(".")[2]
        if successor := retired["modules"].get(stem):
            yield f"{module.name}: the module name {stem} is retired in favor of {successor}"
        for name in module.classes:
            if successor := retired["classes"].get(name.lstrip("_")):
                yield f"{module.name}: the class name {name} is retired in favor of {successor}"


def _class_names_with_two_homes(modules: Mapping[str, Module]) -> Iterator[str]:
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules.values():
        if not module.name.startswith("lynq.template"):
            for name in module.classes:
                homes[name].append(module.name)
    for name, found in sorted(homes.items()):
        if len(found) > 1:
            yield f"class {name} has {len(found)} homes: {', '.join(found)}"


def _facades(modules: Mapping[str, Module], others: Mapping[str, Module]) -> Iterator[str]:
    users = [*modules.values(), *others.values()]
    for facade in modules.values():
        if not facade.is_package:
            continue
        exported = _exports(facade)
        for name in sorted(exported):
            if f"{facade.name}.{name}" in modules:
                yield f"{facade.name}: exports {name}, which is also one of its modules"
        outside = [user for user in users if not f"{user.name}.".startswith(f"{facade.name}.")]
        imported = {name for user in outside for home, name in user.imports if home == facade.name}
        for name in sorted(exported.keys() - imported):
            yield f"{facade.name}: exports {name}, which no other package imports from it"
        for user in outside:
            for home, name in user.imports:
                if exported.get(name) == home:
                    yield f"{user.name}: imports {name} from {home} instead of {facade.name}"


def _exports(package: Module) -> dict[str, str]:
    """Return the names in `__all__` that the package imports from its modules, with the module."""
    listed = {
        element.value
        for node in package.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for element in ast.walk(node.value)
        if isinstance(element, ast.Constant)
    }
    inside = f"{package.name}."
    return {
        name: home for home, name in package.imports if home.startswith(inside) and name in listed
    }


def _clocks_in_core(modules: Mapping[str, Module]) -> Iterator[str]:
    for module in modules.values():
        if module.name.startswith("lynq.core") and (match := _CLOCK.search(module.text)):
            yield f"{module.name}: reads a clock ({match[0]}…)"


def main() -> int:
    """Print every violation; return the exit code."""
    # All syntax trees are kept: looking for garbage among them takes half of the time.
    gc.disable()
    problems = violations(ROOT / "src", ROOT / "tests")
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
