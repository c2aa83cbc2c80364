"""The node's core: from a LynqNode and what the caches know, to the next writes and its status.

Pure: no socket, no clock. A pass of the controller is

    variables_of → Renderer.render → prepare → next_step, next_removals → next_status

and docs/design/node.md has the decisions behind it.
"""
