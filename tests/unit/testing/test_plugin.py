"""The plugin for pytest: registered, quick to import, and usable in a project of its own."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]

FORM = """\
apiVersion: operator.lynq.sh/v1
kind: LynqForm
metadata: {name: web}
spec:
  hubId: tenants
  services:
    - id: svc
      nameTemplate: "{{ .uid }}-{{ .plan }}"
      spec: {apiVersion: v1, kind: Service}
"""
TESTS = """
import sys

import pytest

def test_nothing_is_imported_before_it_is_used():
    assert "lynq.testing.form" not in sys.modules
    assert "msgspec" not in sys.modules

def test_form_is_rendered(lynq_form):
    node = lynq_form("forms/web.yaml").render(uid="acme", plan="pro")
    assert node["svc"].metadata.name == "acme-pro"

def test_form_is_broken(lynq_form):
    lynq_form("forms/web.yaml").render(uid="acme")
"""


def test_plugin_is_registered_in_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plugin = import_module(project["entry-points"]["pytest11"]["lynq"])
    assert {"lynq_form", "lynq_cluster"} <= set(dir(plugin))


def test_import_of_the_plugin_is_quick() -> None:
    code = "import pytest, sys; before = set(sys.modules); import lynq.pytest_plugin; "
    code += "print(sorted(set(sys.modules) - before))"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "['lynq', 'lynq.pytest_plugin']"


def test_fixture_works_in_a_project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    pytester.mkdir("forms").joinpath("web.yaml").write_text(FORM)
    pytester.makepyfile(TESTS)
    # By module, because the environment may be older than the entry point.
    result = pytester.runpytest_subprocess(
        "-pno:lynq", "-plynq.pytest_plugin", "-pno:asyncio", "-pno:hypothesispytest"
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*web.yaml:8: LynqForm/web: spec.services[[]0[]].nameTemplate: *map has no entry*",
            "*{{ .uid }}-{{ .plan }}",
            "*              ^^^^^",
        ]
    )
