"""`lynq demo`: the story of a few tenants on a local cluster."""
