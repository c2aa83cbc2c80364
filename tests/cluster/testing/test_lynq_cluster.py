"""The fixture lynq_cluster: a form and rows on a real API server, in a project of its own."""

from pathlib import Path

import pytest

from lynq.cluster.layout import cache_directory

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
CACHE = cache_directory().parent
"""With the control plane. pytester changes the home directory, so it is determined before."""

FORM = """\
apiVersion: operator.lynq.sh/v1
kind: LynqForm
metadata: {name: web}
spec:
  hubId: tenants
  configMaps:
    - id: settings
      nameTemplate: "{{ .uid }}"
      spec: {apiVersion: v1, kind: ConfigMap, data: {plan: "{{ .plan }}"}}
"""
TESTS = """
import re

import pytest

def test_rows_become_objects(lynq_cluster, lynq_form):
    form = lynq_form("web.yaml")
    applied = lynq_cluster.apply(form, rows=[{"uid": "acme", "plan": "pro"}]).wait_ready(30)
    rendered = form.render(uid="acme", plan="pro")["settings"]
    assert applied.get("v1", "ConfigMap", "acme").data == rendered.data
    applied.set_rows([{"uid": "acme", "plan": "pro"}, {"uid": "beta", "plan": "free"}])
    applied.wait_ready(30)
    assert applied.get("v1", "ConfigMap", "beta").data.plan == "free"
    assert set(applied.nodes()) == {"acme", "beta"}

async def test_failure_names_the_resource(lynq_cluster, lynq_form):
    applied = lynq_cluster.apply(lynq_form("web.yaml"), rows=[{"uid": "acme", "size": "1"}])
    for _ in range(20):
        with pytest.raises(AssertionError) as failure:
            applied.wait_ready(1)
        if "settings" in str(failure.value):
            break
    assert re.search('acme-web is not Ready.*settings.*"plan"', str(failure.value), re.DOTALL)
"""


def test_fixture_applies_forms_to_a_cluster(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE))
    pytester.path.joinpath("web.yaml").write_text(FORM)
    pytester.makeini("[pytest]\nasyncio_mode = auto\n")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-pno:lynq", "-plynq.pytest_plugin", timeout=240)
    result.assert_outcomes(passed=2)
