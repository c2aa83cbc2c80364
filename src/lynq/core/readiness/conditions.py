"""Conditions of other controllers, as far as readiness goes by them."""

from collections.abc import Mapping
from dataclasses import dataclass

from lynq.core.readiness.fields import Fields


@dataclass(frozen=True, slots=True)
class ObjectCondition:
    """One condition of an object."""

    type: str
    status: str
    reason: str
    message: str
    """On one line and cut."""
    observed_generation: int
    """0 where the controller does not tell, as most do not."""

    @property
    def holds(self) -> bool:
        """Whether it is so."""
        return self.status == "True"

    def is_about(self, generation: int) -> bool:
        """Tell whether it speaks about this generation, as far as it says."""
        return self.observed_generation == 0 or self.observed_generation >= generation


NONE = ObjectCondition("", "", "", "", 0)
"""What an absent condition amounts to: it does not hold, and says nothing."""


def conditions(fields: Fields) -> Mapping[str, ObjectCondition]:
    """Return the conditions in the object's status by type; of two of one type the first."""
    found: dict[str, ObjectCondition] = {}
    for item in fields.items("status", "conditions"):
        if this := item.line("type"):
            found.setdefault(this, _condition(this, item))
    return found


def _condition(this: str, item: Fields) -> ObjectCondition:
    return ObjectCondition(
        this,
        item.line("status"),
        item.line("reason"),
        item.line("message"),
        item.number("observedGeneration"),
    )
