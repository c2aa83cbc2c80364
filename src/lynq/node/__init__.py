"""The node's core: from a LynqNode and what the caches know, to the next writes and its status.

Pure: no socket, no clock. A pass of the controller is

    variables_of → Renderer.render → prepare → next_step, next_removals → next_status

and docs/design/node.md has the decisions behind it.
"""

from lynq.node.facts import Facts, Memory, Refusal
from lynq.node.identity import ObjectRef, Owner, owner_of, ref_of
from lynq.node.inventory import Item, claimed, orphans, read_inventory
from lynq.node.judging import Surroundings, is_done_once, judge
from lynq.node.live import Live
from lynq.node.outcome import Cause, Method, Outcome, StateReason, Write
from lynq.node.preparing import Wanted, ignores_fields, prepare
from lynq.node.refusals import RenderError
from lynq.node.removing import (
    Leftover,
    Removal,
    RemovalStep,
    next_removals,
    spared_for,
    spared_in_edited,
)
from lynq.node.rendering import Rendered, Renderer
from lynq.node.schedule import force_due_at
from lynq.node.shedding import shed
from lynq.node.status import (
    Report,
    Trouble,
    broken_status,
    leaving_status,
    next_status,
    with_paused,
)
from lynq.node.step import Step, next_step
from lynq.node.tracking import is_orphan, is_ours, orphaning, without_owner
from lynq.node.urgency import put_off
from lynq.node.variables import VariablesError, variables_of

__all__ = [
    "Cause",
    "Facts",
    "Item",
    "Leftover",
    "Live",
    "Memory",
    "Method",
    "ObjectRef",
    "Outcome",
    "Owner",
    "Refusal",
    "Removal",
    "RemovalStep",
    "RenderError",
    "Rendered",
    "Renderer",
    "Report",
    "StateReason",
    "Step",
    "Surroundings",
    "Trouble",
    "VariablesError",
    "Wanted",
    "Write",
    "broken_status",
    "claimed",
    "force_due_at",
    "ignores_fields",
    "is_done_once",
    "is_orphan",
    "is_ours",
    "judge",
    "leaving_status",
    "next_removals",
    "next_status",
    "next_step",
    "orphaning",
    "orphans",
    "owner_of",
    "prepare",
    "put_off",
    "read_inventory",
    "ref_of",
    "shed",
    "spared_for",
    "spared_in_edited",
    "variables_of",
    "with_paused",
    "without_owner",
]
