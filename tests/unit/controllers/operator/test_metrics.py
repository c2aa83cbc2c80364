"""Every metric that alerts use exists once its cause occurred, and is removed with its object."""

import re
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest

from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, HUBS, NODES, Environment, Object, config_map
from operated.manifests import deployment
from operated.running_operator import (
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
)
from waiting import eventually

NODE = ("lynqnode", "namespace")
EXPECTED: dict[str, tuple[str, ...]] = {
    "lynqnode_reconcile_duration_seconds_bucket": ("le", "result"),
    "lynqnode_reconcile_duration_seconds_count": ("result",),
    "lynqnode_reconcile_duration_seconds_sum": ("result",),
    "lynqnode_resources_ready": NODE,
    "lynqnode_resources_desired": NODE,
    "lynqnode_resources_failed": NODE,
    "lynqnode_resources_conflicted": NODE,
    "lynqnode_condition_status": (*NODE, "type"),
    "lynqnode_degraded_status": (*NODE, "reason"),
    "lynqnode_conflicts_total": (*NODE, "resource_kind", "conflict_policy"),
    "apply_attempts_total": ("kind", "result", "conflict_policy"),
    "hub_desired": ("hub", "namespace"),
    "hub_ready": ("hub", "namespace"),
    "hub_failed": ("hub", "namespace"),
    "lynqform_rollout_updating_nodes": ("form", "namespace"),
    "lynqform_rollout_phase": ("form", "namespace"),
    "lynqform_rollout_progress": ("form", "namespace"),
    "lynq_rejected_rows": ("hub", "namespace", "reason"),
    "lynq_deletion_held": ("hub", "namespace"),
    "lynq_source_up": ("hub", "namespace"),
    "lynq_row_to_ready_seconds_count": (),
    "lynq_oldest_unready_row_seconds": ("hub", "namespace"),
    "controller_runtime_reconcile_total": ("controller", "result"),
    "controller_runtime_active_workers": ("controller",),
    "workqueue_depth": ("name",),
}


