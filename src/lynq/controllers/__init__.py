"""The controllers of hubs, forms and nodes, and the manager that runs them.

Here the pure cores meet the API server and the databases. docs/design/controllers.md has the
decisions behind it.
"""
