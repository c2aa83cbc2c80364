"""`lynq validate` and the API server agree about what fits the schema, and what YAML means."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lynq.cli.form_files import load_form_files
from lynq.cli.manifest_files import documents_of
from lynq.cluster.local import kubectl

if TYPE_CHECKING:
    import subprocess

FORM = """\
apiVersion: operator.lynq.sh/v1
kind: LynqForm
metadata:
  name: web
spec:
  hubId: tenants
  manifests:
    - id: a
      nameTemplate: "{{ .uid }}"
      timeoutSeconds: 60
      spec: {apiVersion: v1, kind: ConfigMap}
"""
HUB = """\
apiVersion: operator.lynq.sh/v1
kind: LynqHub
metadata:
  name: tenants
spec:
  source:
    type: sqlite
    syncInterval: 30s
    sqlite: {path: t.db, table: t}
  valueMappings: {uid: id, activate: active}
"""
MANIFESTS = {
    "form": FORM,
    "hub": HUB,
    "unknown field": FORM.replace("hubId", "hubID: x\n  hubId"),
    "unknown nested field": FORM.replace("id: a", "id: a\n      dependsOn: []"),
    "wrong type": FORM.replace("60", '"60"'),
    "null": FORM.replace("60", "null"),
    "fraction": FORM.replace("60", "60.5"),
    "out of range": FORM.replace("60", "3601"),
    "enum": FORM.replace("id: a", "id: a\n      deletionPolicy: Keep"),
    "pattern": HUB.replace("30s", "30"),
    "required": HUB.replace("uid: id, ", ""),
    "name": HUB.replace("name: tenants", "name: Tenants"),
    "scalar for object": HUB.replace("{path: t.db, table: t}", "t.db"),
    "empty text": HUB.replace("path: t.db", 'path: ""'),
}
SCALARS = """\
      date: 2024-01-02
      time: 12:30:45
      exponent: 1e3
      octal: 0777
      yes: on
      no: "on"
      version: 1.10
      digits: 1_000
      1: one
      block: |
        a
        b
"""


def _create(kubeconfig: Path, namespace: str, file: Path) -> "subprocess.CompletedProcess[str]":
    dry_run = ("create", "--dry-run=server", "--validate=strict", "-o", "json")
    return kubectl(kubeconfig, *dry_run, "-n", namespace, "-f", str(file))


@pytest.mark.usefixtures("crds")
async def test_same_manifests_are_accepted(
    kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    accepted, valid = {}, {}
    for name, text in MANIFESTS.items():
        file = tmp_path / f"{name}.yaml"
        file.write_text(text)
        created = await asyncio.to_thread(_create, kubeconfig, namespace, file)
        accepted[name] = created.returncode == 0
        valid[name] = not load_form_files([file]).errors
    assert valid == accepted
    assert sorted(name for name in valid if valid[name]) == ["form", "hub", "null"]


@pytest.mark.usefixtures("crds")
async def test_yaml_has_the_same_values(kubeconfig: Path, namespace: str, tmp_path: Path) -> None:
    file = tmp_path / "form.yaml"
    spec = f"spec:\n        apiVersion: v1\n        kind: A\n        values:\n{_indented(SCALARS)}"
    file.write_text(FORM.replace("spec: {apiVersion: v1, kind: ConfigMap}", spec))
    created = await asyncio.to_thread(_create, kubeconfig, namespace, file)
    assert created.returncode == 0, created.stderr
    (document,) = documents_of(file)
    sent = json.loads(created.stdout)["spec"]["manifests"][0]["spec"]
    assert document.value["spec"]["manifests"][0]["spec"] == sent


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
