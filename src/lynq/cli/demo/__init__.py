"""`lynq demo`: changes rows of a table and shows the effects in a local cluster."""
