"""`lynq plan`: what it prints for changed rows and forms, and its exit codes."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from cluster.cli.conftest import Lynq
from lynq.cli.exit_codes import ExitCode
from operated.environment import FORMS, HUBS, Environment, Object, config_map
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import eventually

RunPlan: TypeAlias = Callable[..., Awaitable[tuple[int, str]]]
"""Runs `lynq plan` with arguments; returns exit code and output."""

TENANTS = ("acme", "beta", "zeta")


def deployment(**entry: Any) -> Object:
    labels = {"app": "{{ .uid }}"}
    pods = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "app", "image": "app:{{ .plan }}"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pods}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    return {"id": "web", "nameTemplate": "{{ .uid }}", "spec": manifest} | entry


def secret() -> Object:
    manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": {"token": "{{ .plan }}"}}
    return {"id": "token", "nameTemplate": "{{ .uid }}-token", "spec": manifest}


@pytest.fixture
async def tenants(env: Environment) -> Environment:
    """Three tenants that were provisioned by an operator that has stopped."""
    env.set_rows(*((uid, 1, "pro") for uid in TENANTS))
    async with running_operator(env):
        await env.create_hub(sync_interval="1s")
        # The Deployment is applied after the ConfigMap is ready.
        await env.create_form(deployments=[deployment(dependIds=["settings"])], secrets=[secret()])
        for uid in TENANTS:
            await wait_for_node_ready(env, f"{uid}-web")
    return env


@pytest.fixture
def plan(tenants: Environment, run_lynq: Lynq, tmp_path: Path) -> RunPlan:
    """Run `lynq plan`; in the output, the namespace is `NS`."""

    async def run(*arguments: str) -> tuple[int, str]:
        result = await run_lynq("plan", *arguments, "--sqlite-dir", str(tmp_path))
        return result.exit_code, result.stdout.replace(tenants.namespace, "NS")

    return run


async def test_unchanged_table_changes_nothing(plan: RunPlan) -> None:
    assert await plan("--hub", "hub") == (ExitCode.OK, "Nothing changes.\n")


async def test_changed_rows_are_shown_as_changes_of_objects(
    tenants: Environment, plan: RunPlan
) -> None:
    tenants.set_rows(("acme", 1, "free"), ("beta", 1, "free"), ("gamma", 1, "pro"))
    code, output = await plan("--hub", "hub")
    assert code == ExitCode.DIFFERENT
    assert (
        output
        == """\
  + 4 to create: 1 LynqNode, 1 ConfigMap, 1 Deployment, 1 Secret
  ~ 8 to update: 2 LynqNodes, 2 ConfigMaps, 2 Deployments (pods restart), 2 Secrets
  - 4 to delete: 1 LynqNode, 1 ConfigMap, 1 Deployment, 1 Secret

acme-web (1 more like it, --all shows them):
  ~ update LynqNode NS/acme-web
  ~ update ConfigMap NS/acme-settings
      data.plan: <plan> → <plan>
  ~ update Deployment NS/acme (pods restart)
      spec.template.spec.containers[name=app].image: app:<plan> → app:<plan>
  ~ update Secret NS/acme-token
      data.token: (changed) → (changed)

gamma-web:
  + create LynqNode NS/gamma-web
  + create ConfigMap NS/gamma-settings
  + create Deployment NS/gamma
  + create Secret NS/gamma-token

zeta-web:
  - delete LynqNode NS/zeta-web
  - delete ConfigMap NS/zeta-settings
  - delete Deployment NS/zeta
  - delete Secret NS/zeta-token
"""
    )


async def test_plan_changes_nothing(tenants: Environment, plan: RunPlan) -> None:
    before = await tenants.nodes()
    tenants.set_rows(("acme", 1, "free"), ("gamma", 1, "pro"))
    await plan("--hub", "hub")
    assert await tenants.nodes() == before


async def test_changed_form_is_planned_from_the_rows_of_its_nodes(
    tenants: Environment, plan: RunPlan, tmp_path: Path
) -> None:
    # The rows are those of the nodes: the database is not read.
    tenants.set_rows()
    file = write_form(tmp_path, configMaps=[config_map()], deployments=[deployment()])
    code, output = await plan("-f", file)
    assert code == ExitCode.DIFFERENT
    assert (
        output
        == """\
  ~ 3 to update: 3 LynqNodes
  - 3 to delete: 3 Secrets

acme-web (2 more like it, --all shows them):
  ~ update LynqNode NS/acme-web
  - delete Secret NS/acme-token