def samples(registry: CollectorRegistry) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield name, labels and value of each sample of a scrape."""
    for line in generate_latest(registry).decode().splitlines():
        if match := re.match(r"([a-z_]+)(?:\{(.*)\})? (\S+)$", line):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
            yield match[1], labels, float(match[3])


def with_labels(registry: CollectorRegistry, **expected: str) -> dict[str, float]:
    """Return the values of metrics with these labels, by name."""
    return {
        name: value
        for name, labels, value in samples(registry)
        if expected.items() <= labels.items()
    }


async def scenario(env: Environment) -> None:
    """Create a ready node, a conflicted node and a rejected row."""
    foreign: Object = {"metadata": {"name": "beta-settings", "namespace": env.namespace}}
    foreign["data"] = {"plan": "theirs"}
    await env.client.apply(CONFIG_MAPS, foreign, manager="kubectl-edit")
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"), (None, 1, "pro"))
    await env.create_hub()
    await env.create_form(rollout={"maxSkew": 2})
    await wait_for_node_ready(env, "acme-web")
    await wait_for_node_condition(env, "beta-web", "Conflicted", "True")
    await env.wait_for_status(desired=3, ready=1, failed=2)


async def test_all_metrics_exist_with_their_labels(env: Environment) -> None:
    async with running_operator(env) as process:
        await scenario(env)
        registry = process.registry

        def missing() -> dict[str, tuple[str, ...]]:
            existing = {name: tuple(sorted(labels)) for name, labels, _ in samples(registry)}
            return {
                name: labels
                for name, labels in EXPECTED.items()
                if existing.get(name) != tuple(sorted(labels))
            }

        await eventually(lambda: not missing() or (_ for _ in ()).throw(AssertionError(missing())))
        hub = with_labels(registry, hub="hub", namespace=env.namespace)
        assert (hub["hub_desired"], hub["hub_ready"], hub["hub_failed"]) == (3, 1, 2)
        assert hub["lynq_source_up"] == 1
        beta = with_labels(registry, lynqnode="beta-web", namespace=env.namespace)
        assert beta["lynqnode_resources_conflicted"] == 1
        assert beta["lynqnode_conflicts_total"] >= 1
        ready = with_labels(registry, lynqnode="acme-web", type="Ready")
        assert ready == {"lynqnode_condition_status": 1}
        applied = with_labels(registry, kind="ConfigMap", result="error", conflict_policy="Stuck")
        assert applied["apply_attempts_total"] >= 1
        depths = {labels["name"] for name, labels, _ in samples(registry) if "depth" in name}
        assert depths == {"lynqhub", "lynqform", "lynqnode"}


async def test_metrics_of_deleted_objects_are_removed(env: Environment) -> None:
    async with running_operator(env) as process:
        await scenario(env)
        registry = process.registry
        env.set_rows(("acme", 1, "pro"))
        await env.force_sync()
        await env.wait_for_nodes("acme-web")
        await eventually(lambda: not with_labels(registry, lynqnode="beta-web"))
        assert with_labels(registry, lynqnode="acme-web")

        await env.client.delete(FORMS, "web", env.namespace)
        await env.wait_for_nodes()
        await eventually(lambda: not with_labels(registry, form="web"))
        await eventually(lambda: not with_labels(registry, lynqnode="acme-web"))
        await env.client.delete(HUBS, "hub", env.namespace)
        await env.wait_for_deletion(HUBS, "hub")
        await eventually(lambda: not with_labels(registry, namespace=env.namespace))


async def test_row_that_waits_for_a_slot_is_timed_from_its_read(env: Environment) -> None:
    annotations = {"local.lynq.sh/ready-after": "1s"}
    manifest = deployment("app", replicas=1, annotations=annotations)
    entry = {"id": "app", "nameTemplate": "{{ .uid }}-app", "spec": manifest}
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    await env.create_hub()
    await env.create_form(configMaps=[], deployments=[entry], rollout={"maxSkew": 1})
    async with running_operator(env) as process:

        def metric(name: str) -> float:
            return {name: value for name, _, value in samples(process.registry)}.get(name, 0.0)

        await eventually(lambda: metric("lynq_oldest_unready_row_seconds") > 0)
        for name in ("acme-web", "beta-web"):
            await wait_for_node_ready(env, name, within=20)
        await eventually(lambda: metric("lynq_row_to_ready_seconds_count") == 2)
        # The second row waits until the first node is ready, and then for its own.
        assert metric("lynq_row_to_ready_seconds_sum") >= 3
        await eventually(lambda: metric("lynq_oldest_unready_row_seconds") == 0)


async def test_metrics_reset_after_conflict_is_resolved(env: Environment) -> None:
    async with running_operator(env) as process:
        await scenario(env)
        forced = config_map(conflictPolicy="Force")
        await env.patch(FORMS, "web", {"spec": {"configMaps": [forced]}})
        await wait_for_node_ready(env, "beta-web")

        def resolved() -> bool:
            beta = with_labels(process.registry, lynqnode="beta-web")
            return (beta["lynqnode_resources_conflicted"], beta["lynqnode_resources_ready"]) == (
                0,
                1,
            )

        await eventually(resolved)
        reasons = {
            labels["reason"]: value
            for name, labels, value in samples(process.registry)
            if name == "lynqnode_degraded_status" and labels["lynqnode"] == "beta-web"
        }
        assert set(reasons.values()) <= {0}


async def test_metrics_exist_for_nodes_of_an_earlier_process(
    env: Environment,
) -> None:
    async with running_operator(env):
        await scenario(env)
        paused = {"metadata": {"annotations": {"lynq.sh/paused": "true"}}}
        await env.patch(NODES, "acme-web", paused)
        await wait_for_node_condition(env, "acme-web", "Paused", "True")
    async with running_operator(env) as process:
        await eventually(lambda: with_labels(process.registry, lynqnode="acme-web", type="Ready"))
        resumed = {"metadata": {"annotations": {"lynq.sh/paused": None}}}
        await env.patch(NODES, "acme-web", resumed)
        # A resource that needs no write counts as success.
        success = {"kind": "ConfigMap", "result": "success"}
        await eventually(
            lambda: with_labels(process.registry, **success).get("apply_attempts_total")
        )


async def test_unappliable_resource_is_counted_as_error(env: Environment) -> None:
    nowhere = {"apiVersion": "example.com/v1", "kind": "Nothing"}
    entry = {"id": "nothing", "nameTemplate": "nothing", "spec": nowhere}
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env) as process:
        await env.create_hub()
        await env.create_form(manifests=[entry])
        await wait_for_node_condition(env, "acme-web", "Degraded", "True", "ResourceFailures")
        error = {"kind": "Nothing", "result": "error"}
        await eventually(lambda: with_labels(process.registry, **error).get("apply_attempts_total"))
