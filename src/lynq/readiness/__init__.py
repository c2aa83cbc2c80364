"""When is an object of this kind ready, and why not; see docs/design/readiness.md.

>>> readiness({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}})
Verdict(state=<State.NOT_READY: 'not ready'>, reason='ClaimNotBound', message='claim is Pending')
"""

from lynq.readiness.deadline import Countdown, countdown
from lynq.readiness.judging import project, readiness, reads_body
from lynq.readiness.verdict import Reason, State, Verdict

__all__ = [
    "Countdown",
    "Reason",
    "State",
    "Verdict",
    "countdown",
    "project",
    "readiness",
    "reads_body",
]
