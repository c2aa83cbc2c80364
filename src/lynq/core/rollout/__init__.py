"""How a changed form reaches its nodes: maxSkew's budget, the deadline, the phases.

Pure: facts about nodes and the time in; who may be written and the rollout's status out.
docs/design/rollout.md has the decisions behind it.
"""
