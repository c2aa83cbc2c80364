"""The node's core: from a LynqNode and the observed objects to the next writes and the status.

Pure: no socket, no clock. A reconcile calls

    variables_of → Renderer.render → prepare → next_step → select_prunable, next_prune_step
    → next_status → requeue_at

and the controller sends the writes.
"""
