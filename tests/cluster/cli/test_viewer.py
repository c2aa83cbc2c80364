"""Commands of a viewer who may read only LynqNodes of one namespace."""

import asyncio
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from cluster.cli.conftest import Lynq
from cluster.cli.tenants import normalized, running_tenants
from cluster.controllers.node.test_impersonation import create_account
from cluster.controllers.node.test_missing_rights import rule
from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import lynq as root
from lynq.cluster.local import kubectl
from operated.environment import Environment

ONLY_NODES = {
    "apiGroups": ["operator.lynq.sh"],
    "resources": ["lynqnodes"],
    "verbs": ["get", "list"],
}


def kubeconfig_of(account: str, namespace: str, admin: Path, folder: Path) -> Path:
    """Return a kubeconfig with a token of a service account."""
    answer = kubectl(admin, "create", "token", account, "-n", namespace)
    config = yaml.safe_load(admin.read_text())
    for user in config["users"]:
        user["user"] = {"token": answer.stdout.strip()}
    file = folder / f"{account}.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


@pytest.fixture
async def as_viewer(env: Environment, kubeconfig: Path, tmp_path: Path) -> Lynq:
    """Run `lynq` with the rights of the viewer."""
    await create_account(env, "viewer", ONLY_NODES)
    file = kubeconfig_of("viewer", env.namespace, kubeconfig, tmp_path)

    async def run(*arguments: str) -> Result:
        where = ("--kubeconfig", str(file), "--namespace", env.namespace)
        return await asyncio.to_thread(CliRunner().invoke, root, [*arguments, *where])

    return run


async def test_viewer_of_nodes_sees_nodes_and_the_missing_rights(
    env: Environment, as_viewer: Lynq
) -> None:
    async def shown(*arguments: str) -> tuple[int, list[str], list[str]]:
        result = await as_viewer(*arguments)
        assert isinstance(result.exception, SystemExit | None), result.exception
        return (
            result.exit_code,
            normalized(result.stdout, env).splitlines(),
            normalized(result.stderr, env).splitlines(),
        )

    no_right = "grant the verb get on lynq{}.operator.lynq.sh"
    no_hubs = "LynqHubs are not listed: grant the verb list on lynqhubs.operator.lynq.sh"
    no_forms = "LynqForms are not listed: grant the verb list on lynqforms.operator.lynq.sh"
    async with running_tenants(env):
        assert await shown("get") == (
            ExitCode.OK,
            [
                "NAME   UID   FORM   READY   STATE   CAUSE   AGE",
                "acme-web   acme   web   3/3   Ready   -   AGE",
                "beta-web   beta   web   1/3   Progressing   web: ReplicasNotReady   AGE",
            ],
            [no_hubs, no_forms],
        )
        assert await shown("get", "hubs") == (ExitCode.ERROR, [], [f"Error: {no_hubs}"])
        code, tree, _ = await shown("tree", "beta")
        assert (code, len(tree)) == (ExitCode.OK, 4)
        code, _, errors = await shown("tree", "absent")
        assert (code, errors) == (
            ExitCode.ERROR,
            [
                (
                    'Error: "absent" is not found with your rights: '
                    f"{no_right.format('hubs')}; {no_right.format('forms')}."
                )
            ],
        )
        code, explained, denials = await shown("explain", "beta")
        assert code == ExitCode.NOT_READY
        assert (
            explained[1] == "  cause   Deployment NS/beta-web (web): 0 of 1 replicas ready, for AGE"
        )
        assert [denial.partition(" is not read: ")[2] for denial in denials] == [
            "grant the verb get on lynqforms.operator.lynq.sh",
            "grant the verb get on lynqhubs.operator.lynq.sh",
            "grant the verb get on deployments.apps",
        ]
        code, _, errors = await shown("explain", "absent")
        assert (code, errors) == (
            ExitCode.ERROR,
            [
                no_hubs,
                no_forms,
                (
                    'Error: No LynqNode "absent" in the namespace "NS". Whether its row is '
                    "rejected or waits is known only with these rights."
                ),
            ],
        )
        assert (await shown("wait", "acme-web", "--timeout", "5s"))[0] == ExitCode.OK
        code, _, errors = await shown("wait", "beta-web", "--timeout", "5s")
        assert code == ExitCode.ERROR
        assert errors[-1].endswith("grant the verb watch on lynqnodes.operator.lynq.sh")
        code, _, notes = await shown("top")
        assert (code, notes) == (
            ExitCode.OK,
            [
                no_hubs,
                (
                    "The load of the operator is unknown: Services are not listed: "
                    "grant the verb list on services."
                ),
            ],
        )
        code, _, errors = await shown("logs")
        assert (code, errors) == (
            ExitCode.ERROR,
            ["Error: Pods are not listed: grant the verb list on pods."],
        )
        code, _, notes = await shown("orphans")
        assert code == ExitCode.OK
        assert notes[0].startswith("Not listed, grant the verb list on: configmaps, ")
        assert "Review" not in notes[0]
        code, lines, _ = await shown("doctor")
        assert code == ExitCode.DIFFERENT
        assert "ok   scale: 2 nodes in 1 namespace" in lines


