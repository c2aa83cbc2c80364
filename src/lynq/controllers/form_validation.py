"""Validates forms, with one cached result for the hub controller and the form controller."""

import asyncio
from collections import OrderedDict
from typing import Final, NamedTuple

from lynq.api import LynqForm
from lynq.api.node_metadata import hub_of_form
from lynq.api.problems import Problem, fatal_errors, refused_resources
from lynq.controllers.context import ControllerContext
from lynq.core.form.validation import hub_not_found, validate_form
from lynq.core.hub.plan import FormCandidate
from lynq.core.node.ignore_fields.parse import path_problem

_CACHE_SIZE: Final = 1024
"""Number of validation results that are cached."""


class _CacheKey(NamedTuple):
    """The inputs of a result. With uids, because a re-created object restarts at generation 1."""

    form_uid: str
    form_generation: int
    hub_uid: str
    hub_generation: int


class FormValidator:
    """Validates each form once per generation of the form and of its hub."""

    def __init__(self, context: ControllerContext, *, cache_size: int = _CACHE_SIZE) -> None:
        self._context = context
        self._cache_size = cache_size
        self._results: OrderedDict[_CacheKey, tuple[Problem, ...]] = OrderedDict()

    async def problems(self, form: LynqForm) -> tuple[Problem, ...]:
        """Return all problems of a form, including a missing hub.

        Runs in a thread: a form of a thousand templates takes half a second, and the event loop has
        to renew the lease.
        """
        hub = self._context.hubs.get(hub_of_form(form))
        key = _CacheKey(
            form.metadata.uid,
            form.metadata.generation,
            hub.metadata.uid if hub else "",
            hub.metadata.generation if hub else 0,
        )
        problems = self._results.get(key)
        if problems is None:
            spec = hub.spec if hub else None
            problems = await asyncio.to_thread(
                validate_form, form.spec, hub=spec, check_ignore_field=path_problem
            )
        self._store(key, problems)
        # A hub that cannot be decoded exists nevertheless.
        if form.spec.hub_id and not self._context.hubs.exists(hub_of_form(form)):
            return (hub_not_found(form.spec), *problems)
        return problems

    async def candidate(self, form: LynqForm) -> FormCandidate:
        """Return whether the form's current generation can be rolled out, and without what."""
        problems = await self.problems(form)
        return FormCandidate(form, not fatal_errors(problems), refused_resources(problems))

    def _store(self, key: _CacheKey, problems: tuple[Problem, ...]) -> None:
        self._results[key] = problems
        self._results.move_to_end(key)
        if len(self._results) > self._cache_size:
            self._results.popitem(last=False)
