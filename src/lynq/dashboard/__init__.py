"""The dashboard: every row, node and resource in the browser, with the viewer's own rights."""
