"""Why a node is not ready: the root cause, its column of the row, and what to do. Pure.

`lynq explain` and other viewers read the objects; the decisions are made here.
"""