"""
    )


async def test_rejected_form_is_an_error(plan: RunPlan, tmp_path: Path, run_lynq: Lynq) -> None:
    file = write_form(tmp_path, configMaps=[{"id": "settings", "nope": 1}])
    code, _ = await plan("-f", file)
    assert code == ExitCode.ERROR
    result = await run_lynq("plan", "-f", file)
    assert "422" in result.stderr or "400" in result.stderr
    assert "Traceback" not in result.stderr


async def test_rejected_object_names_node_and_reason(plan: RunPlan, tmp_path: Path) -> None:
    broken = deployment()
    broken["spec"]["spec"]["template"]["spec"]["containers"][0]["image"] = ""
    file = write_form(tmp_path, configMaps=[config_map()], deployments=[broken], secrets=[secret()])
    code, output = await plan("-f", file)
    assert code == ExitCode.DIFFERENT
    assert '! 3 nodes fail: acme-web, beta-web, zeta-web: "web": ' in output
    assert "image" in output


async def test_held_deletions_show_digest_and_exit_code(
    tenants: Environment, plan: RunPlan
) -> None:
    await tenants.patch(HUBS, "hub", {"spec": {"deletionGuard": {"maxCount": 1}}})
    tenants.set_rows(("acme", 1, "pro"))
    code, output = await plan("--hub", "hub", "-o", "json")
    assert code == ExitCode.HELD
    document = json.loads(output)
    assert document["guard"]["verdict"] == "Held"
    assert document["guard"]["count"] == 2
    assert len(document["guard"]["digest"]) == 16
    assert {change["held"] for change in document["changes"]} == {True}
    assert document["totals"]["Delete"] == 8


async def test_statement_is_planned_and_rolled_back(plan: RunPlan) -> None:
    code, output = await plan("--hub", "hub", "--sql", "DELETE FROM tenants WHERE uid = 'zeta'")
    assert code == ExitCode.DIFFERENT
    assert output.splitlines()[0] == (
        "  - 4 to delete: 1 LynqNode, 1 ConfigMap, 1 Deployment, 1 Secret"
    )
    assert await plan("--hub", "hub") == (ExitCode.OK, "Nothing changes.\n")


async def test_statement_that_commits_is_refused(plan: RunPlan) -> None:
    assert await plan("--hub", "hub", "--sql", "DROP TABLE tenants") == (ExitCode.ERROR, "")
    assert await plan("--hub", "hub") == (ExitCode.OK, "Nothing changes.\n")


async def test_rows_of_a_file_replace_the_table(plan: RunPlan, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("uid,active,plan\nacme,1,free\nbeta,1,pro\nzeta,1,pro\n")
    code, output = await plan("--hub", "hub", "--rows", str(file))
    assert code == ExitCode.DIFFERENT
    # A Secret reads the column.
    assert "data.plan: <plan> → <plan>" in output


async def test_object_that_is_no_form_is_an_error(run_lynq: Lynq, tmp_path: Path) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text("kind: ConfigMap\nmetadata: {name: a}\n")
    result = await run_lynq("plan", "-f", str(file))
    assert result.exit_code == ExitCode.ERROR
    assert result.stderr == "Error: There is no LynqForm among the files.\n"


def write_form(folder: Path, **spec: Any) -> str:
    file = folder / "form.yaml"
    form = {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqForm",
        "metadata": {"name": "web"},
        "spec": {"hubId": "hub", **spec},
    }
    file.write_text(yaml.safe_dump(form))
    return str(file)


async def test_sample_plans_some_of_the_changed_nodes(plan: RunPlan, tmp_path: Path) -> None:
    file = write_form(tmp_path, configMaps=[config_map()], deployments=[deployment()])
    _, output = await plan("-f", file, "--sample", "1")
    assert output.startswith("""\
  ~ 1 to update: 1 LynqNode
  - 1 to delete: 1 Secret
  note: 1 of 3 updated nodes are planned (--sample)
""")


async def test_order_of_a_rollout_is_shown_and_followed(
    tenants: Environment, plan: RunPlan, tmp_path: Path
) -> None:
    changed = {
        "configMaps": [config_map(labelsTemplate={"tier": "gold"})],
        "rollout": {"maxSkew": 1},
    }
    # Nothing but the form is applied: the resources that it leaves out stay.
    spec = (await tenants.get(FORMS, "web"))["spec"] | changed
    spec.pop("hubId")
    file = write_form(tmp_path, **spec)
    _, output = await plan("-f", file)
    lines = output.splitlines()
    first = lines.index("  rollout of form web: 3 nodes, at most 1 at a time (maxSkew)")
    planned = [line.removeprefix(f"    wave {n}: ") for n, line in enumerate(lines[first:], 0)][1:4]
    _, markdown = await plan("-f", file, "-o", "markdown")
    assert f"    wave 1: {planned[0]}\n" in markdown
    _, document = await plan("-f", file, "-o", "json")
    assert json.loads(document)["rollouts"] == [
        {
            "form": "web",
            "maxSkew": 1,
            "waves": [[name] for name in planned],
            "waiting": [],
            "holders": [],
        }
    ]
    await tenants.patch(FORMS, "web", {"spec": changed})
    async with running_operator(tenants):
        generation = str((await tenants.get(FORMS, "web"))["metadata"]["generation"])

        async def written() -> list[str]:
            nodes = await tenants.nodes()
            annotations = {name: node["metadata"]["annotations"] for name, node in nodes.items()}
            updated = {
                each["lynq.sh/rollout-update-start"]: name
                for name, each in annotations.items()
                if each["lynq.sh/template-generation"] == generation
            }
            assert len(updated) == len(TENANTS)
            return [name for _, name in sorted(updated.items())]

        assert await eventually(written) == planned
