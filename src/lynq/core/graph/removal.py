"""In which order what is there goes, whatever has become of the form in the meantime.

Deletion must come to an end also where building would fail: a node whose resources go round in a
circle can still be deleted, and its inventory may hold resources that left the form long ago.
"""

from collections.abc import Iterable

from lynq.core.graph.layering import layer
from lynq.core.graph.model import Entry, Waves, edges_between


def removal_waves(entries: Iterable[Entry], present: Iterable[str]) -> Waves:
    """Return the ids of the inventory in waves, dependents before dependencies.

    First go those that no entry knows. What they depended on is forgotten; but nothing that is
    known can depend on them, while they may still need anything that is. Then go the ones without
    an order, in circles or behind them: nothing that has an order depends on those. What is absent
    still counts for the order of the others.
    """
    known = edges_between(entries)
    wanted = dict.fromkeys(present)
    unknown = tuple(this for this in wanted if this not in known)
    layers = layer(known)
    ordered = (unknown, layers.rest, *reversed(layers.waves))
    waves = (tuple(this for this in wave if this in wanted) for wave in ordered)
    return tuple(wave for wave in waves if wave)
