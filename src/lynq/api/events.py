"""An event before it is sent: what the cores have to tell about an object."""

from dataclasses import dataclass

from lynq.api.reasons import EventReason


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell about an object."""

    reason: EventReason
    message: str
    warns: bool = False
    """Whether it is of the type Warning, and not Normal."""
