"""The hub's core: rows × forms → LynqNodes, their differences, writes and deletions.

Pure: hub, forms, rows, nodes and the time in; a plan and a status out. docs/adr/0008-hub-sync.md
records the decisions.
"""
