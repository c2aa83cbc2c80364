"""Cached validation of forms."""

from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub
from lynq.api.metadata import ObjectKey
from lynq.controllers.form_validation import FormValidator
from unit.core.hub.fixtures import a_form, a_hub, resource


class Hubs:
    """A cache with no hub or one hub."""

    def __init__(self, hub: LynqHub | None, *, unreadable: bool = False) -> None:
        self.hub = hub
        self.unreadable = unreadable

    def get(self, key: ObjectKey) -> LynqHub | None:
        assert key == ObjectKey("prod", "shop")
        return self.hub

    def exists(self, key: ObjectKey) -> bool:
        return self.unreadable or self.get(key) is not None


def validator(hubs: Hubs, *, cache_size: int = 10) -> FormValidator:
    return FormValidator(cast("Any", SimpleNamespace(hubs=hubs)), cache_size=cache_size)


def of_generation(form: LynqForm, generation: int) -> LynqForm:
    return replace(form, metadata=replace(form.metadata, generation=generation))


async def test_form_is_valid_only_with_its_hub() -> None:
    hubs = Hubs(None)
    forms = validator(hubs)
    assert [problem.path for problem in await forms.problems(a_form())] == ["spec.hubId"]
    assert not (await forms.candidate(a_form())).valid
    hubs.hub = a_hub()
    assert (await forms.candidate(a_form())).valid


async def test_unreadable_hub_is_not_missing() -> None:
    assert (await validator(Hubs(None, unreadable=True)).candidate(a_form())).valid


async def test_result_is_cached_until_a_generation_changes() -> None:
    hubs = Hubs(a_hub())
    forms = validator(hubs)
    invalid = a_form("web", resource(name_template="{{ .uid"))
    first = await forms.problems(invalid)
    assert first
    assert await forms.problems(invalid) is first
    assert await forms.problems(of_generation(invalid, 2)) is not first
    hubs.hub = replace(a_hub(), metadata=replace(a_hub().metadata, generation=9))
    assert await forms.problems(invalid) is not first


async def test_number_of_cached_results_is_bounded() -> None:
    forms = validator(Hubs(a_hub()), cache_size=3)
    for generation in range(1, 10):
        await forms.candidate(of_generation(a_form(), generation))
    assert len(forms._results) == 3


async def test_refused_resource_does_not_make_the_form_unusable() -> None:
    slow = resource("slow", annotations_template={"a": '{{ derivePassword 1 "long" "p" "u" "s" }}'})
    candidate = await validator(Hubs(a_hub())).candidate(a_form("web", resource("fine"), slow))
    assert candidate.valid
    assert candidate.refused == {
        "slow": "annotationsTemplate.a: derivePassword is too slow here; call it in the manifest "
        "only"
    }
