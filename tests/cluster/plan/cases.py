"""Kinds of changes: each has a plan before, and what the operator does after.

A tenant has a hub, a form and rows of its own. Its change is made while no operator runs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.environment import FORMS, HUBS, NODES, Environment, Object, config_map

Row = tuple[str | None, int, str]
ROWS: tuple[Row, ...] = (("acme", 1, "pro"), ("beta", 1, "pro"))
HAND = "kubectl-edit"


def entry(entry_id: str = "settings", **fields: Any) -> Object:
    return config_map(id=entry_id, **fields)


def manifest(value: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": value}}


def secret(**fields: Any) -> Object:
    spec = {"apiVersion": "v1", "kind": "Secret", "stringData": {"plan": "{{ .plan }}"}}
    return {"id": "token", "nameTemplate": "{{ .uid }}-token", "spec": spec} | fields


def deployment(image: str = "app:1", replicas: int = 0, **fields: Any) -> Object:
    labels = {"app": "{{ .uid }}"}
    pods = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "app", "image": image}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pods}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    return {"id": "app", "nameTemplate": "{{ .uid }}", "spec": body} | fields


def namespace(case: str) -> Object:
    """Return the entry of a Namespace per tenant of a case."""
    spec = {"apiVersion": "v1", "kind": "Namespace"}
    return {"id": "room", "nameTemplate": f"{case}-{{{{ .uid }}}}", "spec": spec}


Change = Callable[[Environment], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A provisioned tenant and its change."""

    name: str
    change: Change
    form: dict[str, Any] = field(default_factory=dict)
    rows: tuple[Row, ...] = ROWS
    hub: dict[str, Any] = field(default_factory=dict)
    arrange: Change | None = None
    """Runs before the tenant is provisioned."""


def rows(*new: Row) -> Change:
    async def change(env: Environment) -> None:
        env.set_rows(*new)

    return change


def form(name: str = "web", **spec: Any) -> Change:
    """Replace fields of a form."""
    return lambda env: env.patch(FORMS, name, {"spec": spec})


def second_form(*config_maps: Object) -> Change:
    return lambda env: env.create_form("extra", configMaps=list(config_maps))


def hub(**spec: Any) -> Change:
    return lambda env: env.patch(HUBS, "hub", {"spec": spec})


def edit(patch: Object, resource: Any = CONFIG_MAPS, name: str = "acme-settings") -> Change:
    return lambda env: env.client.patch(resource, name, patch, env.namespace, manager=HAND)


def delete(resource: Any, name: str) -> Change:
    return lambda env: env.client.delete(resource, name, env.namespace)


def foreign(name: str = "acme-settings", **obj: Any) -> Change:
    """Create an object that the operator did not."""

    def create(env: Environment) -> Awaitable[Any]:
        metadata = {"name": name, "namespace": env.namespace}
        return env.client.create(CONFIG_MAPS, {"metadata": metadata, **obj}, manager=HAND)

    return create


def steps(*changes: Change) -> Change:
    async def change(env: Environment) -> None:
        for step in changes:
            await step(env)

    return change


async def approve(env: Environment) -> None:
    """Approve the deletions that the operator holds."""
    condition = await env.condition("DeletionHeld")
    await env.annotate("hub", approve_deletion=condition["message"].rsplit(" ", 1)[1])


MANY: tuple[Row, ...] = tuple((f"t{number:02}", 1, "pro") for number in range(12))
RETAIN = {"deletionPolicy": "Retain"}
BOTH = {"configMaps": [entry()], "secrets": [secret()]}
KEPT = (("beta", 1, "pro"),)
EXTRA = entry("extra", nameTemplate="{{ .uid }}-extra")
MOVED = entry("moved", nameTemplate="{{ .uid }}-moved")
FREE: tuple[Row, ...] = (("acme", 1, "free"), ("beta", 1, "pro"))

