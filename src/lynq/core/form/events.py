"""Which events tell of a form's validity: each turn once, and no more in the passes after it.

What was told is read from the status that was last written, so a restart repeats nothing: an event
is due when the form becomes valid, when it stops being so, and when what is wrong with it changes.
"""

from collections.abc import Iterator, Sequence

from lynq.api import ConditionStatus, FormStatus
from lynq.api.conditions import find_condition
from lynq.api.events import Event
from lynq.api.problems import Problem, errors, summary
from lynq.api.reasons import ConditionType, EventReason


def validation_events(previous: FormStatus, problems: Sequence[Problem]) -> tuple[Event, ...]:
    """Return what has to be told, given the status from before these problems were found."""
    known = find_condition(previous.conditions, ConditionType.VALID)
    was_valid = known is not None and known.status is ConditionStatus.TRUE
    wrong = errors(problems)
    if not wrong:
        passed = Event(EventReason.VALIDATION_PASSED, "the form can be used")
        return () if was_valid else (passed,)
    if known is not None and not was_valid and known.message == summary(wrong):
        return ()
    return (*_by_own_reason(wrong), *(_failed(wrong) if was_valid or known is None else ()))


def _by_own_reason(wrong: Sequence[Problem]) -> Iterator[Event]:
    """Yield one event per reason that scripts know, with all problems of that reason."""
    for reason in dict.fromkeys(each.event for each in wrong if each.event is not None):
        yield Event(reason, summary([each for each in wrong if each.event is reason]), warns=True)


def _failed(wrong: Sequence[Problem]) -> tuple[Event, ...]:
    return (Event(EventReason.VALIDATION_FAILED, summary(wrong), warns=True),)
