"""tools/conventions.py: every rule finds its violation, and the tree has none."""

import importlib.util
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[3] / "tools" / "conventions.py"


@pytest.fixture(scope="module")
def conventions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conventions", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Data classes look their module up by its name.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "conventions", module)
        spec.loader.exec_module(module)
    return module


def tree(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in {"lynq/__init__.py": "", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def facade(module: str, name: str) -> str:
    return f"from lynq.kube.{module} import {name}\n__all__ = [{name!r}]"


@pytest.mark.parametrize(
    ("files", "violation"),
    [
        (
            {"lynq/core/keeping.py": ""},
            "lynq.core.keeping: the module name keeping is retired in favor of reconcile",
        ),
        (
            {"lynq/core/a.py": "class World: ..."},
            "lynq.core.a: the class name World is retired in favor of ControllerContext",
        ),
        (
            {"lynq/a.py": "class Plan: ...", "lynq/b.py": "class Plan: ..."},
            "class Plan has 2 homes: lynq.a, lynq.b",
        ),
        (
            {
                "lynq/kube/__init__.py": facade("watch", "watch"),
                "lynq/kube/watch.py": "def watch(): ...",
                "lynq/cli.py": "from lynq.kube import watch",
            },
            "lynq.kube: exports watch, which is also one of its modules",
        ),
        (
            {
                "lynq/kube/__init__.py": facade("client", "Client"),
                "lynq/kube/client.py": "class Client: ...",
            },
            "lynq.kube: exports Client, which no other package imports from it",
        ),
        (
            {
                "lynq/kube/__init__.py": facade("client", "Client"),
                "lynq/kube/client.py": "class Client: ...",
                "lynq/a.py": "from lynq.kube import Client",
                "lynq/b.py": "from lynq.kube.client import Client",
            },
            "lynq.b: imports Client from lynq.kube.client instead of lynq.kube",
        ),
        (
            {"lynq/core/a.py": "now = datetime.now(UTC)"},
            "lynq.core.a: reads a clock (datetime.now(…)",
        ),
    ],
)
def test_violation_is_reported(
    conventions: ModuleType, tmp_path: Path, files: Mapping[str, str], violation: str
) -> None:
    assert conventions.violations(tree(tmp_path, files)) == [violation]


def test_template_classes_may_share_names(conventions: ModuleType, tmp_path: Path) -> None:
    files = {"lynq/template/a.py": "class Time: ...", "lynq/template/b.py": "class Time: ..."}
    assert conventions.violations(tree(tmp_path, files)) == []


def test_names_of_a_facade_are_free_inside_their_package(
    conventions: ModuleType, tmp_path: Path
) -> None:
    files = {
        "lynq/kube/__init__.py": facade("client", "Client"),
        "lynq/kube/client.py": "class Client: ...",
        "lynq/kube/informer.py": "from lynq.kube.client import Client",
        "lynq/cli.py": "from lynq.kube import Client",
    }
    assert conventions.violations(tree(tmp_path, files)) == []


def test_successors_of_retired_names_exist(conventions: ModuleType) -> None:
    modules = conventions.modules_below(TOOL.parents[1] / "src")
    stems = {name.rpartition(".")[2] for name in modules}
    classes = {name for module in modules.values() for name in module.classes}
    retired = tomllib.loads(conventions.RETIRED_NAMES.read_text())
    assert set(retired["modules"].values()) <= stems
    assert set(retired["classes"].values()) <= classes