@pytest.mark.parametrize(
    ("command", "right"),
    [
        ("trace deployment/beta-web", "get on deployments.apps"),
        ("events", "list on events"),
        ("rejected hub", "get on lynqhubs.operator.lynq.sh"),
        ("plan --hub hub", "get on lynqhubs.operator.lynq.sh"),
        ("source check hub", "get on lynqhubs.operator.lynq.sh"),
        ("export --hub hub -o out", "get on lynqhubs.operator.lynq.sh"),
        ("import --dry-run", "list on lynqhubs.operator.lynq.sh"),
        ("sync hub --yes", "get on lynqhubs.operator.lynq.sh"),
        ("approve hub", "get on lynqhubs.operator.lynq.sh"),
        ("wait hub/hub --timeout 5s", "list on lynqhubs.operator.lynq.sh"),
    ],
)
async def test_command_without_its_right_names_the_verb(
    as_viewer: Lynq, command: str, right: str
) -> None:
    result = await as_viewer(*command.split())
    assert (result.exit_code, result.stdout) == (ExitCode.ERROR, "")
    assert result.stderr.endswith(f": 403 Forbidden: grant the verb {right}\n")


async def test_plan_is_limited_to_the_rights_of_the_form_account(
    env: Environment, run_lynq: Lynq, kubeconfig: Path, tmp_path: Path
) -> None:
    await create_account(env, "writer", rule("", "configmaps"))
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    token = {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}}
    secret = {"id": "token", "nameTemplate": "{{ .uid }}-token", "spec": token}
    await env.create_form(serviceAccountName="writer", secrets=[secret])
    planning = ("plan", "--hub", "hub", "--sqlite-dir", str(tmp_path))
    planned = await run_lynq(*planning)
    assert planned.exit_code == ExitCode.DIFFERENT, planned.output
    assert normalized(planned.stdout, env).splitlines()[:2] == [
        "  + 2 to create: 1 LynqNode, 1 ConfigMap",
        (
            '  ! 1 node fails: acme-web: "token": apply /api/v1/namespaces/NS/secrets/acme-token: '
            "403 Forbidden: grant the verb patch on secrets"
        ),
    ]

    # A planner who may do everything in the namespace, except act as another account.
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete")
    groups = ("", "operator.lynq.sh")
    await create_account(env, "planner", *(rule(group, "*", verbs=verbs) for group in groups))
    file = kubeconfig_of("planner", env.namespace, kubeconfig, tmp_path)
    where = ("--kubeconfig", str(file), "--namespace", env.namespace)
    denied = await asyncio.to_thread(CliRunner().invoke, root, [*planning, *where])
    assert denied.exit_code == ExitCode.DIFFERENT, denied.output
    lines = normalized(denied.stdout, env).splitlines()
    assert lines[0] == "  + 1 to create: 1 LynqNode"
    problems = [line for line in lines if line.startswith("  ! ")]
    assert problems, denied.stdout
    assert all("grant the verb impersonate on serviceaccounts" in line for line in problems)
    assert '  note: only objects in the namespace "NS" are compared' in lines
