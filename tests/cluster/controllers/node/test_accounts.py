"""In whose name a node's objects are written, and into which namespaces."""

import uuid
from typing import Any

import pytest

from cluster.controllers.node.making import (
    NODE,
    delete_node,
    edit,
    entry,
    exists,
    labels,
    make_node,
    of_kind,
    want,
)
from cluster.controllers.node.test_rights import BINDINGS, ROLES, rule
from cluster.controllers.operating import is_gone, node_is_ready, node_of, operating, resource_is
from cluster.controllers.stage import FORMS, HUBS, NODES, Stage, config_map
from lynq.controllers import context
from lynq.controllers.decoding import Loose, Unreadable
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}
SECRET = {
    "id": "secret",
    "nameTemplate": "{{ .uid }}-secret",
    "spec": {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}},
}

AS_WRITER = {"lynq.sh/service-account": "writer"}
FORMLESS = 'the form "web" does not exist'


async def let(stage: Stage, account: str, *rules: Any) -> None:
    """Have a service account that may do so much."""
    place = stage.namespace
    await stage.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": account}}, place)
    role = {"metadata": {"name": account}, "rules": list(rules)}
    await stage.client.create(ROLES, role, place)
    binding = {
        "metadata": {"name": account},
        "roleRef": {"apiGroup": ROLES.group, "kind": "Role", "name": account},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": place}],
    }
    await stage.client.create(BINDINGS, binding, place)


async def test_a_form_gets_no_more_than_its_account_may_do(stage: Stage) -> None:
    await let(stage, "writer", rule("", "configmaps"))
    stage.rows(("acme", 1, "pro"))
    await stage.hub()
    await stage.form(serviceAccountName="writer", secrets=[SECRET])
    async with operating(stage):
        refused = await resource_is(stage, "acme-web", "secret", "Failed")
        await resource_is(stage, "acme-web", "settings", "Ready")
        assert "secrets" in refused["message"]
        assert "patch" in refused["message"]
        node = await node_of(stage, "acme-web")
        assert node["metadata"]["annotations"]["lynq.sh/service-account"] == "writer"

        role = {"rules": [rule("", "configmaps", "secrets")]}
        await stage.change(ROLES, "writer", role)
        await node_is_ready(stage, "acme-web", within=60)


async def test_deletes_are_done_as_the_account_too_also_when_the_form_is_gone(
    stage: Stage,
) -> None:
    may_not_delete = rule("", "configmaps", verbs=("get", "create", "patch"))
    await let(stage, "writer", may_not_delete)
    stage.rows(("acme", 1, "pro"))
    await stage.hub()
    await stage.form(serviceAccountName="writer")
    async with operating(stage):
        await node_is_ready(stage, "acme-web")
        await stage.client.delete(FORMS, "web", stage.namespace)
        assert "delete" in await stage.has_event("CleanupPartialFailure")
        assert await stage.get(CONFIG_MAPS, "acme-settings")

        await stage.change(ROLES, "writer", {"rules": [rule("", "configmaps")]})
        await is_gone(stage, CONFIG_MAPS, "acme-settings", within=60)
        await stage.has_nodes()


async def test_an_operator_can_insist_on_accounts(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"))
    await stage.hub()
    await stage.form()
    async with operating(stage, requires_service_account=True):
        refused = await resource_is(stage, "acme-web", "settings", "Failed")
        assert "serviceAccountName" in refused["message"]
        with pytest.raises(NotFound):
            await stage.get(CONFIG_MAPS, "acme-settings")


@pytest.mark.parametrize("insists", [False, True])
async def test_the_annotation_of_a_live_node_chooses_no_account(
    stage: Stage, *, insists: bool
) -> None:
    """Whoever may edit nodes could act as any account otherwise."""
    await let(stage, "writer", rule("", "configmaps"))
    async with operating(stage, requires_service_account=insists):
        await make_node(stage, entry("settings"), annotations=AS_WRITER)
        refused = await resource_is(stage, NODE, "settings", "Failed")
        assert FORMLESS in refused["message"]
        assert "create the form, or delete the node" in refused["message"]
        assert not await exists(stage, "settings")
        await delete_node(stage)
        await is_gone(stage, NODES, NODE)


async def test_a_node_made_by_hand_is_refused_where_accounts_are_insisted_on(
    stage: Stage,
) -> None:
    async with operating(stage, requires_service_account=True):
        await make_node(stage, entry("settings"))
        refused = await resource_is(stage, NODE, "settings", "Failed")
        assert FORMLESS in refused["message"]
        assert not await exists(stage, "settings")


async def test_a_node_whose_form_went_while_its_hub_is_paused_keeps_its_objects(
    stage: Stage,
) -> None:
    await let(stage, "writer", rule("", "configmaps"))
    stage.rows(("acme", 1, "pro"))
    await stage.hub()
    entries = [config_map(conflictPolicy="Force")]
    await stage.form(serviceAccountName="writer", configMaps=entries)
    async with operating(stage):
        await node_is_ready(stage, NODE)
        await stage.change(HUBS, "hub", {"spec": {"paused": True}})
        await stage.has_status(observedGeneration=2)
        await stage.client.delete(FORMS, "web", stage.namespace)
        await is_gone(stage, FORMS, "web")

        await edit(stage, "acme-settings", {"data": {"plan": "edited"}})
        refused = await resource_is(stage, NODE, "settings", "Failed")
        assert FORMLESS in refused["message"]
        kept = await stage.get(CONFIG_MAPS, "acme-settings")
        assert kept["data"] == {"plan": "edited"}

        await stage.form(serviceAccountName="writer", configMaps=entries)
        await node_is_ready(stage, NODE, within=60)


async def test_a_live_node_without_its_form_takes_nothing_away_either(stage: Stage) -> None:
    await let(stage, "writer", rule("", "configmaps"))
    await stage.form(serviceAccountName="writer")
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("dropped"), annotations=AS_WRITER)
        await node_is_ready(stage, NODE)
        await stage.client.delete(FORMS, "web", stage.namespace)
        await is_gone(stage, FORMS, "web")

        await want(stage, entry("settings"))
        refused = await resource_is(stage, NODE, "settings", "Failed")
        assert FORMLESS in refused["message"]
        kept = await resource_is(stage, NODE, "dropped", "Deleting")
        assert FORMLESS in kept["message"]
        assert await exists(stage, "dropped")


