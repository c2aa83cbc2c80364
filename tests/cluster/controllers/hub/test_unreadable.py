"""Forms and hubs that this operator cannot read: nothing of theirs is touched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cluster.controllers.stage import FORMS, HUBS, Stage
from lynq.api import LynqForm, LynqHub
from lynq.controllers import context
from lynq.controllers.decoding import Loose, Unreadable, form_from, hub_from

MARKED = {"metadata": {"annotations": {"test": "unreadable"}}}
ROWS = (("acme", 1, "pro"), ("beta", 1, "pro"))


@pytest.fixture(autouse=True)
def _marked_objects_make_no_sense(monkeypatch: pytest.MonkeyPatch) -> None:
    def form(obj: Loose) -> LynqForm | Unreadable:
        marked = "test" in obj.metadata.annotations
        return Unreadable(obj.metadata, "marked") if marked else form_from(obj)

    def hub(obj: Loose) -> LynqHub | Unreadable:
        marked = "test" in obj.metadata.annotations
        return Unreadable(obj.metadata, "marked") if marked else hub_from(obj)

    monkeypatch.setattr(context, "form_from", form)
    monkeypatch.setattr(context, "hub_from", hub)


@asynccontextmanager
async def having_one_of_two_forms_unreadable(stage: Stage) -> AsyncIterator[None]:
    """Run the operator; it has made all nodes before `worker` becomes unreadable."""
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()
    await stage.form("worker")

    async with stage.operator():
        await stage.has_nodes("acme-web", "acme-worker", "beta-web", "beta-worker")
        await stage.change(FORMS, "worker", MARKED)
        yield


async def test_the_nodes_of_an_unreadable_form_stay(stage: Stage) -> None:
    async with having_one_of_two_forms_unreadable(stage):
        stage.rows(ROWS[0])
        await stage.read_again()
        await stage.has_nodes("acme-web", "acme-worker", "beta-worker")
        await stage.settles()
        assert "beta-worker" in await stage.names()
    async with stage.operator():
        await stage.settles()
        assert await stage.names() == ["acme-web", "acme-worker", "beta-worker"]


async def test_the_nodes_of_an_unreadable_form_go_with_it(stage: Stage) -> None:
    async with having_one_of_two_forms_unreadable(stage):
        await stage.settles()
        await stage.client.delete(FORMS, "worker", stage.namespace)
        await stage.has_nodes("acme-web", "beta-web")


async def test_an_unreadable_hub_leaves_its_nodes_and_can_be_deleted(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web", "beta-web")
        await stage.change(HUBS, "hub", MARKED)
        stage.rows()
        await stage.settles()
        assert await stage.names() == ["acme-web", "beta-web"]
        await stage.client.delete(HUBS, "hub", stage.namespace)
        await stage.is_gone(HUBS, "hub")
        assert await stage.names() == []