CASES = (
    # Rows
    Case("nothing", rows(*ROWS)),
    Case("row-inserted", rows(*ROWS, ("gamma", 1, "pro"))),
    Case("row-updated", rows(*FREE), form=BOTH),
    Case("row-deleted", rows(*KEPT), form=BOTH),
    Case("row-deactivated", rows(("acme", 0, "pro"), *KEPT)),
    Case(
        "protected-row-deactivated",
        steps(
            edit({"metadata": {"annotations": {"lynq.sh/protect": "true"}}}, NODES, "acme-web"),
            rows(("acme", 0, "pro"), *KEPT),
        ),
    ),
    Case("row-renamed", rows(("acme2", 1, "pro"), *KEPT), hub={"deletionGuard": {"maxCount": 50}}),
    Case("row-with-invalid-uid", rows(*ROWS, ("No_Name", 1, "pro"))),
    Case("row-twice", rows(*ROWS, ("gamma", 1, "a"), ("gamma", 1, "b"))),
    Case(
        "row-renames-object",
        rows(*FREE),
        form={"configMaps": [entry(nameTemplate="{{ .uid }}-{{ .plan }}")]},
    ),
    Case(
        "row-with-invalid-name",
        rows(("acme", 1, "NOT VALID"), *KEPT),
        form={"configMaps": [entry(nameTemplate="{{ .uid }}-{{ .plan }}")]},
    ),
    Case(
        "row-that-cannot-be-rendered",
        rows(*ROWS, ("gamma", 1, "")),
        form={"configMaps": [entry(spec=manifest('{{ required "plan" .plan }}'))]},
    ),
    Case("many-rows-inserted", rows(*ROWS, *MANY)),
    # Forms
    Case("entry-added", form(secrets=[secret()])),
    Case("entry-removed", form(secrets=[]), form=BOTH),
    Case("entry-renamed", form(configMaps=[entry(nameTemplate="{{ .uid }}-conf")])),
    Case("id-renamed", form(configMaps=[entry("conf")])),
    Case("kind-changed", form(configMaps=[], secrets=[secret(id="settings")])),
    Case("content-changed", form(configMaps=[entry(spec=manifest("new {{ .plan }}"))])),
    Case("labels-changed", form(configMaps=[entry(labelsTemplate={"team": "{{ .plan }}"})])),
    Case("annotations-changed", form(configMaps=[entry(annotationsTemplate={"a": "{{ .uid }}"})])),
    Case("image-changed", form(deployments=[deployment("app:2")]), {"deployments": [deployment()]}),
    Case(
        "dependency-added",
        form(configMaps=[entry(dependIds=["token"])], secrets=[secret()]),
    ),
    Case(
        "dependent-waits-for-deployment",
        form(configMaps=[entry(dependIds=["app"])], deployments=[deployment(replicas=1)]),
        {"configMaps": []},
    ),
    Case("object-rejected", form(deployments=[deployment(image="")])),
    Case("template-error", form(configMaps=[entry(spec=manifest("{{ .plan | fail }}"))])),
    Case("form-deleted", delete(FORMS, "web")),
    Case("form-paused", steps(form(paused=True), rows(*FREE))),
    Case(
        "second-form-added",
        second_form(EXTRA),
    ),
    Case(
        "entry-moved-to-another-form",
        steps(form(configMaps=[]), form("extra", configMaps=[EXTRA, entry("moved")])),
        BOTH,
        arrange=second_form(EXTRA),
    ),
    Case(
        "entry-moved-from-another-form",
        steps(form("extra", configMaps=[EXTRA]), form(configMaps=[entry(), MOVED])),
        arrange=second_form(EXTRA, MOVED),
    ),
    Case(
        "retained-entry-moved-to-another-form",
        steps(form(configMaps=[]), form("extra", configMaps=[EXTRA, entry(**RETAIN)])),
        BOTH | {"configMaps": [entry(**RETAIN)]},
        arrange=second_form(EXTRA),
    ),
    Case(
        "forced-entry-moved-to-another-form",
        steps(
            form(configMaps=[]),
            form("extra", configMaps=[EXTRA, entry(conflictPolicy="Force")]),
        ),
        BOTH | {"configMaps": [entry(conflictPolicy="Force")]},
        arrange=second_form(EXTRA),
    ),
    Case(
        "form-changed-under-max-skew",
        form(configMaps=[entry(spec=manifest("new"))]),
        {"rollout": {"maxSkew": 1}},
    ),
    Case(
        "target-namespace-changed",
        form(
            configMaps=[entry(targetNamespace="target-namespace-changed-acme")],
            namespaces=[namespace("target-namespace-changed")],
        ),
        rows=(("acme", 1, "pro"),),
    ),
    Case(
        "namespace-per-tenant",
        form(namespaces=[namespace("namespace-per-tenant")]),
        rows=(("delta", 1, "pro"),),
    ),
    # Policies
    Case("retained-entry-removed", form(configMaps=[]), {"configMaps": [entry(**RETAIN)]}),
    Case("row-of-retained-object-deleted", rows(*KEPT), {"configMaps": [entry(**RETAIN)]}),
    Case("retain-set-later", form(configMaps=[entry(**RETAIN)])),
    Case(
        "created-once",
        steps(rows(*FREE), form(configMaps=[entry(creationPolicy="Once", spec=manifest("2"))])),
        {"configMaps": [entry(creationPolicy="Once")]},
    ),
    Case("merged", rows(*FREE), {"configMaps": [entry(patchStrategy="merge")]}),
    Case("replaced", rows(*FREE), {"configMaps": [entry(patchStrategy="replace")]}),
    Case(
        "ignored-field",
        edit({"data": {"plan": "by hand"}}),
        {"configMaps": [entry(ignoreFields=["$.data.plan"])]},
    ),
    # Adoption and conflicts
    Case(
        "foreign-object-adopted",
        rows(*ROWS, ("gamma", 1, "pro")),
        arrange=foreign("gamma-settings"),
    ),
    Case(
        "foreign-object-owned",
        rows(*ROWS, ("gamma", 1, "pro")),
        {"configMaps": [entry(adoptionPolicy="Own")]},
        arrange=foreign("gamma-settings"),
    ),
    Case(
        "foreign-object-refused",
        rows(*ROWS, ("gamma", 1, "pro")),
        {"configMaps": [entry(adoptionPolicy="Refuse")]},
        arrange=foreign("gamma-settings"),
    ),
    Case("adopted-object-released", rows(*KEPT), arrange=foreign(data={"own": "1"})),
    Case("field-of-other-manager-stuck", edit({"data": {"plan": "by hand"}})),
    Case(
        "field-of-other-manager-forced",
        edit({"data": {"plan": "by hand"}}),
        {"configMaps": [entry(conflictPolicy="Force")]},
    ),
    # Drift
    Case("object-deleted", delete(CONFIG_MAPS, "acme-settings")),
    Case("label-removed", edit({"metadata": {"labels": {"lynq.sh/managed": None}}})),
    Case("secret-edited", edit({"data": {"plan": "eA=="}}, SECRETS, "acme-token"), form=BOTH),
    Case("node-deleted", delete(NODES, "acme-web")),
    Case("node-edited", edit({"spec": {"configMaps": []}}, NODES, "acme-web")),
    # The guard
    Case("deletions-held", rows(), rows=MANY),
    Case("guard-disabled", rows(), rows=MANY, hub={"deletionGuard": {"disabled": True}}),
    # Hubs
    Case("hub-paused", steps(hub(paused=True), rows(*FREE))),
    Case("mapping-added", hub(extraValueMappings={"plan": "plan", "tier": "plan"})),
)