async def test_nothing_is_written_for_a_form_that_cannot_be_read(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its account and its namespaces are not known."""

    def unreadable(obj: Loose) -> Unreadable:
        return Unreadable(obj.metadata, "its spec makes no sense, see $.configMaps")

    monkeypatch.setattr(context, "form_from", unreadable)
    await stage.form()
    async with operating(stage):
        await make_node(stage, entry("settings"))
        refused = await resource_is(stage, NODE, "settings", "Failed")
        assert 'the form "web" cannot be read' in refused["message"]
        assert "$.configMaps" in refused["message"]
        assert not await exists(stage, "settings")


@pytest.mark.parametrize("by", ["form", "operator"])
async def test_only_allowed_namespaces_are_written_to(stage: Stage, by: str) -> None:
    suffix = uuid.uuid4().hex[:8]
    allowed, other = f"tenant-{suffix}", f"kube-{suffix}"
    for name in (allowed, other):
        await stage.client.create(NAMESPACES, {"metadata": {"name": name}})
    stage.rows(("acme", 1, "pro"))
    await stage.hub()
    patterns = ["tenant-*"]
    await stage.form(
        allowedNamespaces=patterns if by == "form" else [],
        configMaps=[
            config_map(targetNamespace=allowed),
            config_map(id="outside", targetNamespace=other),
            config_map(id="own", nameTemplate="{{ .uid }}-own"),
        ],
    )
    options = {"allowed_namespaces": tuple(patterns)} if by == "operator" else {}
    async with operating(stage, namespaces=(), **options):
        refused = await resource_is(stage, "acme-web", "outside", "Failed")
        await resource_is(stage, "acme-web", "settings", "Ready")
        await resource_is(stage, "acme-web", "own", "Ready")
        assert other in refused["message"]
        assert await stage.client.get(CONFIG_MAPS, "acme-settings", allowed)
        with pytest.raises(NotFound):
            await stage.client.get(CONFIG_MAPS, "acme-settings", other)
        stage.rows()
        await stage.read_again()
        await stage.has_nodes()
    for name in (allowed, other):
        await stage.client.delete(NAMESPACES, name)


@pytest.mark.parametrize("by", ["form", "operator"])
async def test_a_namespace_that_is_not_allowed_is_not_written_either(stage: Stage, by: str) -> None:
    """Once it were the node's, it would go with the row, and everything in it."""
    suffix = uuid.uuid4().hex[:8]
    allowed, other = f"tenant-{suffix}", f"kube-{suffix}"
    await stage.client.create(NAMESPACES, {"metadata": {"name": other}})
    patterns = ["tenant-*"]
    await stage.form(allowedNamespaces=patterns if by == "form" else [])
    options = {"allowed_namespaces": tuple(patterns)} if by == "operator" else {}
    async with operating(stage, namespaces=(), **options):
        names = {"inside": allowed, "outside": other, "own": stage.namespace}
        await make_node(
            stage,
            namespaces=[
                of_kind(this, NAMESPACE, nameTemplate=name) for this, name in names.items()
            ],
        )
        refused = await resource_is(stage, NODE, "outside", "Failed")
        assert f'the namespace "{other}" is not among' in refused["message"]
        await resource_is(stage, NODE, "inside", "Ready")
        await resource_is(stage, NODE, "own", "Ready")
        found = await stage.client.get(NAMESPACES, other)
        assert "lynq.sh/node" not in labels(found)
    for name in (allowed, other):
        await stage.client.delete(NAMESPACES, name)


async def test_a_namespace_that_is_allowed_no_more_stays_and_keeps_its_node(stage: Stage) -> None:
    name = f"kube-{uuid.uuid4().hex[:8]}"
    async with operating(stage, namespaces=()):
        await make_node(stage, namespaces=[of_kind("place", NAMESPACE, nameTemplate=name)])
        await node_is_ready(stage, NODE)
    async with operating(stage, namespaces=(), allowed_namespaces=("tenant-*",)):
        refused = await resource_is(stage, NODE, "place", "Failed")
        assert "--allowed-namespaces" in refused["message"]
        await delete_node(stage)
        kept = await resource_is(stage, NODE, "place", "Deleting")
        assert "--allowed-namespaces" in kept["message"]
        assert "deletionTimestamp" not in (await stage.client.get(NAMESPACES, name))["metadata"]
    async with operating(stage, namespaces=()):
        await is_gone(stage, NODES, NODE, within=120)
        with pytest.raises(NotFound):
            await stage.client.get(NAMESPACES, name)
