"""The dependency graph of a form's or node's resources: what is written, and deleted, when.

    >>> entries = [Entry("web", ("db",)), Entry("db"), Entry("cache")]
    >>> build(entries).waves
    (('db', 'cache'), ('web',))

Everything here is linear in resources and dependencies, loops instead of recursing, and answers
the same for the same input: whatever has no other order keeps the canonical one.
"""

from lynq.graph.building import build, find_problems
from lynq.graph.collecting import collect, entries_of
from lynq.graph.gate import FAILED_STATES, Action, Decision, decide
from lynq.graph.model import Entry, Graph, Waves
from lynq.graph.problems import GraphError, Problem, ProblemKind
from lynq.graph.removal import removal_waves

__all__ = [
    "FAILED_STATES",
    "Action",
    "Decision",
    "Entry",
    "Graph",
    "GraphError",
    "Problem",
    "ProblemKind",
    "Waves",
    "build",
    "collect",
    "decide",
    "entries_of",
    "find_problems",
    "removal_waves",
]
