"""The hub's core: rows × forms → nodes, what differs, what may be written and removed.

Pure: hub, forms, rows, nodes and the time in; a plan out. docs/design/hub.md has the decisions
behind it.
"""
