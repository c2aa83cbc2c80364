"""The node's core: from a LynqNode and what the caches know, to the next writes and its status.

Pure: no socket, no clock; docs/design/node.md has the decisions behind it.
"""
