"""Resources to be judged: as they should be, and with this or that taken off."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from lynq.api import (
    ResourceState,
)
from lynq.node.facts import Facts, Memory
from lynq.node.judging import Surroundings, judge
from lynq.node.live import Live
from lynq.node.outcome import Cause
from lynq.readiness.verdict import READY
from unit.node.nodes import NOW, a_resource, an_owner
from unit.node.worlds import live_after, wanted_by

S = ResourceState
LATER = NOW + timedelta(seconds=60)
AROUND = Surroundings(an_owner(), NOW)


def settled(**more: Any) -> Facts:
    """Give a resource whose object is as it should be."""
    resource = a_resource(**more)
    wanted = wanted_by(resource)
    live = live_after(wanted.to_write(None, NOW))
    memory = Memory(hash=wanted.hash, digest=b"ours")
    return Facts(resource=resource, wanted=wanted, live=live, memory=memory)


def but(facts: Facts, **live: Any) -> Facts:
    assert facts.live is not None
    return replace(facts, live=replace(facts.live, **live))


def without(facts: Facts, annotation: str) -> Facts:
    assert facts.live is not None
    kept = {key: value for key, value in facts.live.annotations.items() if annotation not in key}
    return but(facts, annotations=kept)


def foreign(**live: Any) -> Live:
    return Live(uid="9", verdict=READY, **live)


def cause_of(facts: Facts, around: Surroundings = AROUND) -> Cause | None:
    write = judge(facts, around).write
    return write.cause if write else None
