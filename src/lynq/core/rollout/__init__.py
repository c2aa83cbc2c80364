"""Rollout of a changed form to its nodes: the maxSkew budget, the progress deadline, the phases.

Pure: facts about nodes and the current time in; admitted writes and the rollout status out.
"""
