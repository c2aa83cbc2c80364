"""`lynq export`: clean YAML that can be applied again."""

from pathlib import Path

import yaml

from cluster.cli.conftest import Lynq
from lynq.cli.exit_codes import ExitCode
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.environment import FORMS, HUBS, Environment


async def test_exported_objects_change_nothing_when_applied(
    env: Environment, run_lynq: Lynq, tmp_path: Path
) -> None:
    metadata = {"name": "database", "namespace": env.namespace}
    await env.client.create(CONFIG_MAPS, {"metadata": metadata, "data": {"ca.crt": "PEM"}})
    await env.client.create(SECRETS, {"metadata": metadata, "stringData": {"password": "hunter2"}})
    server = {
        "host": "db",
        "username": "lynq",
        "database": "shop",
        "table": "tenants",
        "passwordRef": {"name": "database", "key": "password"},
        "tls": {
            "mode": "verify-full",
            "caRef": {"kind": "ConfigMap", "name": "database", "key": "ca.crt"},
        },
    }
    await env.create_hub(source={"type": "mysql", "mysql": server, "sqlite": None}, paused=True)
    await env.annotate("hub", force_sync="1", protect="true")
    await env.create_form()
    await env.create_form("other", hub="another")
    folder = tmp_path / "out"
    result = await run_lynq("export", "--hub", "hub", "-o", str(folder))
    assert result.exit_code == ExitCode.OK, result.output
    names = ["lynqhub-hub.yaml", "lynqform-web.yaml", "configmap-database.yaml"]
    assert result.stdout.splitlines() == [str(folder / name) for name in names]
    assert result.stderr == (
        f"Secret database is not exported; the hub needs it in the namespace {env.namespace}.\n"
    )
    texts = [(folder / name).read_text() for name in names]
    assert "hunter2" not in "".join(texts)
    hub, form, _ = map(yaml.safe_load, texts)
    assert list(hub) == ["apiVersion", "kind", "metadata", "spec"]
    assert hub["metadata"] == {
        "name": "hub",
        "namespace": env.namespace,
        "annotations": {"lynq.sh/protect": "true"},
    }
    for resource, exported in ((HUBS, hub), (FORMS, form)):
        live = await env.get(resource, exported["metadata"]["name"])
        assert exported["spec"] == live["spec"]
        await env.client.apply(resource, exported, manager="kubectl", force=True)
        applied = await env.get(resource, exported["metadata"]["name"])
        assert applied["metadata"]["generation"] == live["metadata"]["generation"]


async def test_export_explains_a_directory_that_is_a_file(
    env: Environment, run_lynq: Lynq, tmp_path: Path
) -> None:
    await env.create_hub()
    (tmp_path / "file").touch()
    result = await run_lynq("export", "--hub", "hub", "-o", str(tmp_path / "file"))
    assert result.exit_code == ExitCode.ERROR
    assert "is a file" in result.stderr
