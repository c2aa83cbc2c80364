"""One answer about a form for hub and form controller, kept as long as nothing changes."""

from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub
from lynq.api.metadata import ObjectKey
from lynq.controllers.form_validation import FormValidator
from unit.core.hub.fixtures import a_form, a_hub, resource


class Hubs:
    """The cache of hubs, with none or one in it."""

    def __init__(self, hub: LynqHub | None, *, unreadable: bool = False) -> None:
        self.hub = hub
        self.unreadable = unreadable

    def get(self, key: ObjectKey) -> LynqHub | None:
        assert key == ObjectKey("prod", "shop")
        return self.hub

    def exists(self, key: ObjectKey) -> bool:
        return self.unreadable or self.get(key) is not None


def about(hubs: Hubs, *, cache_size: int = 10) -> FormValidator:
    return FormValidator(cast("Any", SimpleNamespace(hubs=hubs)), cache_size=cache_size)


def of_generation(form: LynqForm, generation: int) -> LynqForm:
    return replace(form, metadata=replace(form.metadata, generation=generation))


async def test_form_is_valid_only_with_its_hub() -> None:
    hubs = Hubs(None)
    asked = about(hubs)
    assert [each.path for each in await asked.problems(a_form())] == ["spec.hubId"]
    assert not await asked.is_valid(a_form())
    hubs.hub = a_hub()
    assert await asked.is_valid(a_form())


async def test_unreadable_hub_is_not_missing() -> None:
    assert await about(Hubs(None, unreadable=True)).is_valid(a_form())


async def test_result_is_cached_until_a_generation_changes() -> None:
    hubs = Hubs(a_hub())
    asked = about(hubs)
    broken = a_form("web", resource(name_template="{{ .uid"))
    first = await asked.problems(broken)
    assert first
    assert await asked.problems(broken) is first
    assert await asked.problems(of_generation(broken, 2)) is not first
    hubs.hub = replace(a_hub(), metadata=replace(a_hub().metadata, generation=9))
    assert await asked.problems(broken) is not first


async def test_number_of_cached_results_is_bounded() -> None:
    asked = about(Hubs(a_hub()), cache_size=3)
    for generation in range(1, 10):
        await asked.is_valid(of_generation(a_form(), generation))
    assert len(asked._results) == 3
