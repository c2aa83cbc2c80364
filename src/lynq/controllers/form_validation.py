"""Whether a form may be used: one answer for the hub that rolls it out and the form that tells."""

import asyncio
from collections import OrderedDict
from typing import Final, NamedTuple

from lynq.api import LynqForm
from lynq.api.node_metadata import hub_of_form
from lynq.api.problems import Problem, errors
from lynq.controllers.context import ControllerContext
from lynq.core.form.validation import hub_not_found, validate_form
from lynq.core.node.ignore_fields.parse import path_problem

_CACHE_SIZE: Final = 1024
"""Number of validation results that are cached."""


class _Question(NamedTuple):
    """All that an answer depends on; uids, because a form made anew begins at generation 1."""

    form: str
    form_generation: int
    hub: str
    hub_generation: int


class FormValidator:
    """What is wrong with forms; each is looked at once per generation of itself and its hub."""

    def __init__(self, world: ControllerContext, *, cache_size: int = _CACHE_SIZE) -> None:
        self._world = world
        self._cache_size = cache_size
        self._answers: OrderedDict[_Question, tuple[Problem, ...]] = OrderedDict()

    async def problems(self, form: LynqForm) -> tuple[Problem, ...]:
        """Return all problems of a form, a missing hub included.

        A form of a thousand templates takes half a second: in a thread, the lease is renewed.
        """
        hub = self._world.hubs.get(hub_of_form(form))
        question = _Question(
            form.metadata.uid,
            form.metadata.generation,
            hub.metadata.uid if hub else "",
            hub.metadata.generation if hub else 0,
        )
        answer = self._answers.get(question)
        if answer is None:
            spec = hub.spec if hub else None
            answer = await asyncio.to_thread(
                validate_form, form.spec, hub=spec, check_ignore_field=path_problem
            )
        self._remember(question, answer)
        # A hub that cannot be read is there all the same.
        if form.spec.hub_id and not self._world.hubs.exists(hub_of_form(form)):
            return (hub_not_found(form.spec), *answer)
        return answer

    async def is_valid(self, form: LynqForm) -> bool:
        """Return whether the form's present generation may be rolled out."""
        return not errors(await self.problems(form))

    def _remember(self, question: _Question, answer: tuple[Problem, ...]) -> None:
        self._answers[question] = answer
        self._answers.move_to_end(question)
        if len(self._answers) > self._cache_size:
            self._answers.popitem(last=False)
