"""Forms and hubs that cannot be decoded: their nodes are left unchanged."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lynq.api import LynqForm, LynqHub
from lynq.controllers import context
from lynq.controllers.decoding import RawObject, Unreadable, decode_form, decode_hub
from operated.environment import FORMS, HUBS, Environment

MARKED = {"metadata": {"annotations": {"test": "unreadable"}}}
ROWS = (("acme", 1, "pro"), ("beta", 1, "pro"))


@pytest.fixture(autouse=True)
def _marked_objects_are_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    def form(obj: RawObject) -> LynqForm | Unreadable:
        marked = "test" in obj.metadata.annotations
        return Unreadable(obj.metadata, "marked") if marked else decode_form(obj)

    def hub(obj: RawObject) -> LynqHub | Unreadable:
        marked = "test" in obj.metadata.annotations
        return Unreadable(obj.metadata, "marked") if marked else decode_hub(obj)

    monkeypatch.setattr(context, "decode_form", form)
    monkeypatch.setattr(context, "decode_hub", hub)


@asynccontextmanager
async def one_of_two_forms_unreadable(env: Environment) -> AsyncIterator[None]:
    """Run the operator; all nodes exist before the form `worker` becomes unreadable."""
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    await env.create_form("worker")

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web", "acme-worker", "beta-web", "beta-worker")
        await env.patch(FORMS, "worker", MARKED)
        yield


async def test_nodes_of_unreadable_form_are_kept(env: Environment) -> None:
    async with one_of_two_forms_unreadable(env):
        env.set_rows(ROWS[0])
        await env.force_sync()
        await env.wait_for_nodes("acme-web", "acme-worker", "beta-worker")
        await env.wait_until_idle()
        assert "beta-worker" in await env.node_names()
    async with env.run_controllers():
        await env.wait_until_idle()
        assert await env.node_names() == ["acme-web", "acme-worker", "beta-worker"]


async def test_nodes_of_unreadable_form_are_deleted_with_it(env: Environment) -> None:
    async with one_of_two_forms_unreadable(env):
        await env.wait_until_idle()
        await env.client.delete(FORMS, "worker", env.namespace)
        await env.wait_for_nodes("acme-web", "beta-web")


async def test_unreadable_hub_keeps_its_nodes_and_can_be_deleted(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web", "beta-web")
        await env.patch(HUBS, "hub", MARKED)
        env.set_rows()
        await env.wait_until_idle()
        assert await env.node_names() == ["acme-web", "beta-web"]
        await env.client.delete(HUBS, "hub", env.namespace)
        await env.wait_for_deletion(HUBS, "hub")
        assert await env.node_names() == []
