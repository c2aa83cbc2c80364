"""How a changed form reaches its nodes: maxSkew's budget, the deadline, the phases.

Pure: facts about nodes and the time in; who may be written and the rollout's status out.
docs/design/rollout.md has the decisions behind it.
"""

from lynq.rollout.budget import Admission, admit
from lynq.rollout.facts import GRACE, NodeFacts
from lynq.rollout.progress import Assessment, assess

__all__ = ["GRACE", "Admission", "Assessment", "NodeFacts", "admit", "assess"]
