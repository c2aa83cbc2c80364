"""The controllers of hubs, forms and nodes, and the manager that runs them.

The core meets the API server and the databases here; docs/explanation/architecture.md has the map.
"""
