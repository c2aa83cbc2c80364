"""The answers of the dashboard: one module per page, each a function of viewer and query."""
